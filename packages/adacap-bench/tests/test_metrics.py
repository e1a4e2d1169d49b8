"""Metrics on a stored table of 3 experiments × 4 methods, every number computed by hand.

RMSE          adacap-snn  catboost   rf    snn     best
t1, split 0      0.20       0.25    0.40   0.22    0.20
t1, split 1      0.30       0.27    0.30   0.50    0.27
t2, split 0      0.80       0.80    1.00   0.90    0.80
fit seconds    2, 2, 4    4, 4, 8  1, 1, 1 1, 1, 2
"""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from adacap_bench import metrics
from adacap_bench.metrics import ScoreTable, from_frame

STORED = Path(__file__).parent / "tables" / "three_by_four.csv"
NETWORKS = {
    "mlp": "DNN",
    "resblock": "DNN",
    "snn": "DNN",
    "glu-mlp": "DNN",
    "adacap-resblock": "AdaCap",
    "adacap-snn": "AdaCap",
    "adacap-glu-mlp": "AdaCap",
}


@pytest.fixture
def frame() -> pd.DataFrame:
    return pd.read_csv(STORED)


@pytest.fixture
def table(frame: pd.DataFrame) -> ScoreTable:
    return from_frame(frame, "rmse")


def make_frame(
    values: list[list[float]],
    methods: dict[str, str],
    column: str = "test_rmse",
    kind: str = "regression",
) -> pd.DataFrame:
    """One task per row of values, one split each."""
    rows = [
        {"task": f"t{i}", "kind": kind, "split": 0, "seed": 0, "method": method, "status": "ok"}
        | {"category": methods[method], column: value}
        for i, row in enumerate(values)
        for method, value in zip(methods, row, strict=True)
    ]
    return pd.DataFrame(rows)


def random_table(seed: int, n: int = 12, k: int = 5, ties: bool = True) -> ScoreTable:
    values = np.random.default_rng(seed).uniform(0.1, 1, (n, k))
    values = np.round(values, 1) if ties else values
    return from_frame(make_frame(values.tolist(), {f"m{j}": "RF" for j in range(k)}))


def test_layout(table: ScoreTable) -> None:
    assert table.methods == ("adacap-snn", "catboost", "rf", "snn")
    assert table.experiments == (("t1", 0), ("t1", 1), ("t2", 0))
    assert table.categories["snn"] == "DNN"
    assert table.values[1].tolist() == [0.30, 0.27, 0.30, 0.50]
    assert table.best().tolist() == [0.20, 0.27, 0.80]
    assert table.missing() == []


def test_means_and_errors(table: ScoreTable) -> None:
    means = metrics.mean_scores(table)
    # sums: 0.2 + 0.3 + 0.8 = 1.3; 0.25 + 0.27 + 0.8 = 1.32; 0.4 + 0.3 + 1 = 1.7;
    # 0.22 + 0.5 + 0.9 = 1.62
    assert [means[m].mean for m in table.methods] == pytest.approx([1.3 / 3, 0.44, 1.7 / 3, 0.54])
    # adacap-snn: deviations −0.23333, −0.13333, 0.36667; squares sum to 0.206667; / 2 = 0.103333,
    # root 0.321455, / √3 = 0.185592
    assert means["adacap-snn"].se == pytest.approx(0.185592, abs=1e-6)
    assert means["rf"].n == 3


def test_p90_p95(table: ScoreTable) -> None:
    # best/own: adacap-snn 1, 0.27/0.30 = 0.9 exactly, 1; catboost 0.8, 1, 1;
    #           rf 0.5, 0.9, 0.8; snn 0.2/0.22 = 0.90909, 0.54, 0.8/0.9 = 0.88889
    assert metrics.p_share(table, 0.9) == pytest.approx(
        {"adacap-snn": 1.0, "catboost": 2 / 3, "rf": 1 / 3, "snn": 1 / 3}
    )
    assert metrics.p_share(table, 0.95) == pytest.approx(
        {"adacap-snn": 2 / 3, "catboost": 2 / 3, "rf": 0.0, "snn": 0.0}
    )


def test_pma(table: ScoreTable) -> None:
    # sums of the ratios above: 2.9, 2.8, 2.2 and 0.909091 + 0.54 + 0.888889 = 2.337980
    assert metrics.pma(table) == pytest.approx(
        {"adacap-snn": 2.9 / 3, "catboost": 2.8 / 3, "rf": 2.2 / 3, "snn": 2.337980 / 3}, abs=1e-6
    )


def test_friedman(table: ScoreTable) -> None:
    # ranks  adacap-snn catboost  rf   snn
    #            1         3      4     2
    #            2.5       1      2.5   4
    #            1.5       1.5    4     3
    # sums       5         5.5    10.5  9
    assert metrics.friedman_ranks(table) == pytest.approx(
        {"adacap-snn": 5 / 3, "catboost": 5.5 / 3, "rf": 3.5, "snn": 3.0}
    )
    test = metrics.friedman_test(table)
    # 12·3/(4·5) · (0.694444 + 0.444444 + 1 + 0.25) = 1.8 · 2.388889 = 4.3; two ties of two:
    # 1 − 2·(8 − 2)/(3·60) = 0.933333; 4.3 / 0.933333 = 4.607143
    assert test.statistic == pytest.approx(4.607143, abs=1e-6)
    # χ² with 3 degrees of freedom: erfc(√(x/2)) + √(2x/π) exp(−x/2)
    x = 4.3 / (14 / 15)
    tail = math.erfc(math.sqrt(x / 2)) + math.sqrt(2 * x / math.pi) * math.exp(-x / 2)
    assert test.p_value == pytest.approx(tail)


def test_critical_difference(table: ScoreTable) -> None:
    found = metrics.critical_difference(table)
    # 2.569 (Demšar's table, 4 methods) · √(4·5/(6·3)) = 2.569 · 1.054093 = 2.70797
    assert found.difference == pytest.approx(2.70797, abs=1e-3)
    assert found.methods == ("adacap-snn", "catboost", "snn", "rf")
    # 3.5 − 1.666667 = 1.833333 < 2.70797: nothing can be told apart
    assert found.groups == ((0, 3),)


def test_top1(table: ScoreTable) -> None:
    # adacap-snn wins t1/0 and half of t2/0, catboost t1/1 and the other half
    assert metrics.top1(table) == pytest.approx(
        {"adacap-snn": 0.5, "catboost": 0.5, "rf": 0.0, "snn": 0.0}
    )


def test_top1_by_category(table: ScoreTable) -> None:
    # Without AdaCap catboost, rf and snn play: 0.22 (snn), 0.27 and 0.80 (catboost)
    without = metrics.top1_by_category(table, metrics.WITHOUT_ADACAP, allow_absent=True)
    assert without.shares == pytest.approx({"GBDT": 2 / 3, "DNN": 1 / 3, "RF": 0.0})
    assert without.absent == ("mlp", "resblock", "glu-mlp")
    assert without.n_experiments == 3
    # With AdaCap snn stands aside: 0.20 (adacap-snn), 0.27 (catboost), 0.80 (both)
    with_adacap = metrics.top1_by_category(table, metrics.WITH_ADACAP, allow_absent=True)
    assert with_adacap.shares == pytest.approx({"DNN": 0.5, "GBDT": 0.5, "RF": 0.0})


def test_easy_subset(table: ScoreTable) -> None:
    assert metrics.easy_subset(table).experiments == (("t1", 0),)  # 0.20 < 0.25
    assert metrics.easy_subset(table, 0.25, unit="task").experiments == ()  # 0.25 is not below
    by_task = metrics.easy_subset(table, 0.26, unit="task")  # mean of 0.20 and 0.30
    assert by_task.experiments == (("t1", 0), ("t1", 1))


def test_win_rates(table: ScoreTable) -> None:
    rates = metrics.win_rate_matrix(table)
    expected = [  # ties count half: adacap-snn and rf in t1/1, adacap-snn and catboost in t2/0
        [math.nan, 1.5 / 3, 2.5 / 3, 1.0],
        [1.5 / 3, math.nan, 1.0, 2 / 3],
        [0.5 / 3, 0.0, math.nan, 1 / 3],
        [0.0, 1 / 3, 2 / 3, math.nan],
    ]
    np.testing.assert_allclose(rates, expected)


def test_runtime(table: ScoreTable) -> None:
    times = metrics.runtime(table)
    # rf is the fastest with a mean of 1; adacap-snn 8/3, at most 4
    assert times["rf"] == metrics.Runtime(1.0, 1.0, 1.0)
    assert times["adacap-snn"] == metrics.Runtime(8 / 3, 4.0, 8 / 3)
    assert metrics.runtime(table, "catboost")["adacap-snn"].relative == pytest.approx(0.5)


def test_paired_bootstrap(table: ScoreTable) -> None:
    # adacap-snn − catboost: −0.05, 0.03 in t1, 0 in t2. Drawing two tasks gives t1 twice (−0.01),
    # t1 and t2 (−0.02/3) or t2 twice (0), with chances 1/4, 1/2, 1/4.
    found = metrics.paired_bootstrap(table, "adacap-snn", "catboost")
    assert (found.mean, found.low, found.high) == pytest.approx((-0.02 / 3, -0.01, 0.0))
    assert found.first_better == pytest.approx(0.75, abs=0.02)
    assert (found.n_experiments, found.n_units) == (3, 2)
    assert found == metrics.paired_bootstrap(table, "adacap-snn", "catboost")
    # Drawing experiments, the worst resample is t1/1 three times.
    single = metrics.paired_bootstrap(table, "adacap-snn", "catboost", unit="experiment")
    assert (single.low, single.high) == pytest.approx((-0.05, 0.03))


def test_leaderboard(table: ScoreTable) -> None:
    board = metrics.leaderboard(table, reference="catboost").set_index("method")
    assert board.index.tolist() == ["adacap-snn", "catboost", "snn", "rf"]
    assert board.loc["catboost", "p90"] == pytest.approx(2 / 3)
    assert board.loc["snn", "rank"] == pytest.approx(3.0)
    assert board.loc["rf", "relative_time"] == pytest.approx(1 / (16 / 3))
    assert board.loc["snn", "category"] == "DNN"
    assert (board["missing"] == 0).all()


def test_by_task(table: ScoreTable) -> None:
    tasks = table.by_task()
    assert tasks.experiments == (("t1", -1), ("t2", -1))
    assert tasks.values[0] == pytest.approx([0.25, 0.26, 0.35, 0.36])
    assert tasks.n_seeds[0].tolist() == [2, 2, 2, 2]


def test_scores_where_more_is_better() -> None:
    accuracies = make_frame(
        [[0.9, 0.81, 0.5], [0.8, 1.0, 0.96]],
        {"knn": "Peer", "rf": "RF", "svm": "SVM"},
        "test_accuracy",
        "binary",
    )
    table = from_frame(accuracies, "accuracy")
    assert table.best().tolist() == [0.9, 1.0]
    # own/best: knn 1, 0.8; rf 0.81/0.9 = 0.9, 1; svm 0.5556, 0.96
    assert metrics.p_share(table, 0.9) == pytest.approx({"knn": 0.5, "rf": 1.0, "svm": 0.5})
    assert metrics.pma(table)["rf"] == pytest.approx(0.95)
    assert metrics.friedman_ranks(table) == {"knn": 2.0, "rf": 1.5, "svm": 2.5}
    assert metrics.win_rate_matrix(table)[0, 1] == 0.5
    assert metrics.leaderboard(table)["method"].tolist() == ["rf", "knn", "svm"]
    with pytest.raises(ValueError, match="needs an error such as rmse, got 'accuracy'"):
        metrics.easy_subset(table)


def test_negative_scores_have_no_ratio() -> None:
    table = from_frame(make_frame([[0.5, -0.2]], {"rf": "RF", "ols": "Linear"}, "test_r2"), "r2")
    with pytest.raises(ValueError, match=r"P90 compares ratios .* R² goes down to -0\.2 here"):
        metrics.p_share(table)
    assert metrics.leaderboard(table)["p90"].isna().all()


def test_perfect_scores() -> None:
    table = from_frame(make_frame([[0.0, 0.5], [0.0, 0.0]], {"rf": "RF", "ols": "Linear"}))
    assert metrics.pma(table) == {"rf": 1.0, "ols": 0.5}


def test_contests_take_the_papers_four_networks() -> None:
    names = NETWORKS | {"fast-mlp": "DNN", "catboost": "GBDT", "ridge": "Linear", "tabm": "Peer"}
    # In each row one method is best and catboost next; the restricted contests see only theirs.
    winners = ["resblock", "glu-mlp", "adacap-resblock", "fast-mlp", "tabm", "catboost", "ridge"]
    values = [
        [0.1 if name == winner else 0.2 if name == "catboost" else 0.5 for name in names]
        for winner in winners
    ]
    table = from_frame(make_frame(values, names))
    # Of the first two rows DNN wins both; the next three go to catboost.
    without = metrics.top1_by_category(table, metrics.WITHOUT_ADACAP)
    assert without.shares == pytest.approx({"GBDT": 4 / 7, "DNN": 2 / 7, "GLM": 1 / 7})
    assert without.absent == ()
    # Neither resblock nor glu-mlp plays, adacap-resblock does.
    with_adacap = metrics.top1_by_category(table, metrics.WITH_ADACAP)
    assert with_adacap.shares == pytest.approx({"GBDT": 5 / 7, "DNN": 1 / 7, "GLM": 1 / 7})
    alone = from_frame(make_frame(values, names).query("method != 'mlp'"))
    with pytest.raises(ValueError, match=r"'with AdaCap' needs mlp, which this table does not"):
        metrics.top1_by_category(alone)


def test_missing_cells_are_refused_and_named(frame: pd.DataFrame) -> None:
    frame.loc[1, "status"] = "failed"
    frame = frame.drop(index=11)
    expected = (
        r"2 of 12 cells have no result: catboost × t1 × split 0, snn × t2 × split 0\. "
        r"Run the benchmark again, or mark them"
    )
    with pytest.raises(metrics.MissingCellsError, match=expected) as caught:
        from_frame(frame)
    assert caught.value.cells == [("catboost", "t1", 0), ("snn", "t2", 0)]


def test_missing_cells_can_be_marked(frame: pd.DataFrame) -> None:
    frame.loc[0, "status"] = "timeout"  # adacap-snn × t1 × split 0, the best of its row
    table = from_frame(frame, missing="mark")
    assert table.best().tolist() == [0.22, 0.27, 0.80]
    board = metrics.leaderboard(table).set_index("method")
    assert board.index.tolist() == ["catboost", "snn", "rf", "adacap-snn"]  # gaps come last
    assert board.loc["adacap-snn", ["n", "missing"]].tolist() == [2, 1]
    assert board.loc["adacap-snn", "mean"] == pytest.approx(0.55)
    assert np.isnan(board.loc["adacap-snn", "rank"])
    # Ranks among the other three: catboost 2, 1, 1; snn 1, 3, 2; rf 3, 2, 3
    assert board["rank"].tolist()[:3] == pytest.approx([4 / 3, 2.0, 8 / 3])
    with pytest.raises(metrics.MissingCellsError, match=r"take \.complete_methods\(\) or"):
        metrics.friedman_ranks(table)
    assert table.complete_experiments().experiments == (("t1", 1), ("t2", 0))
    assert np.isnan(table.by_task().values[0, 0])
    # adacap-snn and catboost met twice: a loss and a tie
    assert metrics.win_rate_matrix(table)[0, 1] == pytest.approx(0.25)


def test_many_missing_cells_are_cut_short(frame: pd.DataFrame) -> None:
    frame.loc[:6, "test_rmse"] = np.nan
    with pytest.raises(metrics.MissingCellsError, match=r"^7 of 12 .*, …\. Run"):
        from_frame(frame)


def test_seeds_are_averaged_and_counted(frame: pd.DataFrame) -> None:
    again = frame[frame["method"] == "snn"].assign(seed=1, test_rmse=[0.32, 0.60, 0.70])
    table = from_frame(pd.concat([frame, again]))
    assert table.values[:, 3] == pytest.approx([0.27, 0.55, 0.80])
    assert table.n_seeds[0].tolist() == [1, 1, 1, 2]


def test_two_results_of_one_job_are_refused(frame: pd.DataFrame) -> None:
    doubled = pd.concat([frame, frame.iloc[[2]].assign(status="imported")])
    with pytest.raises(ValueError, match=r"first: rf × t1 × split 0 × seed 0\. Keep one"):
        from_frame(doubled)


def test_imported_results_count_and_failures_are_listed(frame: pd.DataFrame) -> None:
    frame.loc[frame["method"] == "rf", "status"] = "imported"
    frame.loc[[3, 7], "status"] = ["crashed", "failed"]
    assert from_frame(frame, missing="mark").missing() == [("snn", "t1", 0), ("snn", "t1", 1)]
    assert metrics.failures(frame)["status"].tolist() == ["crashed", "failed"]


def test_other_kinds_stay_aside(frame: pd.DataFrame) -> None:
    other = frame.iloc[[0]].assign(task="c", kind="binary", test_rmse=np.nan, test_auc=0.7)
    both = pd.concat([frame, other])
    assert len(from_frame(both, "rmse").experiments) == 3
    assert from_frame(both, "auc").values.tolist() == [[0.7]]


def test_misuse_is_named(frame: pd.DataFrame, table: ScoreTable) -> None:
    with pytest.raises(ValueError, match=r"Unknown metric 'rsme'\. Did you mean 'rmse'"):
        from_frame(frame, "rsme")
    with pytest.raises(ValueError, match="The frame does not have kind, seed"):
        from_frame(frame.drop(columns=["kind", "seed"]))
    with pytest.raises(ValueError, match="The frame has no column 'test_rmse'"):
        from_frame(frame.drop(columns="test_rmse"))
    with pytest.raises(ValueError, match="missing must be 'refuse' or 'mark', got 'fill'"):
        from_frame(frame, missing="fill")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"No method 'snnn' in this table\. Did you mean 'snn'"):
        metrics.paired_bootstrap(table, "snnn", "rf")
    with pytest.raises(ValueError, match=r"level must be in \(0, 1\], got 90"):
        metrics.p_share(table, 90)
    with pytest.raises(ValueError, match="0 experiments and 4 methods: nothing to compare"):
        metrics.leaderboard(metrics.easy_subset(table, 0.0))
    with pytest.raises(ValueError, match=r"at least 2 of them .* got 1\. Use unit='experiment'"):
        metrics.paired_bootstrap(from_frame(frame.query("task == 't1'")), "snn", "rf")


@pytest.mark.parametrize("k", [3, 6])
@pytest.mark.parametrize("ties", [True, False])
def test_friedman_test_agrees_with_scipy(seed: int, k: int, ties: bool) -> None:
    table = random_table(seed, k=k, ties=ties)
    expected = stats.friedmanchisquare(*table.values.T)
    found = metrics.friedman_test(table)
    assert (found.statistic, found.p_value) == pytest.approx(tuple(expected))


def test_only_ties() -> None:
    table = from_frame(make_frame([[0.5, 0.5]] * 3, {"rf": "RF", "ols": "Linear"}))
    assert metrics.friedman_test(table).p_value == 1.0


@pytest.mark.parametrize(("k", "q"), [(2, 1.960), (3, 2.343), (5, 2.728), (10, 3.164)])
def test_quantiles_are_those_of_demsar(k: int, q: float) -> None:
    assert metrics.nemenyi_quantile(k) == pytest.approx(q, abs=1.5e-3)


def test_groups_are_where_the_difference_is_too_small() -> None:
    values = [[0.1, 0.2, 0.3], [0.1, 0.2, 0.3]] * 10
    found = metrics.critical_difference(
        from_frame(make_frame(values, {"a": "RF", "b": "RF", "c": "RF"}))
    )
    # 2.3437 · √(12/120) = 0.741: ranks 1, 2, 3 all differ
    assert found.difference == pytest.approx(0.7411, abs=1e-3)
    assert found.groups == ()


def test_scales_do_not_matter_where_they_should_not(seed: int) -> None:
    table = random_table(seed)
    scaled = ScoreTable(**{**vars(table), "values": 7.0 * table.values})
    assert metrics.p_share(scaled) == metrics.p_share(table)
    assert metrics.pma(scaled) == pytest.approx(metrics.pma(table))
    assert metrics.friedman_ranks(scaled) == metrics.friedman_ranks(table)


def test_invariants(seed: int) -> None:
    table = random_table(seed)
    assert sum(metrics.top1(table).values()) == pytest.approx(1)
    assert sum(metrics.friedman_ranks(table).values()) == pytest.approx(5 * 6 / 2)
    rates = metrics.win_rate_matrix(table)
    np.testing.assert_allclose((rates + rates.T)[~np.eye(5, dtype=bool)], 1)
