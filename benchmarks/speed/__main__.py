"""What AdaCap costs: steps, fits, bags, predictions, one row, growth with n, imports.

    make bench-speed            (or: python benchmarks/speed [--only step,bag] [--out speed.json])
    python benchmarks/speed --write         (docs/SPEED.md from speed.json)

All times are medians of interleaved repeats, most of them from two visits that lie minutes apart.
A ratio is the median of the ratios of each round, so that a slow moment touches both sides of it;
compare ratios, not seconds. About eight minutes on two cores without other load.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from clock import Clock, Row, save
from clock import table as as_table
from reference import fit as fit_by_inverse
from torch import nn

import adacap
from adacap.core import draw_permutations, rmse, stack_labels
from adacap.nn import MLP, LinearHead, TikhonovHead
from adacap_bench.markdown import place

D_IN = 20
MARKS = "<!-- speed: begin -->", "<!-- speed: end -->"


def table(n: int, d: int = D_IN) -> tuple[np.ndarray, np.ndarray]:
    """A smooth target with noise on float32 columns."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d), dtype=np.float32)
    y = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + 0.1 * rng.standard_normal(n, dtype=np.float32)
    return X, y.astype(np.float32)


# --- (a) one optimiser step -------------------------------------------------------------------


def step_of(n: int, width: int, kind: str) -> Callable[[], None]:
    """One step of the paper's 2-layer net: AdaCap, plain, or regular (BN and dropout 0.2)."""
    X, y = table(n)
    x, targets = torch.from_numpy(X), torch.from_numpy(y).unsqueeze(1)
    regular = {"batch_norm": True, "dropout": 0.2} if kind == "regular" else {}
    net = MLP(D_IN, width=width, **regular)
    head: nn.Module = TikhonovHead(10.0) if kind == "adacap" else LinearHead(width, 1)
    optimizer = torch.optim.Adam([*net.parameters(), *head.parameters()], lr=1e-3, fused=True)
    labels = stack_labels(targets, draw_permutations(n, 16, torch.Generator().manual_seed(0)))

    def loss() -> torch.Tensor:
        if isinstance(head, TikhonovHead):
            return head.mlr_loss(net(x), labels).value
        return rmse(head(net(x)).unsqueeze(1), targets.unsqueeze(1)).sum()

    def step() -> None:
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()

    return step


def steps(clock: Clock) -> list[Row]:
    rows = []
    for width in (256, 512, 1024):
        for n in (64, 400, 1638, 2048):
            kinds = ("adacap", "plain", "regular")
            actions = {k: step_of(n, width, k) for k in kinds}
            key = ("step", width, n)
            times = clock.medians(key, actions, 4.0 if width == 512 else 1.0)
            rows.append(
                {
                    "J": width,
                    "n": n,
                    **{f"{k} ms": 1e3 * times[k] for k in kinds},
                    "AdaCap/plain": clock.ratio(key, "adacap", "plain"),
                    "AdaCap/regular": clock.ratio(key, "adacap", "regular"),
                }
            )
    return rows


# --- (b) whole fits ---------------------------------------------------------------------------


def inverse_based(
    X: np.ndarray, y: np.ndarray, max_iter: int, *, form_H: bool
) -> Callable[[], object]:
    """One net trained by the reference, with the last fifth of the rows held out."""
    x, targets = torch.from_numpy(X), torch.from_numpy((y - y.mean()) / y.std()).unsqueeze(1)
    k = int(0.8 * len(x))
    labels = stack_labels(targets[:k], draw_permutations(k, 16, torch.Generator().manual_seed(0)))
    parts = x[:k], labels.squeeze(-1), x[k:], targets[k:]
    return lambda: fit_by_inverse(MLP(D_IN, width=512), *parts, max_iter=max_iter, form_H=form_H)


def against_inverse(clock: Clock) -> list[Row]:
    """Equal settings: 2×512 net, 16 permutations, full batch, 20 % hold-out scored every step."""
    rows = []
    for n, n_iter in ((100, 150), (400, 80), (2048, 30)):
        X, y = table(n)
        y = (y - y.mean()) / y.std()

        def ours(max_iter: int, X: Any = X, y: Any = y) -> None:
            settings = {"max_iter": max_iter, "refit": "none"}
            settings |= {"preprocessing": "none", "lambda_init": 10.0, "random_state": 0}
            adacap.make("adacap-mlp", **settings).fit(X, y)

        def actions(m: int, ours: Any = ours, X: Any = X, y: Any = y) -> dict[str, Any]:
            return {
                "adacap": lambda: ours(m),
                "P and H": inverse_based(X, y, m, form_H=True),
                "P only": inverse_based(X, y, m, form_H=False),
            }

        key = ("inverse", n)
        times = clock.medians(key, actions(n_iter), 10.0, least=2, warm=actions(2))
        rows.append(
            {
                "n": n,
                "iterations": n_iter,
                "adacap s": times["adacap"],
                "inverse, P and H s": times["P and H"],
                "speed-up": clock.ratio(key, "P and H", "adacap"),
                "inverse, P only s": times["P only"],
                "speed-up over it": clock.ratio(key, "P only", "adacap"),
            }
        )
    return rows


def against_peers(clock: Clock) -> list[Row]:
    from catboost import CatBoostRegressor
    from lightgbm import LGBMRegressor
    from sklearn.datasets import load_diabetes
    from sklearn.neural_network import MLPRegressor

    tables = {"diabetes": load_diabetes(return_X_y=True)}
    tables |= {f"synthetic {n}": table(n) for n in (100, 500, 2000, 20000)}
    rows = []
    for name, (X, y) in tables.items():
        actions = {
            "adacap": lambda X=X, y=y: adacap.AdaCapRegressor(random_state=0).fit(X, y),
            "fast": lambda X=X, y=y: adacap.make("fast", random_state=0).fit(X, y),
            "sk-mlp": lambda X=X, y=y: MLPRegressor(random_state=0).fit(X, y),
            "catboost": lambda X=X, y=y: CatBoostRegressor(
                verbose=False, random_seed=0, allow_writing_files=False
            ).fit(X, y),
            "lightgbm": lambda X=X, y=y: LGBMRegressor(verbose=-1, random_state=0).fit(X, y),
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the peers' own notes on convergence
            warm = actions if name == "diabetes" else {}
            key = ("peers", name)
            times = clock.medians(key, actions, 0.0, least=1, warm=warm)
        ratio = {f"{k}/catboost": clock.ratio(key, k, "catboost") for k in ("adacap", "fast")}
        rows.append({"table": name, **{f"{k} s": v for k, v in times.items()}, **ratio})
    return rows


# --- (c) a bag of ten -------------------------------------------------------------------------


SAME = {"validation": 0.2, "refit": "head"}  # what one net does, ten times
ALIKE = "MLP, J = 512"
BAGS: dict[str, dict[str, Any]] = {
    ALIKE: {"architecture": "mlp", "width": 512, **SAME},
    "MLP, J = 512, by default": {"architecture": "mlp", "width": 512},  # one: twice; ten: folds
    "GLU, J = 128": {"architecture": "glu", "width": 128, **SAME},
}
N_STEPS = 100


def bags(clock: Clock) -> list[Row]:
    rows = []
    for n in (80, 400):
        X, y = table(n)
        for name, settings in BAGS.items():

            def bag(
                k: int, max_iter: int, X: Any = X, y: Any = y, settings: Any = settings
            ) -> None:
                adacap.AdaCapRegressor(
                    n_estimators=k, max_iter=max_iter, random_state=0, **settings
                ).fit(X, y)

            def actions(m: int, bag: Any = bag) -> dict[str, Any]:
                return {"one": lambda: bag(1, m), "ten": lambda: bag(10, m)}

            key, timed, alike = ("bag", n, name), actions(N_STEPS), name == ALIKE
            if alike:
                timed["bare"] = arithmetic_of_bag(n)
                timed["inverse"] = inverse_based(X, y, N_STEPS, form_H=True)
            times = clock.medians(key, timed, 8.0 if alike else 4.0, least=2, warm=actions(2))
            row = {
                "n": n,
                "net": name,
                "one s": times["one"],
                "ten s": times["ten"],
                "ratio": clock.ratio(key, "ten", "one"),
            }
            for more, seconds in (("bare", "bare ten s"), ("inverse", "inverse-based one s")):
                row[seconds] = times[more] if alike else ""
                row[f"ten / {seconds[:-2]}"] = clock.ratio(key, "ten", more) if alike else ""
            rows.append(row)
    return rows


def arithmetic_of_bag(n: int, width: int = 512, k: int = 10) -> Callable[[], None]:
    """What no way of training ten nets of two layers can do without: their products, and Adam."""
    n_train = int(0.8 * n)
    x, g = torch.randn(k, n, D_IN), torch.randn(k, n_train, width)
    weights = [torch.randn(k, d, width) / d**0.5 for d in (D_IN, width)]
    first, second = weights
    of_first, of_second = grads = [torch.empty_like(w) for w in weights]
    means, squares = ([torch.zeros_like(w) for w in weights] for _ in range(2))
    counts = [torch.ones(()) for _ in weights]

    def step() -> None:
        hidden = torch.bmm(x, first)
        torch.bmm(hidden, second)
        torch.bmm(hidden[:, :n_train].mT, g, out=of_second)
        torch.bmm(x[:, :n_train].mT, torch.bmm(g, second.mT), out=of_first)
        torch._fused_adam_(
            weights, grads, means, squares, [], counts, lr=1e-3, beta1=0.9, beta2=0.999,
            weight_decay=0.0, eps=1e-8, amsgrad=False, maximize=False,
        )  # fmt: skip

    @torch.inference_mode()
    def steps() -> None:
        for _ in range(N_STEPS):
            step()

    return steps


# --- (d) prediction ---------------------------------------------------------------------------


def predictions(clock: Clock) -> list[Row]:
    X_fit, y_fit = table(500)
    X, _ = table(100_000)
    rows = []
    for architecture, width, n_members in (
        ("mlp", 128, 1), ("mlp", 512, 1), ("glu", 128, 1), ("glu", 512, 1), ("glu", 128, 5),
    ):  # fmt: skip
        est = adacap.AdaCapRegressor(
            architecture=architecture, width=width, n_estimators=n_members, max_iter=5,
            random_state=0,
        ).fit(X_fit, y_fit)  # fmt: skip
        nets = [
            [*(p.detach() for p in body.parameters() if p.ndim == 2), last.weight.detach().T]
            for body, last in (member.network for member in est.members_)
        ]
        x = torch.from_numpy(X)

        def products(nets: Any = nets, x: torch.Tensor = x) -> None:
            """The same products on the same rows, nothing between them."""
            for weights in nets:
                for rows_ in x.split(512):
                    for W in weights:
                        rows_ = rows_[:, : len(W)] @ W

        with torch.inference_mode():
            actions = {"predict": lambda est=est: est.predict(X), "products": products}
            key = ("predict", architecture, width, n_members)
            times = clock.medians(key, actions, 4.0)
        per_second = {f"{k} rows/s": round(len(X) / t) for k, t in times.items()}
        share = clock.ratio(key, "products", "predict")
        row = {"net": architecture, "J": width, "nets": n_members}
        rows.append({**row, **per_second, "share": share})
    return rows


# --- (e) one row ------------------------------------------------------------------------------


def one_row(clock: Clock) -> list[Row]:
    """A single row by the default bag, beside its bare network: NumPy, and a frame with text."""
    import pandas as pd

    X, y = table(500, 10)
    frame = pd.DataFrame(X, columns=[f"c{k}" for k in range(10)])
    for k in range(6, 10):
        frame[f"c{k}"] = np.where(X[:, k] > 0.5, "much", np.where(X[:, k] < 0, "none", "some"))
    rows = []
    for name, data, allowed in (("NumPy", X, 6), ("pandas, 4 of 10 columns text", frame, 20)):
        est = adacap.AdaCapRegressor(max_iter=5, random_state=0).fit(data, y)
        row, encoded = data[:1], torch.from_numpy(np.asarray(est.encoder_.transform(data[:1])))

        def bare(est: Any = est, encoded: torch.Tensor = encoded) -> None:
            with torch.inference_mode():
                est.network_(encoded)

        key = ("row", name)
        actions = {"predict": lambda est=est, row=row: est.predict(row), "bare": bare}
        times = clock.medians(key, actions, 2.0, most=2000)
        ratio = clock.ratio(key, "predict", "bare")
        milli = {f"{k} ms": 1e3 * t for k, t in times.items()}
        rows.append({"row of": name, **milli, "predict/bare": ratio, "allowed": allowed})
    return rows


# --- (f) growth with n, (g) start -------------------------------------------------------------


def grow_once(n: int) -> Row:
    """One default fit on n rows, in a process of its own."""
    X, y = table(n, 50)
    begin = time.perf_counter()
    np.array(X).std(0)
    read = time.perf_counter() - begin
    adacap.AdaCapRegressor(max_iter=2, random_state=0).fit(X[:200], y[:200])
    begin = time.perf_counter()
    adacap.AdaCapRegressor(random_state=0).fit(X, y)
    seconds = time.perf_counter() - begin
    peak = _peak_memory()
    return {
        "n": n,
        "fit s": seconds,
        "read s": read,
        "peak GB": peak,
        "float32 data GB": X.nbytes / 1e9,
    }


def _peak_memory() -> float:
    """Most memory this process has held, in GB; not that of the process it was started from."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def growth(clock: Clock) -> list[Row]:
    rows = [
        json.loads(_run([sys.argv[0], "--grow", str(n)]))
        for n in (2_000, 20_000, 200_000, 1_000_000)
    ]
    base = rows[1]["fit s"]
    for row in rows:
        row["fit/(fit 20,000)"] = row["fit s"] / base
        row["allowed GB"] = 3 * row["float32 data GB"] + 1
    return rows


def start(clock: Clock) -> list[Row]:
    """Imports and first fits in fresh processes; each snippet prints the seconds of its parts."""
    timed = (
        "import time\n"
        "def timed(code):\n"
        "    begin = time.perf_counter(); exec(code, globals())\n"
        "    print(time.perf_counter() - begin)\n"
    )
    data = (
        "import numpy as np; from adacap import AdaCapRegressor; "
        "X = np.random.default_rng(0).normal(size=(100, 5))"
    )
    fit = "AdaCapRegressor(random_state=0).fit(X, X[:, 0])"
    snippets = {
        ("import adacap",): "timed('import adacap')",
        ("import torch, sklearn.base",): "timed('import torch, sklearn.base')",
        ("from adacap import AdaCapRegressor",): "timed('from adacap import AdaCapRegressor')",
        ("first fit", "second fit"): f"{data}; timed({fit!r}); timed({fit!r})",
    }
    rows = []
    for names, code in snippets.items():
        runs = [[float(s) for s in _run(["-c", timed + code]).split()] for _ in range(2)]
        for name, seconds in zip(names, np.median(runs, axis=0), strict=True):
            rows.append({"what": name, "seconds": float(seconds)})
    return rows


def _run(arguments: list[str]) -> str:
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{arguments} failed:\n{done.stderr}")
    return done.stdout


@dataclass(frozen=True)
class Section:
    """A table, what measures it, and how many visits it takes."""

    title: str
    measure: Callable[[Clock], list[Row]]
    visits: int = 2


SECTIONS = {
    "step": Section("(a) One optimiser step", steps),
    "inverse": Section("(b) Whole fit against the inverse-based reference", against_inverse),
    "peers": Section("(b) Whole fits against other methods, defaults", against_peers, 1),
    "bag": Section("(c) A bag of ten against one", bags),
    "predict": Section("(d) Prediction against the bare products", predictions, 1),
    "row": Section("(e) One row", one_row, 1),
    "growth": Section("(f) Growth with n, 50 columns", growth, 1),
    "start": Section("(g) Imports and first fit", start, 1),
}


def write(results: dict[str, list[Row]]) -> None:
    """Put all tables of a run into docs/SPEED.md."""
    tables = [as_table(section.title, results[name]) for name, section in SECTIONS.items()]
    place(Path(__file__).parents[2] / "docs" / "SPEED.md", MARKS, "\n\n".join(tables))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(SECTIONS), help="sections, by comma")
    parser.add_argument("--out", type=Path, default=Path("speed.json"))
    parser.add_argument("--write", action="store_true", help="write docs/SPEED.md from the file")
    parser.add_argument("--grow", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write:
        write(json.loads(options.out.read_text(encoding="utf-8")))
        return
    if options.grow:
        print(json.dumps(grow_once(options.grow)))
        return
    unknown = [name for name in options.only.split(",") if name not in SECTIONS]
    if unknown:
        parser.error(f"unknown sections {unknown}; known: {', '.join(SECTIONS)}")
    torch.empty(31 << 20, dtype=torch.uint8)  # what training does: see adacap.training.trouble
    clock, results = Clock(), dict[str, list[Row]]()
    chosen = options.only.split(",")
    for visit in range(2):
        for name in chosen:
            section = SECTIONS[name]
            if visit < section.visits:
                print(f"{name}, visit {visit + 1} of {section.visits}", file=sys.stderr, flush=True)
                results[name] = section.measure(clock)
                save(options.out, results)
    for name in chosen:
        print(f"\n{as_table(SECTIONS[name].title, results[name])}", flush=True)


if __name__ == "__main__":
    main()
