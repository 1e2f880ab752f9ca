"""Which bodies are possible, and that margin and verdict never contradict each other."""

import numpy as np
import pytest
from hypothesis import given
from inertia_strategies import bodies, frames, laws, random_bodies, rotations, units, vectors

from testbed.inertia import (
    body_parameters,
    change_frame,
    change_units,
    consistency_margin,
    from_order,
    from_pseudo_inertia,
    is_consistent,
    pseudo_inertia,
    sphere,
)


@pytest.mark.parametrize(
    ("moments", "possible"),
    [
        ([1.0, 1.0, 1.0], True),
        ([1.0, 1.0, 1.99], True),
        ([1.0, 1.0, 2.0], False),  # a lamina: needs infinite density
        ([1.0, 1.0, 2.01], False),  # positive definite, yet it breaks the triangle inequality
        ([1.0, 2.01, 1.0], False),
        ([-1.0, 1.0, 1.0], False),
        ([0.0, 0.0, 0.0], False),  # a point mass
    ],
)
def test_triangle_inequality_decides(moments, possible):
    phi = body_parameters(1.0, np.zeros(3), np.diag(moments))
    assert is_consistent(phi) == possible
    assert (consistency_margin(phi) > 0) == possible
    assert (consistency_margin(phi, scale_free=True) > 0) == possible


def test_inertia_about_the_origin_cannot_save_a_body_impossible_about_its_centre():
    phi = body_parameters(1.0, [1.0, 0.0, 0.0], np.diag([1.0, 1.0, 2.1]))
    assert np.all(np.linalg.eigvalsh(phi[4:7] * np.eye(3)) > 0)
    assert not is_consistent(phi)


def test_the_printed_parameters_of_kubus_load_o1_are_impossible():
    """Rounded to the printed digits, the load is off by a hair (Kubus 2008, section V-A)."""
    printed = [
        1.0,
        -43.5e-3,
        28.5e-3,
        22.5e-3,
        2.21e-3,
        1.22e-3,
        0.96e-3,
        3.74e-3,
        -0.63e-3,
        4.95e-3,
    ]
    phi = from_order(printed, "kubus")
    assert not is_consistent(phi)
    assert consistency_margin(phi) == pytest.approx(-6.65e-6, abs=5e-9)


@pytest.mark.parametrize(
    ("body", "smallest"),
    [
        ([1.5, 2, 3, 0.1, 0.2, 0.3, 0.25, 0.5, 0.25, 5], 0.10),
        ([2.08, 3.19, 4.06, -0.0487, 0.0739, -0.0655, -0.8, 0.6, 1.5, 10], 0.37),
        ([5, 5, 5, 0, 0, 0, 0.5, 1, 0.5, 5], 2.0),
        ([0.0453, 0.0417, 0.0519, 0, 0, 0, 0, 0, 0, 6.047], 0.0175),
    ],
)
def test_the_bodies_of_ekal_and_ventura_are_possible(body, smallest):
    phi = from_order(body, "ekal")
    assert is_consistent(phi)
    assert consistency_margin(phi) == pytest.approx(smallest, rel=0.06)


@laws
@given(vectors(10, 1.0), rotations)
def test_verdict_is_positive_definiteness_and_margin_is_the_smallest_eigenvalue(x, R):
    phi = x + 0.5 * np.array([1, 0, 0, 0, 1, 1, 1, 0, 0, 0])
    smallest = np.linalg.eigvalsh(pseudo_inertia(phi))[0]
    if abs(smallest) > 1e-12:
        assert is_consistent(phi) == (smallest > 0)
        np.testing.assert_allclose(consistency_margin(phi), smallest, rtol=1e-9, atol=1e-15)
        turned = change_frame(phi, R, np.zeros(3))
        np.testing.assert_allclose(consistency_margin(turned), smallest, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("scale_free", [False, True])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("entry", range(10))
def test_nothing_non_finite_is_consistent(bad, entry, scale_free):
    phi = sphere(1.0, 0.1)
    phi[entry] = bad
    assert not is_consistent(phi)
    assert consistency_margin(phi, scale_free) == (-3.0 if scale_free else -np.inf)


@pytest.mark.parametrize("mass", [0.0, -0.0, -1.0])
def test_massless_bodies_are_inconsistent_with_finite_margins(mass):
    phi = sphere(1.0, 0.1)
    phi[0] = mass
    assert not is_consistent(phi)
    assert -1.0 <= consistency_margin(phi) <= 0.0
    assert consistency_margin(phi, scale_free=True) == -3.0


def test_scale_free_margin_is_one_for_a_ball_and_minus_three_at_worst():
    assert consistency_margin(sphere(3.0, 0.2, [1.0, 2.0, 3.0]), True) == pytest.approx(1, abs=1e-9)
    worst = from_pseudo_inertia(np.diag([-0.0, -0.0, -1.0, 1.0]))
    assert consistency_margin(worst, True) == pytest.approx(-3.0)


@laws
@given(bodies, frames, units)
def test_scale_free_margin_ignores_frames_and_units(phi, frame, unit):
    seen = change_units(change_frame(phi, *frame), *unit)
    margins = consistency_margin(np.array([phi, seen]), scale_free=True)
    assert 0.0 < margins[0] <= 1.0 + 1e-12
    np.testing.assert_allclose(*margins, rtol=1e-9)


def test_one_bad_body_does_not_spoil_its_batch():
    phi = random_bodies(4)
    phi[2, 0] = np.nan
    np.testing.assert_array_equal(is_consistent(phi), [True, True, False, True])
    margins = consistency_margin(phi)
    np.testing.assert_array_equal(margins[[0, 1, 3]], consistency_margin(phi[[0, 1, 3]]))


def test_margin_and_verdict_agree_at_the_boundary():
    flat = from_pseudo_inertia(np.diag([1.0, 1.0, 1.0, 1.0]))
    heights = np.concatenate([10.0 ** np.arange(-20, -10), -(10.0 ** np.arange(-20, -10)), [0.0]])
    phi = np.array([from_pseudo_inertia(np.diag([1.0, 1.0, e, 1.0])) for e in heights])
    phi = np.concatenate([phi, [flat], change_frame(phi, np.eye(3), [0.3, 0.1, 0.7])])
    for scale_free in (False, True):
        np.testing.assert_array_equal(consistency_margin(phi, scale_free) > 0, is_consistent(phi))
