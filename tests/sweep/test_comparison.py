"""Comparisons find what is there, and nothing where there is nothing."""

from __future__ import annotations

import numpy as np
import pytest

import testbed
from testbed import BadInput
from testbed.sweep import compare_rows
from testbed.sweep.metrics import costs, watched
from tests.sweep.studies import write

METRICS = (
    *("mass_rel_error_final", "com_error_final", "inertia_rel_error_final"),
    *("prediction_rmse", "consistent_fraction"),
)


def rows(values, name, failed=()):
    """Rows of one estimator: metric → values over seeds."""
    n = len(next(iter(values.values())))
    return [
        {
            "scenario": "s", "cell": {}, "seed": i, "estimator": name,
            "failed": "boom" if i in failed else None,
            "metrics": {m: None if v[i] is None else float(v[i]) for m, v in values.items()},
            "changes": [{"at": 1.0, "settle_10_s": values.get("settle_10_s", [None] * n)[i]}],
        }
        for i in range(n)
    ]  # fmt: skip


def draws(rng, n, scale=1.0, shared=None):
    """Heavy-tailed errors with a part that belongs to the stream, correlated over metrics."""
    own = rng.normal(size=n)
    return {m: scale * np.exp(shared[m] + 0.6 * own + 0.4 * rng.normal(size=n)) for m in METRICS}


@pytest.mark.parametrize("n", [12, 50])
def test_two_copies_differ_in_at_most_five_of_a_hundred_repetitions(n):
    found = 0
    for repetition in range(100):
        rng = np.random.default_rng([7, n, repetition])
        shared = {m: rng.normal(size=n) for m in METRICS}
        a, b = (rows(draws(rng, n, shared=shared), name) for name in "ab")
        comparison = compare_rows([*a, *b])
        assert set(comparison.metrics) == set(METRICS)
        found += any(entry["better"] for entry in comparison.metrics.values())
    assert found <= 5


def on_a_grid(rng, name, shared, scale=1.0, settles=0.6):
    """Rows of one estimator at three points of a grid: one draw a seed, nearly the same at each.

    Errors are rounded, so that there are ties, and in many runs nothing ever settles.
    """
    own = rng.normal(size=len(shared))
    found = []
    for cell in (0.5, 1.0, 2.0):
        error = np.round(scale * cell * np.exp(shared + 0.6 * own), 1)
        time = [float(e) if u < settles else None for e, u in zip(error, shared % 1, strict=True)]
        values = {"mass_rel_error_final": error, "settle_10_s": time}
        found += [{**row, "cell": {"noise.scale": cell}} for row in rows(values, name)]
    return found


def test_two_copies_on_a_grid_with_ties_and_censoring_differ_in_at_most_five_of_a_hundred():
    found = 0
    for repetition in range(100):
        rng = np.random.default_rng([9, repetition])
        shared = rng.normal(size=20)
        comparison = compare_rows([*on_a_grid(rng, "a", shared), *on_a_grid(rng, "b", shared)])
        assert (comparison.pairs, comparison.runs) == (20, 60)
        found += any(entry["better"] for entry in comparison.metrics.values())
    assert found <= 5


def test_a_better_one_on_a_grid_is_found():
    found = 0
    for repetition in range(20):
        rng = np.random.default_rng([10, repetition])
        shared = rng.normal(size=30)
        comparison = compare_rows(
            [*on_a_grid(rng, "a", shared), *on_a_grid(rng, "b", shared, scale=0.4)]
        )
        assert "90 paired runs of 30 seeds" in comparison.sentences[0]
        found += all(entry["better"] == "b" for entry in comparison.metrics.values())
    assert found >= 18


def test_a_better_one_is_found_nearly_always():
    found = 0
    for repetition in range(50):
        rng = np.random.default_rng([8, repetition])
        shared = {m: rng.normal(size=50) for m in METRICS}
        a = rows(draws(rng, 50, shared=shared), "a")
        b = rows(draws(rng, 50, 0.5, shared), "b")
        entry = compare_rows([*a, *b]).metrics["mass_rel_error_final"]
        found += entry["better"] == "b"
        assert entry["better"] != "a"
    assert found >= 45


def test_a_better_one_is_told_in_a_sentence():
    rng = np.random.default_rng(0)
    settle = rng.uniform(1.0, 2.0, 40)
    same = rng.uniform(0.01, 0.02, 40)
    a = rows({"settle_10_s": settle, "mass_rel_error_final": same}, "A")
    faster = settle - rng.uniform(0.2, 0.6, 40)
    close = same * rng.uniform(0.98, 1.02, 40)
    b = rows({"settle_10_s": faster, "mass_rel_error_final": close}, "B")
    comparison = compare_rows([*a, *b])
    entry = comparison.metrics["settle_10_s"]
    assert entry["better"] == "B"
    assert entry["difference"] == pytest.approx(np.median(faster - settle))
    low, high = entry["ci95"]
    assert low < entry["difference"] < high < 0
    (text,) = comparison.sentences
    assert text.startswith("B settles 0.")
    assert "faster" in text
    assert "no worse in mass error" in text
    # The other way round the same is true.
    back = compare_rows([*b, *a])
    assert back.metrics["settle_10_s"]["difference"] == pytest.approx(-entry["difference"])
    assert back.metrics["settle_10_s"]["p"] == pytest.approx(entry["p"])
    assert "slower" in back.sentences[0]


def test_a_sentence_never_contradicts_its_figures():
    # By ranks B is better: it wins by much where it wins. In most runs it is a little slower.
    difference = np.r_[np.full(21, 0.01), -np.linspace(1.0, 2.0, 19)]
    settle = np.linspace(5.0, 6.0, 40)
    a = rows({"settle_10_s": settle, "inertia_rel_error_final": settle}, "A")
    b = rows({"settle_10_s": settle + difference, "inertia_rel_error_final": settle - 1.0}, "B")
    comparison = compare_rows([*a, *b])
    entry = comparison.metrics["settle_10_s"]
    assert entry["difference"] == pytest.approx(0.01)
    assert entry["better"] == "B"
    (text,) = comparison.sentences
    assert "faster" not in text
    assert "an inertia error smaller by" in text
    assert "better in time to 10 % by ranks" in text
    assert "though the median difference is 0.01 s [" in text


def test_the_interval_of_a_sentence_points_the_same_way_as_its_number():
    from testbed.sweep.sentences import _range

    assert _range(-0.4, -1.2, 0.1, 1, "s") == "0.4 s [-0.1, 1.2]"
    assert _range(0.4, -0.1, 1.2, 1, "s") == "0.4 s [-0.1, 1.2]"
    assert _range(-0.4, -0.6, -0.2, 1, "s") == "0.4 s [0.2, 0.6]"


def test_no_worse_is_not_claimed_where_nothing_is_known():
    rng = np.random.default_rng(1)
    a, b = (rows({"mass_rel_error_final": rng.uniform(0, 1, 8)}, n) for n in "AB")
    (text,) = compare_rows([*a, *b]).sentences
    assert "no certain difference" in text
    assert "undecided in mass error" in text


def test_runs_that_never_settle_are_censored_not_dropped():
    rng = np.random.default_rng(2)
    n = 60
    quick = rng.uniform(0.5, 1.0, n)
    # B is quicker where it settles, but in most runs it never does.
    sometimes = [0.4 if i % 3 == 0 else None for i in range(n)]
    a = rows({"settle_10_s": quick}, "A")
    b = rows({"settle_10_s": sometimes}, "B")
    resolved = {("s", "{}"): {"duration": 5.0}}
    comparison = compare_rows([*a, *b], resolved, ["settle_10_s"])
    entry = comparison.metrics["settle_10_s"]
    assert entry["better"] == "A"
    assert entry["settled"]["A"]["share"] == 1.0
    assert entry["settled"]["B"]["share"] == pytest.approx(1 / 3)
    low, high = entry["settled"]["B"]["ci95"]
    assert low < 1 / 3 < high
    assert entry["settled"]["B"]["median"] is None
    assert entry["settled"]["A"]["median"] == pytest.approx(np.median(quick), abs=0.03)
    assert entry["difference"] is None  # most differences are infinite
    assert "33% of runs rather than 100%" in comparison.sentences[0]


def test_an_estimator_that_never_settles_at_all_is_compared_all_the_same():
    a = rows({"settle_10_s": [0.5 + 0.01 * i for i in range(20)]}, "A")
    b = rows({"settle_10_s": [None] * 20}, "B")
    assert compare_rows([*a, *b]).metrics["settle_10_s"]["better"] == "A"


def test_failed_runs_are_the_worst_whatever_they_had_reached():
    values = {"mass_rel_error_final": np.linspace(0.01, 0.02, 20)}
    better = {"mass_rel_error_final": 0.1 * values["mass_rel_error_final"]}
    a = rows(values, "A")
    b = rows(better, "B", failed=range(15))
    comparison = compare_rows([*a, *b])
    assert comparison.metrics["mass_rel_error_final"]["better"] == "A"
    assert comparison.failed == {"A": 0, "B": 15}


def test_larger_is_better_where_it_is():
    a = rows({"consistent_fraction": [0.5 + 0.01 * i for i in range(20)]}, "A")
    b = rows({"consistent_fraction": [0.9 + 0.001 * i for i in range(20)]}, "B")
    entry = compare_rows([*a, *b]).metrics["consistent_fraction"]
    assert entry["better"] == "B"
    assert entry["difference"] > 0
    assert entry["values"]["B"] > entry["values"]["A"] > 0


def test_what_an_estimator_does_not_have_is_not_held_against_it():
    a = rows({"nees_mean": [1.0 + 0.01 * i for i in range(20)]}, "A")
    b = rows({"nees_mean": [None] * 20}, "B")
    assert costs("nees_mean", b) is None
    with pytest.raises(BadInput, match="none of the metrics has a value"):
        compare_rows([*a, *b], metrics=["nees_mean"])


def test_three_estimators_are_compared_in_pairs_with_one_correction():
    rng = np.random.default_rng(3)
    base = rng.uniform(1, 2, 30)
    data = [
        row
        for name, factor in (("A", 1.0), ("B", 1.001), ("C", 0.5))
        for row in rows({"mass_rel_error_final": factor * base * rng.uniform(0.9, 1.1, 30)}, name)
    ]
    entry = compare_rows(data).metrics["mass_rel_error_final"]
    assert entry["better"] == "C"  # better than every other
    assert [(p["a"], p["b"]) for p in entry["pairs"]] == [("A", "B"), ("A", "C"), ("B", "C")]
    raw = sorted(p["p_raw"] for p in entry["pairs"])
    assert min(p["p"] for p in entry["pairs"]) == pytest.approx(3 * raw[0])


def test_only_common_streams_are_paired():
    a = rows({"mass_rel_error_final": [0.1] * 10}, "A")
    b = rows({"mass_rel_error_final": [0.2] * 10}, "B")[:6]
    assert compare_rows([*a, *b], metrics=["mass_rel_error_final"]).pairs == 6
    with pytest.raises(BadInput, match="nothing to pair"):
        compare_rows([*a[:3], *b[4:]])


def test_how_long_a_run_was_watched():
    row = {"changes": [{"at": 1.0, "settle_10_s": 0.3}, {"at": 4.0, "settle_10_s": None}]}
    assert watched(row, "settle_10_s", 10.0) == 6.0
    row = {"changes": [{"at": 1.0, "settle_10_s": None}, {"at": 4.0, "settle_10_s": 0.2}]}
    assert watched(row, "settle_10_s", 10.0) == 3.0
    assert watched({}, "settle_10_s", 10.0) == 10.0


def test_compare_runs_estimators_and_finds_the_one_that_ignores_its_data(tmp_path):
    scenario = write(tmp_path)
    lazy = tmp_path / "lazy.py"
    lazy.write_text(
        "from testbed import Estimate\n"
        "class Lazy:\n"
        "    inputs = {'eq': '@measured'}\n"
        "    def reset(self, problem): self.prior = problem.prior\n"
        "    def update(self, eq): return Estimate(self.prior)\n"
    )
    found = testbed.compare(
        f"{lazy}:Lazy", "rls", "rls:name=again", scenario=scenario, seeds="0:20",
        executor="serial", out=tmp_path / "out",
    )  # fmt: skip
    assert found.metrics["prediction_rmse"]["pairs"][0]["better"] == "rls"
    copies = [p for e in found.metrics.values() for p in e["pairs"] if p["a"] == "rls"]
    assert copies
    assert all(p["better"] is None for p in copies)
    assert "rls has a" in found.sentences[0]
