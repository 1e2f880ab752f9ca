"""Ports: which equation, from which signals, an estimator is given."""

from __future__ import annotations

import numpy as np
import pytest

from testbed import Session, make_estimator, make_plant
from testbed.core import registry
from testbed.core.errors import BadInput, UnknownName
from testbed.core.registry import Entry
from testbed.regressors.wrench import FreeBody
from tests.harness.harness_runs import Watcher, advance


def test_each_equation_is_computed_once_however_many_ask(monkeypatch):
    calls = []

    class Counting(FreeBody):
        def equation(self, t, signals, segment=0):
            calls.append(t)
            return super().equation(t, signals, segment)

    entry = Entry("counting", Counting, "counts")
    monkeypatch.setitem(registry.regressor.entries, "counting", entry)
    watchers = [Watcher(eq="counting"), Watcher(eq="counting@measured", also="counting")]
    s = Session(
        make_plant("free_flyer"),
        {"a": watchers[0], "b": watchers[1], "c": make_estimator("rls")},
        inputs={"c": {"eq": "counting"}},
    )
    advance(s, steps=20)
    np.testing.assert_allclose(calls, np.arange(21) * 0.01)
    for one, two in zip(watchers[0].heard, watchers[1].heard, strict=True):
        assert one["eq"] is two["eq"] is two["also"]


def test_the_empty_port_is_the_plants_default_regressor_on_what_was_measured():
    plant = make_plant("staubli_arm", target=["payload"])
    watcher = Watcher(a="", b="@measured", c="wrench", d="wrench@measured", plan="@reference")
    advance(Session(plant, {"w": watcher}), steps=3)
    for ports in watcher.heard:
        assert len({id(ports[x]) for x in "abcd"}) == 1
        assert ports["plan"] is not ports["a"]
        assert np.abs(ports["plan"].A - ports["a"].A).max() < 1.0  # it follows the plan


def test_the_raw_port_delivers_the_sample_itself():
    watcher = Watcher(raw="sample")
    s = Session(make_plant("free_flyer"), {"w": watcher})
    sample, _ = s.reset(0)
    assert watcher.heard[0]["raw"] is sample
    sample, _ = s.step()
    assert watcher.heard[1]["raw"] is sample
    assert s.contenders["w"].tally.rows == 0  # no equation, nothing to predict


def test_a_missing_required_port_waits_and_a_missing_optional_one_is_left_out():
    inputs = {"eq": "joint_torque", "raw": "sample"}  # held friction: none at sample 0
    waiting, eager = Watcher(**inputs), Watcher(**{"eq?": "joint_torque", "raw": "sample"})
    unplanned = Watcher(**{"eq": "", "instrument?": "@kalman"})
    plant = make_plant("cheetah_leg")
    s = Session(plant, {"waiting": waiting, "eager": eager, "unplanned": unplanned})
    advance(s, steps=4)
    assert [p["raw"].t for p in waiting.heard] == pytest.approx([0.001, 0.002, 0.003, 0.004])
    assert [set(p) for p in eager.heard] == [{"raw"}] + 4 * [{"eq", "raw"}]
    assert all(set(p) == {"eq"} for p in unplanned.heard)
    history = s.contenders["waiting"].history
    assert len(history.theta) == 5  # a row a sample, also while it waits
    np.testing.assert_array_equal(history.theta[0], waiting.problem.prior)
    assert np.isnan(history.innovation[0])
    assert s.contenders["waiting"].info["updates"] == 4


@pytest.mark.parametrize(
    ("port", "message"),
    [
        ("@referense", r"'w', port 'eq': unknown signal group 'referense': did you mean 'ref"),
        ("wrenck", r"unknown regressor 'wrenck': did you mean 'wrench'"),
        ("wrenck@reference", r"unknown regressor 'wrenck': did you mean 'wrench'"),
    ],
)
def test_an_unknown_group_or_regressor_is_an_unknown_name(port, message):
    with pytest.raises(UnknownName, match=message):
        Session(make_plant("staubli_arm"), {"w": Watcher(eq=port)})


def test_a_group_that_lacks_a_channel_is_named():
    with pytest.raises(BadInput, match=r"free_body@reference.*'reference' do not have.*'accel'"):
        Session(make_plant("free_flyer"), {"w": Watcher(eq="@reference")})


@pytest.mark.parametrize("inputs", [None, {}, "@measured", 3])
def test_an_estimator_without_readable_inputs_is_bad_input(inputs):
    watcher = Watcher()
    watcher.inputs = inputs
    with pytest.raises(BadInput, match=r"'w' needs inputs"):
        Session(make_plant("free_flyer"), {"w": watcher})
