"""Do intervals fail on the rows that ``check_drift`` flags? Tables whose new rows have moved.

    python benchmarks/drift.py [--write]     (the table and the picture of docs/guides/drift.md)

Each table is drawn anew: 300 training rows, 400 new rows of which 40 % are stretched out of the
training range, in columns that matter or in columns that do not. The same rows are judged by three
scores, each with the limit that 99 % of the training rows stay below, and coverage of 90 %
intervals is counted on flagged and on other rows.
"""

import argparse

import numpy as np
import numpy.typing as npt
from shared import GUIDES, pyplot

from adacap._typing import Floats
from adacap_bench.markdown import markdown_lines, place

PAGE, PICTURE = GUIDES / "drift.md", GUIDES / "drift.png"
MARKS = "<!-- drift: begin -->", "<!-- drift: end -->"
N_TRAIN, N_NEW, SEEDS = 300, 400, (0, 1, 2)
KINDS = {"columns that matter": slice(0, 5), "columns that do not": slice(5, 10)}


def signal(X: Floats) -> Floats:
    """Friedman's first function: five of ten columns count."""
    smooth = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    return smooth + 10 * X[:, 3] + 5 * X[:, 4]


def draw(kind: str, seed: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Training rows and new ones, of which some are stretched."""
    rng = np.random.default_rng(seed)
    X, new = rng.random((N_TRAIN, 10)), rng.random((N_NEW, 10))
    new[: int(0.4 * N_NEW), KINDS[kind]] *= 1.6
    y, y_new = (signal(rows) + rng.normal(size=len(rows)) for rows in (X, new))
    return X, y, new, y_new


def judge(kind: str, seed: int) -> tuple[npt.NDArray[np.bool_], dict[str, Floats]]:
    """Whether each interval held, and each score over its limit."""
    from adacap import AdaCapRegressor, check_drift
    from adacap.tables.table import read_table

    X, y, new, y_new = draw(kind, seed)
    model = AdaCapRegressor(quality="fast", random_state=seed).fit(X, y)
    lower, upper = model.predict_interval(new, coverage=0.9).T
    a, b = (model.encoder_.encode(read_table(rows)).astype(np.float64) for rows in (X, new))
    inverse = np.linalg.inv(a.T @ a + np.eye(a.shape[1]))
    own = np.einsum("ij,jk,ik->i", a, inverse, a)
    far = np.einsum("ij,jk,ik->i", b, inverse, b) / np.quantile(own / (1 - own), 0.99)
    outside = ((b < a.min(0)) | (b > a.max(0))).sum(1) * 2.0
    leverage = check_drift(model, new).leverage
    assert leverage is not None
    scores = {"kernel leverage": leverage, "ridge leverage": far, "any column outside": outside}
    return (lower <= y_new) & (y_new <= upper), scores


def study() -> dict[str, list[tuple[npt.NDArray[np.bool_], dict[str, Floats]]]]:
    return {kind: [judge(kind, seed) for seed in SEEDS] for kind in KINDS}


def lines_of(found: dict[str, list[tuple[npt.NDArray[np.bool_], dict[str, Floats]]]]) -> list[str]:
    titles = ("moved", "score", "rows flagged", "coverage there", "coverage elsewhere")
    rows = []
    for kind, runs in found.items():
        for name in runs[0][1]:
            held = np.concatenate([run[0] for run in runs])
            flagged = np.concatenate([run[1][name] > 1 for run in runs])
            cells = (flagged.mean(), held[flagged].mean(), held[~flagged].mean())
            rows.append([kind, name, *(f"{c:.0%}" for c in cells)])
    return list(markdown_lines(titles, rows))


def picture(found: dict[str, list[tuple[npt.NDArray[np.bool_], dict[str, Floats]]]]) -> None:
    """Coverage by kernel leverage: docs/guides/drift.png."""
    figure, axes = pyplot().subplots(figsize=(6, 3.2), layout="constrained")
    edges = np.array([0, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 100])
    for kind, runs in found.items():
        held = np.concatenate([run[0] for run in runs])
        score = np.concatenate([run[1]["kernel leverage"] for run in runs])
        place = np.digitize(score, edges) - 1
        some = [k for k in range(len(edges) - 1) if (place == k).sum() >= 10]
        axes.plot([np.median(score[place == k]) for k in some],
                  [held[place == k].mean() for k in some], "o-", label=kind)  # fmt: skip
    axes.axvline(1, color="C3", lw=1)
    axes.axhline(0.9, color="0.8", lw=1)
    axes.set_xlabel("leverage / that of 99 % of the training rows")
    axes.set_ylabel("intervals that held")
    axes.set_ylim(0, 1)
    axes.legend(title="new rows moved in", frameon=False, fontsize=8)
    figure.savefig(PICTURE, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    parser.add_argument("--write", action="store_true", help="into the guide, with the picture")
    options = parser.parse_args()
    found = study()
    lines = lines_of(found)
    print("\n".join(lines))
    if options.write:
        place(PAGE, MARKS, "\n".join(lines))
        picture(found)


if __name__ == "__main__":
    main()
