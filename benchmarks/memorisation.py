"""How the readings of ``capacity()`` move from noise to signal, for docs/guides/capacity.md.

    python benchmarks/memorisation.py --fits 60

Each line is the mean over fits to 150 rows of 5 normal columns, whose target has the given
share of signal, ``y = √s·f(x) + √(1−s)·noise`` with a smooth ``f`` of three columns.
"""

import argparse

import numpy as np

from adacap import AdaCapRegressor
from adacap_bench.markdown import markdown_lines


def table(seed: int, signal: float, n_rows: int = 150) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5))
    f = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
    f = (f - f.mean()) / f.std()
    return X, np.sqrt(signal) * f + np.sqrt(1 - signal) * rng.normal(size=n_rows)


def readings(signal: float, n_fits: int) -> list[float]:
    rows = []
    for seed in range(n_fits):
        X, y = table(seed, signal, 1150)
        model = AdaCapRegressor(quality="nets", random_state=seed).fit(X[:150], y[:150])
        c = model.capacity()
        held = c.holdout_p_value
        assert None not in (c.effective_dof, c.memorisation_gap, c.p_value, c.press_r2, held)
        values = [c.effective_dof, c.fit_true, c.fit_permuted, c.memorisation_gap]
        alarms = [100 * (c.p_value <= 0.05), 100 * (held <= 0.05)]
        rows.append([*values, *alarms, c.press_r2, model.score(X[150:], y[150:])])
    return [float(value) for value in np.mean(rows, axis=0)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fits", type=int, default=60)
    n_fits = parser.parse_args().fits
    titles = ["signal", "dof", "fit", "fit of permuted", "gap"]
    titles += ["p ≤ 0.05", "held-out p ≤ 0.05", "PRESS R²", "test R²"]
    rows = (_cells(signal, n_fits) for signal in (0.0, 0.1, 0.3, 0.6, 0.9))
    for line in markdown_lines(titles, rows):
        print(line, flush=True)


def _cells(signal: float, n_fits: int) -> list[str]:
    dof, true, permuted, gap, p, held, press, test = readings(signal, n_fits)
    cells = [f"{100 * signal:.0f} %", f"{dof:.1f}", f"{true:.2f}", f"{permuted:.2f}"]
    return [*cells, f"{gap:.2f}", f"{p:.0f} %", f"{held:.0f} %", f"{press:.2f}", f"{test:.2f}"]


if __name__ == "__main__":
    main()
