"""Whatever a plugin does, it is named with its reason and the others go on unchanged."""

from __future__ import annotations

import re
import sys
import time

import numpy as np
import pytest

from testbed import BadInput, Estimate, run
from tests.harness.harness_runs import scenario


class Plugin:
    """Behaves until its fifth update (t = 0.04 s), then does what it is told."""

    inputs = {"eq": "@measured", "raw": "sample"}  # noqa: RUF012
    name = "bad"

    def __init__(self, act, at=5):
        self.act, self.at = act, at

    def reset(self, problem):
        self.theta, self.n = problem.prior.copy(), 0

    def update(self, eq, raw):
        self.n += 1
        if self.n == self.at:
            return self.act(self, eq, raw)
        return Estimate(self.theta)


def crash(plugin, eq, raw):
    raise RuntimeError("out of\n  ideas")


def loop(plugin, eq, raw):
    while True:
        pass


def nap(plugin, eq, raw):
    while True:
        time.sleep(0.01)


def swallow(plugin, eq, raw):
    while True:
        try:
            time.sleep(0.01)
        except Exception:
            pass


def change(array):
    array[..., 0] = 1e9


def answer(value):
    return lambda plugin, eq, raw: value


BAD = {
    "raises": (crash, r"RuntimeError: out of ideas"),
    "loops": (loop, r"hung: update took longer than 0\.5 s"),
    "sleeps": (nap, r"hung: update took longer than 0\.5 s"),
    "swallows": (swallow, r"hung: update took longer than 0\.5 s"),
    "exits": (lambda *_: sys.exit(3), r"SystemExit: 3"),
    "interrupts nobody": (lambda *_: 1 / 0, r"ZeroDivisionError"),
    "returns None": (answer(None), r"must return an Estimate, got NoneType"),
    "returns an array": (answer(np.zeros(10)), r"must return an Estimate, got ndarray"),
    "too short": (answer(Estimate(np.zeros(9))), r"shape \(10,\), got \(9,\)"),
    "a matrix": (answer(Estimate(np.zeros((1, 10)))), r"shape \(10,\), got \(1, 10\)"),
    "no theta": (answer(Estimate(None)), r"shape \(10,\), got \(\)"),
    "text": (answer(Estimate("heavy")), r"ValueError: could not convert string"),
    "a flag of arrays": (
        answer(Estimate(np.ones(10), None, {"change": np.array([1, 0])})),
        r"ValueError: The truth value of an array",
    ),
    "NaN": (answer(Estimate(np.full(10, np.nan))), r"theta is not finite"),
    "infinity": (answer(Estimate(np.full(10, -np.inf))), r"theta is not finite"),
    "writes into A": (lambda s, eq, raw: change(eq.A), r"read-only"),
    "writes into b": (lambda s, eq, raw: change(eq.b), r"read-only"),
    "writes into cov": (lambda s, eq, raw: change(eq.cov), r"read-only"),
    "writes into whitener": (lambda s, eq, raw: change(eq.whitener), r"read-only"),
    "writes into a signal": (lambda s, eq, raw: change(raw["measured"]["gyro"]), r"read-only"),
    "writes into the plan": (lambda s, eq, raw: change(raw["reference"].flat), r"read-only"),
    "rebinds a field": (lambda s, eq, raw: setattr(eq, "b", eq.b * 2), r"cannot assign"),
}


@pytest.fixture(scope="module")
def undisturbed():
    """The same scenario without the bad plugin."""
    return run(scenario()).history("rls").theta


@pytest.mark.parametrize("case", BAD)
def test_a_failing_plugin_is_named_and_the_others_go_on_unchanged(case, undisturbed):
    act, reason = BAD[case]
    result = run(scenario(), estimators=[Plugin(act)], plugin_timeout=0.5)
    row = result.scorecard["estimators"]["bad"]
    assert row["failed"].endswith("(at t = 0.04 s)")
    assert "\n" not in row["failed"]
    assert re.search(reason, row["failed"])
    assert len(result.history("bad").theta) == 4  # what it said before is kept
    assert row["metrics"]["prediction_rmse"] is not None
    ends = [v for k, v in row["metrics"].items() if k.endswith(("_final", "_final_worst"))]
    assert len(ends) > 5
    assert set(ends) == {None}  # it has no estimate of the end
    assert row["info"]["updates"] == 4
    assert not result.passed
    np.testing.assert_array_equal(result.history("rls").theta, undisturbed)
    assert result.scorecard["estimators"]["rls"]["failed"] is None


def test_a_plugin_that_fails_at_once_has_no_scores_and_fails_its_accept_rule():
    rule = {"estimator": "bad", "metric": "consistent_fraction", "min": 0.0}
    late = {"use": "rls", "name": "bad"}
    result = run(
        scenario(accept=[rule], estimator=[late]), estimators=[Plugin(crash, at=1)], only=True
    )
    row = result.scorecard["estimators"]["bad"]
    assert row["failed"].endswith("(at t = 0 s)")
    assert set(row["metrics"].values()) <= {None, row["metrics"]["prediction_rmse"]}
    assert result.scorecard["accept"] == [{"rule": rule, "value": None, "passed": False}]
    assert result.json()


def test_a_plugin_that_returns_a_view_of_its_state_does_not_rewrite_the_past():
    def drift(plugin, eq, raw):
        plugin.theta += 1.0
        plugin.at += 1
        return Estimate(plugin.theta)

    plugin = Plugin(drift, at=1)
    theta = run(scenario(), estimators=[plugin], only=True).history("bad").theta
    np.testing.assert_allclose(np.diff(theta, axis=0), 1.0, atol=1e-12)
    assert len(theta) == 21


def test_a_batch_plugin_that_fails_in_solve_is_marked_and_one_that_works_has_the_last_word():
    def solve(self):
        return self.final(self)

    Batch = type("Batch", (Plugin,), {"solve": solve})
    good, bad, slow = (Batch(None, at=0) for _ in range(3))
    good.final = lambda self: Estimate(self.theta + 7.0)
    bad.final = lambda self: Estimate(np.zeros(3))
    slow.final = lambda self: loop(self, None, None)
    result = run(scenario(), estimators=[good, bad, slow], plugin_timeout=0.5)
    rows = result.scorecard["estimators"]
    assert rows["bad"]["failed"] is None
    np.testing.assert_array_equal(rows["bad"]["theta"], good.theta + 7.0)
    np.testing.assert_array_equal(result.history("bad").theta[-1], good.theta + 7.0)
    np.testing.assert_array_equal(result.history("bad").theta[-2], good.theta)
    assert rows["bad"]["timing"]["solve_ms"] > 0
    assert rows["bad#2"]["failed"] == "ValueError: theta must have shape (10,), got (3,)"
    assert rows["bad#3"]["failed"] == "hung: solve took longer than 0.5 s"


@pytest.mark.parametrize(
    ("act", "reason"),
    [
        (lambda: 1 / 0, r"'bad' cannot be reset: ZeroDivisionError"),
        (lambda: sys.exit(0), r"'bad' cannot be reset: SystemExit: 0"),
        (lambda: (_ for _ in ()).throw(BadInput("no\n prior")), r"'bad' cannot be reset: no prior"),
        (lambda: time.sleep(30), r"'bad' hung: reset took longer than 0\.5 s"),
    ],
    ids=["raises", "exits", "bad input", "hangs"],
)
def test_a_plugin_that_cannot_be_reset_is_bad_input(act, reason):
    plugin = Plugin(None)
    plugin.reset = lambda problem: act()
    with pytest.raises(BadInput, match=reason) as caught:
        run(scenario(), estimators=[plugin], plugin_timeout=0.5)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("method", ["reset", "update"])
def test_a_plugin_without_its_methods_is_bad_input(method):
    plugin = Plugin(None)
    setattr(plugin, method, None)
    with pytest.raises(BadInput, match=rf"'bad' has no method {method}\(\)"):
        run(scenario(), estimators=[plugin])


def test_an_interrupt_by_the_user_is_not_swallowed():
    def interrupt(plugin, eq, raw):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(scenario(), estimators=[Plugin(interrupt)])
