"""Solids against summation, against each other, and the ellipsoid that stands for a body."""

import numpy as np
import pytest
from hypothesis import given
from inertia_strategies import bodies, laws, natural_error
from scipy.spatial.transform import Rotation

from testbed.core.errors import BadInput
from testbed.inertia import (
    box,
    change_frame,
    cylinder,
    ellipsoid,
    equivalent_ellipsoid,
    from_pseudo_inertia,
    is_consistent,
    sphere,
)

R = Rotation.from_rotvec([0.3, -0.7, 0.2]).as_matrix()
COM = np.array([0.2, -0.1, 0.4])


def phi_of_grid(inside, half_size):
    """Parameters of 1 kg spread over the midpoints of a fine grid that lie inside."""
    ticks = (np.arange(60) + 0.5) / 30 - 1
    x = half_size * np.stack(np.meshgrid(ticks, ticks, ticks), axis=-1).reshape(-1, 3)
    q = x[inside(x)] @ R.T + COM
    q = np.column_stack([q, np.ones(len(q))])
    return from_pseudo_inertia(q.T @ q / len(q))


@pytest.mark.parametrize(
    ("phi", "inside", "half_size"),
    [
        (box(1.0, [0.2, 0.4, 0.6], COM, R), lambda x: x[:, 0] < 9, [0.1, 0.2, 0.3]),
        (
            ellipsoid(1.0, [0.1, 0.2, 0.3], COM, R),
            lambda x: np.sum((x / [0.1, 0.2, 0.3]) ** 2, axis=1) <= 1,
            [0.1, 0.2, 0.3],
        ),
        (
            cylinder(1.0, 0.1, 0.6, "y", COM, R),
            lambda x: x[:, 0] ** 2 + x[:, 2] ** 2 <= 0.01,
            [0.1, 0.3, 0.1],
        ),
    ],
    ids=["box", "ellipsoid", "cylinder"],
)
def test_closed_forms_match_summation(phi, inside, half_size):
    summed = phi_of_grid(inside, np.array(half_size))
    assert natural_error(summed, phi) < 2e-3


@pytest.mark.parametrize("shape", [box, ellipsoid])
def test_placing_a_solid_is_changing_its_frame(shape):
    size = [0.2, 0.4, 0.6]
    placed = shape(2.0, size, COM, R)
    np.testing.assert_allclose(
        placed, change_frame(shape(2.0, size), R, COM), rtol=1e-13, atol=1e-15
    )


def test_textbook_values():
    np.testing.assert_allclose(box(12.0, [1, 2, 3])[4:7], [13, 10, 5], rtol=1e-15)
    np.testing.assert_allclose(sphere(5.0, 2.0)[4:7], [8, 8, 8], rtol=1e-15)
    np.testing.assert_allclose(cylinder(12.0, 2.0, 1.0)[4:7], [13, 13, 24], rtol=1e-15)
    np.testing.assert_allclose(cylinder(12.0, 2.0, 1.0, "x")[4:7], [24, 13, 13], rtol=1e-15)


def test_two_half_boxes_make_a_box():
    halves = box([1.0, 1.0], [0.1, 0.2, 0.3], [[0.05, 0, 0], [-0.05, 0, 0]])
    np.testing.assert_allclose(
        halves.sum(axis=0), box(2.0, [0.2, 0.2, 0.3]), rtol=1e-13, atol=1e-17
    )


def test_solids_broadcast():
    masses = np.array([[1.0], [2.0]])  # (2, 1)
    radii = np.array([0.1, 0.2, 0.3])
    for phi in (cylinder(masses, radii, 0.5), sphere(masses, radii)):
        assert phi.shape == (2, 3, 10)
        assert is_consistent(phi).all()
    np.testing.assert_array_equal(cylinder(masses, radii, 0.5)[1, 2], cylinder(2.0, 0.3, 0.5))


@laws
@given(bodies)
def test_equivalent_ellipsoid_has_the_same_inertia(phi):
    centre, semi_axes, turn = equivalent_ellipsoid(phi)
    assert natural_error(ellipsoid(phi[0], semi_axes, centre, turn), phi) < 1e-10
    np.testing.assert_allclose(turn @ turn.T, np.eye(3), atol=1e-13)
    assert np.linalg.det(turn) > 0


def test_equivalent_ellipsoid_of_an_ellipsoid_is_itself():
    small = Rotation.from_rotvec([0.1, -0.2, 0.1]).as_matrix()
    centre, semi_axes, turn = equivalent_ellipsoid(ellipsoid(2.0, [0.3, 0.1, 0.2], COM, small))
    np.testing.assert_allclose(centre, COM, rtol=1e-14)
    np.testing.assert_allclose(semi_axes, [0.3, 0.1, 0.2], rtol=1e-12)
    np.testing.assert_allclose(turn, small, atol=1e-12)


@pytest.mark.parametrize(
    "make",
    [
        lambda: box(-1.0, [1, 1, 1]),
        lambda: box(1.0, [1, 0, 1]),
        lambda: sphere(1.0, np.nan),
        lambda: cylinder(1.0, 1.0, np.inf),
        lambda: cylinder(1.0, 1.0, 1.0, axis="w"),
        lambda: ellipsoid(1.0, [1, 1]),
    ],
)
def test_impossible_sizes_are_refused(make):
    with pytest.raises(BadInput):
        make()
