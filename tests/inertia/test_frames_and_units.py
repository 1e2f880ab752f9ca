"""Frame changes form a group that acts on bodies; joining bodies commutes with it."""

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from inertia_strategies import bodies, frames, laws, natural_error, random_bodies, rotations, units

from testbed.core.errors import BadInput
from testbed.inertia import (
    body_parameters,
    change_frame,
    change_units,
    combine,
    is_consistent,
    mass_com_inertia,
    spatial_inertia,
)


@laws
@given(bodies, frames)
def test_centre_moves_as_a_point_and_inertia_as_a_tensor(phi, frame):
    R, p = frame
    mass, com, inertia = mass_com_inertia(phi)
    expected = body_parameters(mass, R @ com + p, R @ inertia @ R.T)
    assert natural_error(change_frame(phi, R, p), expected) < 1e-11


@laws
@given(bodies, frames, frames)
def test_change_frame_is_a_group_action(phi, first, second):
    (R1, p1), (R2, p2) = first, second
    twice = change_frame(change_frame(phi, R1, p1), R2, p2)
    once = change_frame(phi, R2 @ R1, R2 @ p1 + p2)
    assert natural_error(twice, once) < 1e-11


@laws
@given(bodies, frames)
def test_the_inverse_frame_undoes_the_change(phi, frame):
    R, p = frame
    back = change_frame(change_frame(phi, R, p), R.T, -R.T @ p)
    assert natural_error(back, phi) < 1e-11


@laws
@given(bodies, bodies, frames)
def test_joining_commutes_with_frame_changes(a, b, frame):
    seen = combine(change_frame(a, *frame), change_frame(b, *frame))
    assert natural_error(seen, change_frame(combine(a, b), *frame)) < 1e-11
    assert is_consistent(seen)


@laws
@given(bodies, units, rotations)
def test_unit_changes_invert_and_commute_with_rotation(phi, unit, R):
    mass, length = unit
    there = change_units(phi, mass, length)
    np.testing.assert_allclose(change_units(there, 1 / mass, 1 / length), phi, rtol=1e-14)
    turned = change_frame(there, R, np.zeros(3))
    assert (
        natural_error(turned, change_units(change_frame(phi, R, [0, 0, 0]), mass, length)) < 1e-11
    )


def test_change_frame_agrees_with_pinocchio_se3_action():
    rng = np.random.default_rng(0)
    for phi in random_bodies(10):
        R, p = pin.exp3(rng.normal(size=3)), rng.normal(size=3)
        mass, com, inertia = mass_com_inertia(phi)
        moved = pin.SE3(R, p).act(pin.Inertia(float(mass), com, inertia))
        swap = [3, 4, 5, 0, 1, 2]
        np.testing.assert_allclose(
            spatial_inertia(change_frame(phi, R, p)),
            moved.matrix()[np.ix_(swap, swap)],
            rtol=0,
            atol=1e-12 * np.abs(moved.matrix()).max(),
        )


def test_frames_broadcast_over_bodies():
    phi, rng = random_bodies(3), np.random.default_rng(0)
    R = np.array([pin.exp3(rng.normal(size=3)) for _ in range(4)])[:, None]  # (4, 1, 3, 3)
    p = rng.normal(size=3)
    seen = change_frame(phi, R, p)
    assert seen.shape == (4, 3, 10)
    np.testing.assert_allclose(seen[2, 1], change_frame(phi[1], R[2, 0], p), rtol=1e-13, atol=1e-14)


def test_combine_refuses_an_impossible_part():
    phi = random_bodies(1)[0]
    with pytest.raises(BadInput, match="phi_b is not physically consistent"):
        combine(phi, -phi)


@pytest.mark.parametrize("unit", [{"mass": 0.0}, {"length": -1.0}, {"mass": np.nan}])
def test_units_must_be_positive(unit):
    with pytest.raises(BadInput, match="units must be positive"):
        change_units(np.ones(10), **unit)
