"""How truth changes: loads, scaling, ramps and tanks, against sums and integrals done by hand."""

from __future__ import annotations

import numpy as np
import pytest

from testbed.inertia import is_consistent
from testbed.plants import Change, FreeFlyer, Setup
from testbed.plants.ledger import Tank
from tests.plants.plant_runs import matrix, samples

BOX = {"mass": 1.2, "com": [0.05, -0.1, 0.08], "box": [0.1, 0.2, 0.3]}
TANK = {"radius": 0.1, "length": 0.4, "com": [0.05, 0.1, 0.05], "axis": "x"}


def thetas(*changes, seed=0, duration=3.0, **options):
    """θ (n, 10) of every sample of a flyer, at 20 samples a second."""
    setup = Setup(duration=duration, rate=20.0, truth_error=0.2, changes=changes)
    return np.array([truth.theta for _, truth in samples(FreeFlyer(setup, **options), seed)])


def change(kind, value, at=1.0, until=None, body="body", part=None):
    return Change(
        at=at, until=until, kind=kind, body=body, value=value, part=part, where="change.7"
    )


def release(name, at=2.0):
    return Change(at=at, kind="release", value=name)


def box_by_hand(mass, com, edges):
    """φ of a box, from its second moments about the origin."""
    com, edges = np.array(com), np.array(edges)
    second = mass * (np.diag(edges**2) / 12 + np.outer(com, com))
    I = np.trace(second) * np.eye(3) - second
    return np.array([mass, *mass * com, *np.diag(I), I[0, 1], I[1, 2], I[0, 2]])


def cylinder_by_hand(mass, radius, first, last, com, axis):
    """φ of a cylinder that reaches from `first` to `last` along its axis: Gauss over slices."""
    i = "xyz".index(axis)
    x, w = np.polynomial.legendre.leggauss(4)
    second, moment = np.zeros((3, 3)), np.zeros(3)
    for place, weight in zip((first + last) / 2 + (last - first) / 2 * x, w / 2, strict=True):
        centre = np.array(com, dtype=float)
        centre[i] = place
        disc = np.full(3, radius**2 / 4)
        disc[i] = 0.0
        second += weight * mass * (np.diag(disc) + np.outer(centre, centre))
        moment += weight * mass * centre
    I = np.trace(second) * np.eye(3) - second
    return np.array([mass, *moment, *np.diag(I), I[0, 1], I[1, 2], I[0, 2]])


def test_attach_adds_the_load_and_release_gives_the_body_back():
    theta = thetas(change("attach", BOX | {"name": "box"}), release("box"))
    load = box_by_hand(BOX["mass"], BOX["com"], BOX["box"])
    np.testing.assert_allclose(theta[30] - theta[0], load, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(theta[-1], theta[0])


def test_loads_come_and_go_in_any_order():
    small = {"name": "small", "mass": 0.3, "sphere": 0.1}
    large = {"name": "large", **BOX}
    theta = thetas(
        change("attach", small, at=0.5),
        change("attach", large, at=1.0),
        release("small", at=1.5),
        release("large", at=2.5),
    )
    load = box_by_hand(BOX["mass"], BOX["com"], BOX["box"])
    np.testing.assert_allclose(theta[40] - theta[0], load, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(theta[-1], theta[0])


def test_scaling_multiplies_every_parameter():
    theta = thetas(change("scale", 1.7))
    np.testing.assert_allclose(theta[-1], 1.7 * theta[0], rtol=1e-15)
    gradual = thetas(change("scale", 1.7, until=2.0))
    np.testing.assert_allclose(gradual[-1], 1.7 * theta[0], rtol=1e-14)
    np.testing.assert_allclose(gradual[30], 1.35 * theta[0], rtol=1e-14)


@pytest.mark.parametrize("final", [1.0, 9.0])
def test_a_ramp_reaches_its_mass_linearly_at_constant_shape(final):
    theta = thetas(change("ramp", {"mass": final}, until=2.0))
    mass = np.interp(0.05 * np.arange(len(theta)), [1.0, 2.0], [theta[0, 0], final])
    np.testing.assert_allclose(theta[:, 0], mass, rtol=1e-14)
    np.testing.assert_allclose(
        theta / theta[:, :1], np.tile(theta[0] / theta[0, 0], (61, 1)), rtol=1e-13
    )


def test_a_ramp_of_one_load_leaves_the_rest_alone():
    ramp = change("ramp", {"mass": 0.4}, at=1.5, until=2.5, part="box")
    theta = thetas(change("attach", BOX | {"name": "box"}), ramp)
    load = box_by_hand(BOX["mass"], BOX["com"], BOX["box"])
    np.testing.assert_allclose(theta[-1] - theta[0], load / 3, rtol=0, atol=1e-14)


@pytest.mark.parametrize("axis", ["x", "y", "z"])
def test_a_burn_empties_the_tank_from_its_far_end(axis):
    tank = TANK | {"capacity": 0.8, "axis": axis}
    theta = thetas(change("burn", {"mass": 0.6, "tank": tank}, until=2.0))
    outlet = tank["com"]["xyz".index(axis)] - tank["length"] / 2
    full = cylinder_by_hand(0.8, 0.1, outlet, outlet + 0.4, tank["com"], axis)
    for k in (20, 21, 25, 33, 40, 60):
        left = 0.8 - 0.6 * np.clip(0.05 * k - 1.0, 0.0, 1.0)
        fill = outlet + 0.4 * left / 0.8
        content = cylinder_by_hand(left, 0.1, outlet, fill, tank["com"], axis)
        np.testing.assert_allclose(theta[k], theta[0] - full + content, rtol=0, atol=1e-14)
    centre = theta[:, 1:4] / theta[:, :1]
    assert np.abs(centre[-1] - centre[0]).max() > 1e-3
    assert np.all(np.linalg.norm([matrix(t - theta[0]) for t in theta[21:]], axis=(1, 2)) > 1e-5)


def test_a_tank_empties_completely():
    np.testing.assert_array_equal(Tank(capacity=0.5).content(0.0), np.zeros(10))
    theta = thetas(change("burn", {"mass": 0.5, "tank": TANK}, until=2.0))
    full = cylinder_by_hand(0.5, 0.1, -0.15, 0.25, TANK["com"], "x")
    np.testing.assert_allclose(theta[-1], theta[0] - full, rtol=0, atol=1e-14)


def test_two_tanks_that_open_together_both_empty():
    other = TANK | {"com": [-0.1, 0.0, 0.1], "axis": "z"}
    burn = [change("burn", {"mass": 0.3, "tank": t}, until=2.0) for t in (TANK, other)]
    alone = [thetas(b) for b in burn]
    both = thetas(*burn)
    np.testing.assert_allclose(both - both[0], sum(t - t[0] for t in alone), rtol=0, atol=1e-14)


@pytest.mark.parametrize("rate", [10.0, 20.0, 80.0])
def test_overlapping_changes_compose_whatever_the_rate(rate):
    """Scaling while fuel burns scales what is left of the fuel too."""
    changes = [
        change("burn", {"mass": 0.5, "tank": TANK | {"capacity": 0.6}}, at=0.5, until=2.5),
        change("scale", 2.0, at=1.0, until=2.0),
        change("scale", 1.5, at=1.3, until=2.7),
        change("attach", BOX, at=3.0),
    ]
    setup = Setup(duration=4.0, rate=rate, truth_error=0.2, changes=changes)
    theta = [truth.theta for _, truth in samples(FreeFlyer(setup), 0)]
    full = cylinder_by_hand(0.6, 0.1, -0.15, 0.25, TANK["com"], "x")
    left = cylinder_by_hand(0.1, 0.1, -0.15, -0.15 + 0.4 / 6, TANK["com"], "x")
    wanted = 3.0 * (theta[0] - full + left) + box_by_hand(BOX["mass"], BOX["com"], BOX["box"])
    np.testing.assert_allclose(theta[-1], wanted, rtol=0, atol=1e-13)


def test_every_state_on_the_way_is_a_possible_body():
    theta = thetas(
        change("burn", {"mass": 0.5, "tank": TANK}, at=0.2, until=2.5),
        change("attach", BOX | {"name": "box"}, at=0.5),
        change("ramp", {"mass": 0.1}, at=0.6, until=1.5, part="box"),
        change("scale", 0.3, at=1.0, until=2.9),
        release("box", at=2.0),
        fuel={"mass": 0.4, "isp": 3.0},
    )
    assert len(np.unique(theta, axis=0)) > 50
    assert np.all(is_consistent(theta))


def test_thrust_burns_fuel_by_the_rocket_equation_and_an_empty_tank_gives_none():
    fuel = {"mass": 0.3, "isp": 2.0, "arm": 0.4}
    plant = FreeFlyer(Setup(duration=5.0, truth_error=0.2), fuel=fuel)
    pairs = list(samples(plant, 1))
    force = np.abs([truth.clean["wrench"] for _, truth in pairs])[1:]
    used = np.cumsum(force[:, :3].sum(1) + force[:, 3:].sum(1) / 0.4) * plant.dt / (2.0 * 9.80665)
    mass = np.array([truth.theta[0] for _, truth in pairs])
    np.testing.assert_allclose(mass[0] - mass[2:], np.minimum(used[:-1], 0.3), rtol=0, atol=1e-14)
    assert used[-1] >= 0.3
    np.testing.assert_array_equal(pairs[-1][1].clean["wrench"], np.zeros(6))


def test_fuel_follows_when_the_body_is_scaled():
    fuel = {"mass": 0.3, "isp": 2.0}
    plain = thetas(fuel=fuel)
    double = thetas(change("scale", 2.0, at=0.5), fuel=fuel)
    assert plain[0, 0] - plain[-1, 0] > 0.05
    np.testing.assert_allclose(double[11:], 2.0 * plain[11:], rtol=0, atol=1e-14)


def test_a_released_tank_takes_its_fuel_along():
    theta = thetas(change("burn", {"mass": 0.5, "tank": TANK}, until=3.0), release("fuel@1"))
    full = cylinder_by_hand(0.5, 0.1, -0.15, 0.25, TANK["com"], "x")
    np.testing.assert_allclose(theta[-1], theta[0] - full, rtol=0, atol=1e-14)
    theta = thetas(release("fuel"), fuel={"mass": 0.5, "isp": 2.0})
    assert abs(theta[0, 0] - theta[-1, 0] - 0.5) < 1e-14
