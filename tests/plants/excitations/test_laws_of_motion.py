"""Laws of every excitation: exact derivatives, rest at both ends, limits kept, seeds."""

from itertools import pairwise

import numpy as np
import pytest

from testbed.core.errors import BadInput
from tests.plants.excitations.excitation_plans import FORCES, JOINTS, SECONDS, make, plan, slope

ANY_TIME = np.random.default_rng(7).uniform(0.01, SECONDS - 0.01, 300)
DENSE = np.linspace(0.0, SECONDS, 12_001)


@pytest.mark.parametrize("name", JOINTS)
def test_velocity_and_acceleration_are_the_derivatives(name):
    motion = make(JOINTS[name])
    _, v, a = motion(ANY_TIME)
    for order, exact in ((0, v), (1, a)):
        got = slope(lambda t, order=order: motion(t)[order], ANY_TIME, 1e-4)
        np.testing.assert_allclose(got, exact, rtol=0, atol=1e-8 * max(1.0, np.abs(a).max()))


@pytest.mark.parametrize("name", JOINTS)
def test_nothing_jumps_but_the_jerk(name):
    """Over a short time a quantity changes by no more than its derivative allows."""
    dt = DENSE[1]
    motion = make(JOINTS[name])(DENSE)
    for x, rate in pairwise(motion):
        most = np.maximum(np.abs(rate[1:]), np.abs(rate[:-1])) * dt
        assert np.all(np.abs(np.diff(x, axis=0)) <= most + 1e-3 * dt * (1 + np.abs(rate).max()))


@pytest.mark.parametrize("name", JOINTS)
def test_starts_and_ends_at_rest(name):
    _, v, a = make(JOINTS[name])(np.array([0.0, SECONDS, SECONDS + 3.0]))
    assert np.abs(v).max() == 0.0
    assert np.abs(a).max() == 0.0


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", JOINTS)
def test_keeps_position_and_speed_limits_everywhere(name, seed):
    p = plan()
    q, v, _ = make(JOINTS[name], seed=seed)(DENSE)
    assert np.all((q >= p.lower) & (q <= p.upper))
    assert np.all(np.abs(v) <= p.speed)


@pytest.mark.parametrize("name", ["chirp", "prbs", "filtered_random"])
def test_amplitude_is_a_share_of_the_limits(name):
    p = plan()
    room = np.minimum(p.upper - p.home, p.home - p.lower)
    for share in (0.0, 0.25, 1.0):
        q, v, _ = make({"use": name, "amplitude": share})(DENSE)
        used = np.maximum(np.abs(q - p.home) / room, np.abs(v) / p.speed).max(axis=0)
        assert np.all(used <= share + 1e-12)
        assert np.all(used >= 0.97 * share)


@pytest.mark.parametrize("name", ["chirp", "prbs", "filtered_random"])
def test_a_run_too_long_for_a_grid_is_scaled_by_its_bound(name):
    motion = make({"use": name, "amplitude": 1.0}, seconds=1e5)
    p = plan()
    for start in (0.0, 5e4, 1e5 - 10):
        q, v, _ = motion(start + np.linspace(0, 10, 10_001))
        assert np.all((q >= p.lower) & (q <= p.upper))
        assert np.all(np.abs(v) <= p.speed)
    assert np.abs(v).max() > 0


@pytest.mark.parametrize("name", FORCES)
def test_forces_start_from_zero_and_keep_their_limits(name):
    share = {} if name == "rest" else {"amplitude": 1.0}
    f, _, _ = make({"use": name, **share}, forces=True)(DENSE)
    assert np.all(f[0] == 0.0)
    assert np.all((f >= -1.5) & (f <= 2.0))
    assert name == "rest" or np.abs(f).max() > 0.5


@pytest.mark.parametrize("name", JOINTS)
def test_a_seed_decides_every_bit(name):
    one, same, other = (make(JOINTS[name], seed=s)(ANY_TIME)[0] for s in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    if name not in ("rest", "fourier_kubus"):
        assert not np.array_equal(one, other)


@pytest.mark.parametrize("name", JOINTS)
def test_times_can_be_asked_for_in_any_blocks(name):
    motion = make(JOINTS[name])
    whole = motion(DENSE[::12])
    parts = [motion(t) for t in np.array_split(DENSE[::12], 7)]
    for i in range(3):
        np.testing.assert_array_equal(whole[i], np.concatenate([p[i] for p in parts]))


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ({"use": "chirp", "amplitude": 1.5}, "excitation.amplitude"),
        ({"use": "chirp", "amplitude": -0.1}, "excitation.amplitude"),
        ({"use": "chirp", "start_hz": 0.0}, "excitation.start_hz"),
        ({"use": "chirp", "start_hz": [1.0, 2.0]}, "excitation.start_hz"),
        ({"use": "chirp", "end_hz": [1.0, -1.0, 1.0, 1.0]}, "excitation.end_hz.1"),
        ({"use": "chirp", "sweep": "quadratic"}, "excitation.sweep"),
        ({"use": "chirp", "lead_in": 4.0, "lead_out": 4.0}, "excitation.lead_out"),
        ({"use": "chirp", "lead_in": -1.0}, "excitation.lead_in"),
        ({"use": "chirp", "hertz": 1.0}, "hertz"),
        ({"use": "prbs", "bit": 0.0}, "excitation.bit"),
        ({"use": "prbs", "rise": 0.0}, "excitation.rise"),
        ({"use": "prbs", "rise": 0.6}, "excitation.rise"),
        ({"use": "prbs", "order": 2}, "excitation.order"),
        ({"use": "filtered_random", "low_hz": 3.0}, "excitation.low_hz"),
        ({"use": "filtered_random", "high_hz": float("inf")}, "excitation.high_hz"),
        ({"use": "filtered_random", "lines": 0}, "excitation.lines"),
        ({"use": "moves", "poses": [[0.0, 0.0]]}, "excitation.poses"),
        ({"use": "moves", "poses": [[0.0, 0.0, 0.0, 9.0]]}, "excitation.poses.0"),
        ({"use": "moves", "poses": [[0.0, 0.0, 0.0, float("nan")]]}, "excitation.poses"),
        ({"use": "moves", "poses": [[0.0] * 4] * 9}, "excitation.poses"),
        ({"use": "moves", "poses": [[0.0] * 4], "count": 2}, "excitation.count"),
        ({"use": "moves", "count": 50}, "excitation.move"),
        ({"use": "moves", "move": 100.0}, "excitation.move"),
        ({"use": "moves", "profile": "cubic"}, "excitation.profile"),
        ({"use": "moves", "dwell": -1.0}, "excitation.dwell"),
    ],
)
def test_bad_values_are_refused_by_name(table, key):
    with pytest.raises(BadInput, match=key.replace(".", r"\.")):
        make(table)


def test_a_number_that_is_none_is_refused_by_name():
    with pytest.raises(BadInput, match="amplitude"):
        make({"use": "chirp", "amplitude": float("nan")})
