"""λ_init of the replica of 2021 beside the values that the seed prints.

    ADACAP_DATA=folder python benchmarks/lambda_init_2021.py [--splits 10] [--preset mlr-2-2021]

The preset "mlr-2" shows what the text of the supplement gives instead.
"""

import argparse

from adacap_bench.reproduce.replica import starts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--preset", default="mlr-2-2021")
    told = parser.parse_args()
    for start in starts(told.splits, told.preset):
        print(start, flush=True)


if __name__ == "__main__":
    main()
