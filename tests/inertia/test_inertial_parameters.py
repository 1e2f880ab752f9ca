"""The value type: what it accepts, what it says, that it can't be changed."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from inertia_strategies import bodies, laws, natural_error

from testbed.core.errors import BadInput
from testbed.inertia import InertialParameters, box, sphere


def ball():
    return InertialParameters(2.0, [0.1, 0.0, -0.3], 0.02 * np.eye(3))


@laws
@given(bodies)
def test_round_trip(phi):
    assert natural_error(InertialParameters.from_phi(phi).phi, phi) < 1e-11


def test_prints_one_line_with_units():
    assert str(ball()) == (
        "mass 2 kg, com [0.1, 0, -0.3] m, "
        "inertia about com [xx 0.02, yy 0.02, zz 0.02, xy 0, yz 0, xz 0] kg·m²"
    )


@pytest.mark.parametrize(
    ("mass", "com", "inertia", "message"),
    [
        (-1, [0, 0, 0], np.eye(3), "mass must be positive, got -1"),
        (0, [0, 0, 0], np.eye(3), "mass must be positive, got 0"),
        (np.nan, [0, 0, 0], np.eye(3), "mass must be finite"),
        (1, [0, np.inf, 0], np.eye(3), "com must be finite"),
        (1, [0, 0, 0], np.nan * np.eye(3), "inertia must be finite"),
        (1, [0, 0, 0], np.diag([1, -1, 1]), "positive definite: smallest principal moment -1"),
        (1, [0, 0, 0], np.diag([1, 3, 1]), r"triangle inequality: .* 1 \+ 1 > 3"),
        (1, [0, 0, 0], np.eye(3) + np.eye(3, k=1), "inertia must be symmetric"),
        (1, [0, 0], np.eye(3), r"com must have shape \(..., 3\), got \(2,\)"),
        (1, [0, 0, 0], np.ones(6), r"inertia must have shape \(..., 3, 3\), got \(6,\)"),
        ([1, 2], [0, 0, 0], np.eye(3), "one body"),
        ("heavy", [0, 0, 0], np.eye(3), "mass must be numeric"),
    ],
)
def test_says_which_condition_fails(mass, com, inertia, message):
    with pytest.raises(BadInput, match=message):
        InertialParameters(mass, com, inertia)


@pytest.mark.parametrize(
    ("phi", "message"),
    [
        (-sphere(1.0, 0.1), "mass must be positive, got -1"),
        (np.full(10, np.nan), "phi must be finite"),
        (np.ones((2, 10)), r"phi must have shape \(10,\), got \(2, 10\)"),
        (np.ones(9), r"phi must have shape \(..., 10\), got \(9,\)"),
        (sphere(1.0, 0.1) + np.eye(10)[4], "triangle inequality"),
    ],
)
def test_from_phi_says_which_condition_fails(phi, message):
    with pytest.raises(BadInput, match=message):
        InertialParameters.from_phi(phi)


def test_cannot_be_changed_not_even_through_its_arrays():
    body, inertia = ball(), np.eye(3)
    with pytest.raises(dataclasses.FrozenInstanceError):
        body.mass = 3.0
    with pytest.raises(ValueError, match="read-only"):
        body.com[0] = 1.0
    mine = InertialParameters(1.0, np.zeros(3), inertia)
    inertia[0, 0] = 99.0
    assert mine.inertia[0, 0] == 1.0


def test_equal_bodies_are_equal_and_hash_alike():
    assert ball() == ball()
    assert hash(ball()) == hash(ball())
    assert ball() != InertialParameters.from_phi(box(2.0, [0.1, 0.1, 0.2]))
    assert ball() != "ball"
    plus, minus = (InertialParameters(1.0, [zero, 0, 0], np.eye(3)) for zero in (0.0, -0.0))
    assert plus == minus
    assert hash(plus) == hash(minus)
