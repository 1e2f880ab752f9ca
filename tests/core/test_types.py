"""Equations, problems, rigs and channels: what they accept, infer and refuse."""

import numpy as np
import pytest

from testbed.core.errors import BadInput, UnknownName
from testbed.core.protocols import Rig
from testbed.core.signals import Channel, Layout, Signals
from testbed.core.types import Equation, Estimate, Problem, Sample, whitener

LAYOUT = Layout([Channel("q", ("j1", "j2"), "rad"), Channel("gyro", tuple("xyz"), "rad/s", "ft")])


@pytest.mark.parametrize(
    ("A", "b"),
    [((6, 10), (5,)), ((6, 10), (6, 1)), ((10,), (1,)), ((2, 6, 10), (2,)), ((6, 10), ())],
)
def test_an_equation_refuses_shapes_that_do_not_fit(A, b):
    with pytest.raises(BadInput) as caught:
        Equation(0.0, np.zeros(A), np.zeros(b))
    assert f"got {A} and {b}" in str(caught.value)


def test_whitened_rows_weigh_by_the_inverse_covariance():
    rng = np.random.default_rng(0)
    A, b, root = rng.normal(size=(6, 10)), rng.normal(size=6), rng.normal(size=(6, 6))
    cov = root @ root.T + 0.1 * np.eye(6)
    Aw, bw = Equation(0.0, A, b, cov).whitened()
    np.testing.assert_allclose(Aw.T @ Aw, A.T @ np.linalg.solve(cov, A), rtol=0, atol=1e-11)
    np.testing.assert_allclose(Aw.T @ bw, A.T @ np.linalg.solve(cov, b), rtol=0, atol=1e-11)
    again = Equation(0.0, A, b, cov, whitener=whitener(cov)).whitened()
    np.testing.assert_array_equal(again[0], Aw)
    np.testing.assert_array_equal(again[1], bw)


def test_without_covariance_whitening_does_nothing():
    A, b = np.ones((2, 10)), np.ones(2)
    got = Equation(0.0, A, b).whitened()
    assert np.shares_memory(got[0], A)
    assert np.shares_memory(got[1], b)


def test_a_covariance_that_is_none_is_refused():
    with pytest.raises(BadInput, match="positive definite"):
        Equation(0.0, np.ones((2, 10)), np.ones(2), np.diag([1.0, -1.0])).whitened()


def test_an_estimate_works_its_covariance_out_only_when_asked():
    asked = []
    lazy = Estimate(np.zeros(2), lambda: asked.append(1) or np.eye(2))
    assert asked == []
    np.testing.assert_array_equal(lazy.covariance(), np.eye(2))
    assert Estimate(np.zeros(2)).covariance() is None
    np.testing.assert_array_equal(Estimate(np.zeros(2), np.eye(2)).covariance(), np.eye(2))


@pytest.mark.parametrize(
    ("size", "given", "bodies", "extra"),
    [
        (10, {}, ("body0",), ()),
        (30, {}, ("body0", "body1", "body2"), ()),
        (23, {"extra": 3}, ("body0", "body1"), ("extra0", "extra1", "extra2")),
        (12, {"bodies": ["hand"], "extra": ["v", "c"]}, ("hand",), ("v", "c")),
        (2, {"extra": 2}, (), ("extra0", "extra1")),
    ],
)
def test_a_problem_infers_its_bodies(size, given, bodies, extra):
    problem = Problem(np.arange(float(size)), **given)
    assert (problem.bodies, problem.extra, problem.size) == (bodies, extra, size)
    np.testing.assert_array_equal(problem.scale, np.ones(size))
    assert np.all(problem.lower == -np.inf)
    assert np.all(problem.upper == np.inf)


@pytest.mark.parametrize(
    ("prior", "given", "told"),
    [
        (np.zeros((2, 10)), {}, r"flat, .*got shape \(2, 10\)"),
        (np.zeros(13), {}, "13 entries, but 1 bodies and 0 extra parameters need 10"),
        (np.zeros(10), {"bodies": "ab"}, "2 bodies and 0 extra parameters need 20"),
        (np.zeros(10), {"extra": 1}, "0 bodies and 1 extra parameters need 1"),
        (np.zeros(2), {"extra": 5}, "5 extra parameters need 5"),
        (np.zeros(10), {"scale": np.ones(9)}, r"scale must have shape \(10,\), got \(9,\)"),
        (np.zeros(10), {"lower": 0.0}, r"lower must have shape \(10,\)"),
        (np.zeros(10), {"upper": np.ones((1, 10))}, r"upper must have shape \(10,\)"),
    ],
)
def test_a_problem_that_does_not_add_up_is_refused(prior, given, told):
    with pytest.raises(BadInput, match=told):
        Problem(prior, **given)


def test_a_problem_copies_its_prior():
    prior = np.zeros(10)
    problem = Problem(prior)
    prior[0] = 1.0
    assert problem.prior[0] == 0.0


def test_channels_are_views_of_one_flat_vector():
    flat = np.arange(5.0)
    signals = Signals(LAYOUT, flat)
    np.testing.assert_array_equal(signals["gyro"], [2.0, 3.0, 4.0])
    assert np.shares_memory(signals["gyro"], flat)
    assert (list(signals), len(signals), "q" in signals) == (["q", "gyro"], 2, True)
    assert LAYOUT.columns() == ["q.j1", "q.j2", "gyro.x", "gyro.y", "gyro.z"]
    assert Sample(0.0, {"measured": signals})["measured"] is signals
    assert repr(signals).startswith("Signals(q=[0. 1.]")


def test_signals_cannot_be_written_to():
    signals = Signals(LAYOUT, np.arange(5.0))
    with pytest.raises(ValueError, match="read-only"):
        signals["q"][0] = 1.0


def test_an_unknown_channel_answers_with_the_close_one():
    with pytest.raises(UnknownName, match=r"unknown channel 'gyr': did you mean 'gyro'\?"):
        Signals(LAYOUT, np.zeros(5))["gyr"]


def test_a_rig_declares_an_invertible_covariance():
    def rig(std):
        noise = {"gyro": np.array(std)}
        return Rig(
            "r", 1.0, {"measured": LAYOUT}, ["a"], ["v"], np.zeros(11), "wrench", noise=noise
        )

    np.testing.assert_allclose(rig([1.0, 2, 3]).covariance("gyro"), np.diag([1.0, 4, 9]))
    np.testing.assert_allclose(rig([1.0, 2, 3]).covariance("gyro", [2, 0]), np.diag([9.0, 1]))
    assert np.linalg.cond(rig([0.0, 2, 0]).covariance("gyro")) <= 1.0001e6
    limit = LAYOUT.channels["gyro"].limit
    perfect = rig([0.0, 0, 0]).covariance("gyro")  # trusted very much, and not as unit noise
    np.testing.assert_allclose(perfect, (1e-9 * limit) ** 2 * np.eye(3))
    assert rig([1.0, 1, 1]).covariance("nothing") is None
    assert (rig([0.0] * 3).size, rig([0.0] * 3).layout) == (11, LAYOUT)
