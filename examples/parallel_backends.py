"""The same folds and the same bag in this process, on Ray and on Dask.

Whatever runs through joblib follows ``joblib.parallel_config``: scikit-learn's cross-validation,
and the members of a bag that cannot be trained as one computation, such as nets with dropout. To
use a cluster instead of this machine, connect to it first: ``ray.init(address=...)`` or
``Client(address)``.
"""

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from joblib import parallel_config
from sklearn.datasets import load_diabetes
from sklearn.model_selection import cross_val_score

from adacap import AdaCapRegressor, Architecture

# One thread per process here too: then all backends round alike.
os.environ.setdefault("OMP_NUM_THREADS", "1")


@contextmanager
def on_ray() -> Iterator[None]:
    import ray
    from ray.util.joblib import register_ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    register_ray()
    try:
        with parallel_config(backend="ray", n_jobs=2):
            yield
    finally:
        ray.shutdown()


@contextmanager
def on_dask() -> Iterator[None]:
    from dask.distributed import Client

    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None):
        with parallel_config(backend="dask", n_jobs=2):
            yield


BACKENDS = {"ray": ("ray", on_ray), "dask": ("distributed", on_dask)}  # and the package needed


def measure() -> tuple[float, float]:
    """Mean R² of two folds, and R² of a bag of two nets on its training rows."""
    X, y = load_diabetes(return_X_y=True)
    net = AdaCapRegressor(max_iter=30, random_state=0)
    folds = cross_val_score(net, X, y, cv=2)
    bag = AdaCapRegressor(
        architecture=Architecture("mlp", dropout=0.2),
        n_estimators=2,
        max_iter=30,
        random_state=0,
    )
    with warnings.catch_warnings():
        # What we are after: dropout draws random numbers, so that each net is trained by itself.
        warnings.filterwarnings("ignore", message="The 2 members are trained one by one")
        bag.fit(X, y)
    return round(float(folds.mean()), 6), round(float(bag.score(X, y)), 6)


def main() -> None:
    expected = measure()
    print("in turn: R² of the folds {}, of the bag {}".format(*expected))
    for name, (package, backend) in BACKENDS.items():
        if find_spec(package) is None:
            print(f"on {name}: left out, since the package {package} is not installed")
            continue
        with backend():
            found = measure()
        print(f"on {name}: R² of the folds {found[0]}, of the bag {found[1]}")
        if found != expected:
            raise SystemExit(f"{name} gives other numbers")


if __name__ == "__main__":
    main()
