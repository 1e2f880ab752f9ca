"""Reading and writing other people's parameter orders."""

import numpy as np
import pinocchio as pin
import pytest
from inertia_strategies import random_bodies

from testbed.core.errors import BadInput
from testbed.inertia import ORDERS, from_order, mass_com_inertia, to_order

NAMED = np.array([1.0, 2, 3, 4, 11, 22, 33, 12, 23, 13])  # inertia entries named by their axes


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("testbed", [1, 2, 3, 4, 11, 22, 33, 12, 23, 13]),
        ("rucker", [1, 2, 3, 4, 11, 22, 33, 12, 23, 13]),
        ("lee", [1, 2, 3, 4, 11, 22, 33, 12, 23, 13]),
        ("cho", [1, 2, 3, 4, 11, 22, 33, 23, 13, 12]),
        ("kubus", [1, 2, 3, 4, 11, 12, 13, 22, 23, 33]),
        ("ekal", [11, 22, 33, 12, 13, 23, 2, 3, 4, 1]),
        ("pinocchio", [1, 2, 3, 4, 11, 12, 22, 13, 23, 33]),
    ],
)
def test_permutations(name, written):
    np.testing.assert_array_equal(to_order(NAMED, name), written)
    np.testing.assert_array_equal(from_order(written, name), NAMED)


@pytest.mark.parametrize("name", ORDERS)
def test_round_trip_in_batches(name):
    phi = random_bodies(6).reshape(2, 3, 10)
    np.testing.assert_allclose(from_order(to_order(phi, name), name), phi, rtol=1e-13, atol=1e-15)


def test_every_order_names_all_ten_entries_once():
    for order in ORDERS.values():
        assert sorted(order.entries) == sorted(ORDERS["testbed"].entries)


def test_pinocchio_itself_agrees():
    for phi in random_bodies(5):
        mass, com, inertia = mass_com_inertia(phi)
        vec = pin.Inertia(float(mass), com, inertia).toDynamicParameters()
        np.testing.assert_allclose(to_order(phi, "pinocchio"), vec, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(
            vec[[0, 1, 2, 3, 4, 6, 9, 5, 8, 7]], from_order(vec, "pinocchio")
        )


@pytest.mark.parametrize(
    ("name", "rows", "columns"),
    [
        ("mujoco_fullinertia", [0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]),
        ("urdf", [0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]),
    ],
)
def test_file_formats_are_about_the_centre_of_mass(name, rows, columns):
    phi = random_bodies(1)[0]
    mass, com, inertia = mass_com_inertia(phi)
    expected = np.concatenate([[mass], com, inertia[rows, columns]])
    np.testing.assert_allclose(to_order(phi, name), expected, rtol=1e-14)


def test_an_unknown_order_names_the_close_one_or_all():
    with pytest.raises(BadInput, match="did you mean 'pinocchio'"):
        to_order(NAMED, "pinochio")
    with pytest.raises(BadInput, match="cho, ekal, kubus"):
        from_order(NAMED, "zzz")
