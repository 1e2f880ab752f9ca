"""Loads of the papers: they round to what is printed, and are possible bodies."""

from __future__ import annotations

import numpy as np
import pytest

from testbed.core.errors import BadInput
from testbed.inertia import is_consistent
from testbed.plants import Change, Setup, StaubliArm
from testbed.plants.known_loads import KNOWN_LOADS, KUBUS_O1_HALF_DIGIT, KUBUS_O1_PRINTED
from testbed.plants.loads import load_parameters
from tests.plants.plant_runs import matrix, residual


def smallest_eigenvalue(phi):
    """Of the pseudo-inertia [[Σ, h], [hᵀ, m]] with Σ = tr(I)/2·1 − I."""
    I = matrix(phi)
    S = np.trace(I) / 2 * np.eye(3) - I
    return np.linalg.eigvalsh(np.block([[S, phi[1:4, None]], [phi[None, 1:4], phi[:1, None]]]))[0]


def test_every_known_load_is_a_possible_body():
    for name, phi in KNOWN_LOADS.items():
        assert is_consistent(phi), name
        assert smallest_eigenvalue(phi) > 3e-6, name


def test_load_o1_rounds_to_the_printed_digits_and_the_printed_one_is_impossible():
    """1.00 kg, −43.5, 28.5, 22.5 kg·mm, then kg·m²·1e-3 with two decimals."""
    o1 = KNOWN_LOADS["kubus_o1"]
    assert not is_consistent(KUBUS_O1_PRINTED)
    assert smallest_eigenvalue(KUBUS_O1_PRINTED) == pytest.approx(-6.65e-6, abs=0.005e-6)
    assert np.all(np.abs(o1 - KUBUS_O1_PRINTED) < 0.81 * KUBUS_O1_HALF_DIGIT)
    printed = "1.00 -43.5 28.5 22.5 2.21 3.74 4.95 1.22 -0.63 0.96".split()
    shown = [f"{o1[0]:.2f}", *(f"{1e3 * x:.1f}" for x in o1[1:4])]
    shown += [f"{1e3 * x:.2f}" for x in o1[4:]]
    assert shown == printed
    assert smallest_eigenvalue(o1) == pytest.approx(3.38e-6, abs=0.01e-6)


def test_two_blocks_stacked_are_the_sum_of_two_single_ones():
    block, stack = KNOWN_LOADS["kubus_o2"], KNOWN_LOADS["kubus_o2_stacked"]
    up = 0.04  # the second one stands on the first
    m, h, I = block[0], block[1:4], matrix(block)
    c = h / m + [0, 0, up]
    central = I - m * (h @ h / m**2 * np.eye(3) - np.outer(h, h) / m**2)
    second = central + m * (c @ c * np.eye(3) - np.outer(c, c))
    np.testing.assert_allclose(stack[:4], [2 * m, *(h + m * c)], atol=1e-15)
    np.testing.assert_allclose(matrix(stack), I + second, atol=1e-15)
    assert stack[0] == 1.6
    volume = 63.7e-3 * 40e-3 * 40e-3
    assert m / volume == pytest.approx(7850, rel=1e-3)  # steel


def test_a_load_is_attached_by_name_or_by_its_ten_numbers():
    phi = KNOWN_LOADS["kubus_o1"]
    np.testing.assert_array_equal(load_parameters({"load": "kubus_o1"}, "attach"), phi)
    np.testing.assert_array_equal(load_parameters({"phi": list(phi)}, "attach"), phi)
    value = {"load": "kubus_o1", "name": "o1", "velocity": "rest"}
    changes = [Change(at=0.1, kind="attach", body="payload", value=value)]
    plant = StaubliArm(Setup(duration=0.2, changes=changes))
    assert residual(plant) <= 1e-10
    np.testing.assert_array_equal(plant.ledger.parts["payload"]["o1"], phi)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"load": "kubus_01"}, r"attach\.load.*'kubus_01'.*'kubus_o1'"),
        ({"load": 3}, r"attach\.load must be the name"),
        ({"load": "kubus_o1", "mass": 1.0}, r"attach: load says everything.*leave out mass"),
        ({"phi": [1.0, 2.0]}, r"attach\.phi must be 10 .*numbers"),
        ({"phi": list(KUBUS_O1_PRINTED)}, r"attach\.phi is not a possible body"),
        ({"laod": "kubus_o1"}, r"attach.*'laod'.*'load'"),
    ],
)
def test_a_bad_load_is_refused_by_its_key(table, message):
    with pytest.raises(BadInput, match=message):
        load_parameters(table, "attach")
