"""Streaming derivatives against what they must equal: exact polynomials, SciPy, batch smoothing."""

import numpy as np
import pytest
from scipy.signal import butter, savgol_coeffs, sosfilt, sosfilt_zi

from testbed.core.errors import BadInput
from testbed.plants.staubli_arm import StaubliArm
from testbed.sensors import Derived, make_deriver
from testbed.sensors.derive import KEYS, NOT_CAUSAL
from testbed.sensors.filters import noise_gain
from testbed.sensors.kalman import KalmanSmoother, model, noise_ratio, steady

DT = 1e-3
WAYS = [how for how in KEYS if how != "kinematics"]


def deriver(how, order=1, size=2, declared=None, **params):
    return make_deriver(Derived(how, "q", order, params, "signals.x.v"), size, DT, declared)


def stream(d, y):
    """Everything the deriver says (n, size)."""
    d.reset()
    return np.array([d.step(row) for row in y])


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("order", [1, 2])
def test_a_parabola_has_the_derivatives_of_a_parabola(how, order):
    t, scale = DT * np.arange(3000)[:, None], np.array([1.0, -2.0])
    y = (1 + 3 * t + 5 * t**2) * scale
    truth = ((3 + 10 * t) if order == 1 else (10 + 0 * t)) * scale
    d = deriver(how, order)
    got = stream(d, y)[2000:]
    late = 0.0  # seconds, where a slope tells it
    if order == 1:
        # A difference is that of the middle of its interval; a low-pass has its group delay.
        delay = np.sqrt(2) / (2 * np.pi * 15.0) if how == "butterworth" else 0.0
        late = delay + (DT / 2 if how in ("butterworth", "finite_difference") else 0.0)
    error = got - (truth[2000 - d.lag : 3000 - d.lag] - 10 * late * scale)
    assert np.abs(error).max() < 1e-4 * np.abs(truth).max()


@pytest.mark.parametrize("how", WAYS)
def test_what_is_marked_causal_does_not_look_ahead_and_lag_says_how_far_the_others_do(how):
    d = deriver(how)
    assert d.causal == (how not in NOT_CAUSAL) == (d.lag == 0)
    y = np.random.default_rng(0).normal(size=(1500, 2))
    other = y.copy()
    other[1200:] += 1.0
    one, two = stream(d, y), stream(d, other)
    np.testing.assert_array_equal(one[:1200], two[:1200])
    assert np.all(one[1200 + d.lag] != two[1200 + d.lag])


@pytest.mark.parametrize("how", WAYS)
def test_it_says_nothing_until_it_has_settled_then_always_something(how):
    d = deriver(how)
    got = stream(d, np.random.default_rng(0).normal(size=(3000, 2)))
    known = ~np.isnan(got).any(axis=1)
    first = int(np.argmax(known))
    assert 0 < first < 1500
    assert np.all(known[first:])
    assert not np.any(known[:first])


@pytest.mark.parametrize("how", WAYS)
def test_reset_forgets_everything(how):
    y = np.random.default_rng(0).normal(size=(800, 2))
    d = deriver(how)
    first = stream(d, y)
    np.testing.assert_array_equal(stream(d, y), first)


@pytest.mark.parametrize("how", WAYS)
def test_a_missing_sample_does_not_poison_what_follows(how):
    t = DT * np.arange(3000)[:, None]
    y = np.concatenate([3 * t, 1 - t], axis=1)
    y[1500] = y[2000:2003] = np.nan
    got = stream(deriver(how), y)[1400:]
    assert np.all(np.isfinite(got))
    level = 0.5 if how == "butterworth" else 1e-6  # a held value is a jump for a low-pass
    assert np.abs(got - [3.0, -1.0]).max() < level
    late = np.full((3000, 2), np.nan)
    late[5:] = y[5:]  # nothing comes at the start
    assert np.all(np.isfinite(stream(deriver(how), late)[1400:]))


def test_savgol_is_the_polynomial_fit_over_the_last_samples():
    y = np.random.default_rng(0).normal(size=(200, 2))
    got = stream(deriver("savgol", order=1, window=15, degree=3), y)
    t = DT * np.arange(-14, 1)
    for k in (14, 100, 199):
        fit = np.polynomial.polynomial.polyfit(t, y[k - 14 : k + 1], 3)
        np.testing.assert_allclose(got[k], fit[1], rtol=1e-6)
    centred = deriver("savgol_centred", order=2, window=15, degree=3)
    weights = savgol_coeffs(15, 3, deriv=2, delta=DT, use="dot")
    np.testing.assert_allclose(stream(centred, y)[100], weights @ y[86:101], rtol=1e-9)
    assert centred.lag == 7


@pytest.mark.parametrize("poles", [1, 2, 3, 5])
def test_butterworth_is_scipys_filter_and_a_difference(poles):
    y = np.random.default_rng(0).normal(size=(1000, 2)).cumsum(axis=0)
    sos = butter(poles, 15.0, fs=1000.0, output="sos")
    zi = sosfilt_zi(sos)[:, :, None] * y[0]
    smooth, _ = sosfilt(sos, y, axis=0, zi=zi)
    got = stream(deriver("butterworth", hz=15.0, poles=poles), y)
    known = ~np.isnan(got[:, 0])
    expected = np.vstack([np.full((1, 2), np.nan), np.diff(smooth, axis=0) / DT])
    np.testing.assert_allclose(got[known], expected[known], rtol=1e-9, atol=1e-9)


def test_the_model_is_that_of_white_snap_integrated_four_times():
    F, Q = model()
    i = np.arange(4)
    f = np.array([6.0, 2.0, 1.0, 1.0])  # (3 − i)!
    np.testing.assert_allclose(Q, 1 / (np.outer(f, f) * (7 - i[:, None] - i)), rtol=1e-13)
    np.testing.assert_allclose(F[0], [1, 1, 1 / 2, 1 / 6], rtol=1e-13)


@pytest.mark.parametrize("ratio", [1e-24, 1e-12, 1e-6, 1.0, 1e6])
def test_the_steady_gain_is_where_the_riccati_recursion_stays(ratio):
    F, K, P, filtered = steady(ratio)
    _, Q = model()
    np.testing.assert_allclose(F @ filtered @ F.T + ratio * Q, P, rtol=1e-9, atol=1e-12 * P.max())
    assert np.abs(np.linalg.eigvals(F - np.outer(K, F[0]))).max() < 1


def test_the_poles_lie_where_the_module_says():
    snap, std = 2000.0, 1e-5
    F, K, _, _ = steady(noise_ratio(snap, std, DT))
    poles = np.log(np.linalg.eigvals(F - np.outer(K, F[0])).astype(complex)) / DT
    np.testing.assert_allclose(np.abs(poles), (snap / (std**2 * DT)) ** 0.125, rtol=0.02)


def test_the_fixed_lag_smoother_is_the_rts_pass_over_its_lag():
    snap, std, lag, n = 2e3, 1e-5, 12, 600
    y = np.cumsum(np.random.default_rng(0).normal(size=n)) * 1e-2
    F, K, P, filtered = steady(noise_ratio(snap, std, DT))
    states = [np.array([y[0], 0, 0, 0])]
    states[0] = F @ states[0] + K * (y[0] - F[0] @ states[0])
    for value in y[1:]:
        ahead = F @ states[-1]
        states.append(ahead + K * (value - ahead[0]))
    G = filtered @ F.T @ np.linalg.inv(P)
    got = stream(KalmanSmoother(2, DT, 1, std, snap, lag), y[:, None])[:, 0]
    for k in (300, 599):
        x = states[k]
        for j in range(k - 1, k - lag - 1, -1):
            x = states[j] + G @ (x - F @ states[j])
        assert got[k] == pytest.approx(x[2] / DT**2, rel=1e-9)


@pytest.fixture(scope="module")
def encoders():
    """Ten seconds of the arm's Fourier motion: 17-bit positions, true velocity, acceleration."""
    arm = StaubliArm()
    arm.reset(0)
    rows, layout = arm.reference_rows(DT * np.arange(10_000)), arm.reference_layout
    step = 2 * np.pi / 2**17
    q, v, a = (rows[:, layout[c]] for c in "qva")
    return step * np.rint(q / step), v, a


def error(how, encoders, order=2, **params):
    """Relative rms error of all six joints after the lead-in, and of the worst one."""
    y, truth = encoders[0], encoders[order]
    d = deriver(how, order, size=6, **params)
    got = stream(d, y)[1500:]
    truth = truth[1500 - d.lag : len(truth) - d.lag]
    e, s = np.mean((got - truth) ** 2, axis=0), np.mean(truth**2, axis=0)
    return np.sqrt(e.sum() / s.sum()), np.sqrt((e / s).max())


def test_kalman_accelerations_at_17_bits_are_good_to_four_per_cent(encoders):
    whole, worst = error("kalman", encoders, bits=17)
    assert whole < 0.02  # 1.7 %
    assert worst < 0.04  # 3.7 %
    assert error("kalman", encoders, order=1, bits=17)[1] < 0.002


def test_kalman_beats_the_other_causal_ones_and_smoothing_beats_it(encoders):
    best, _ = error("kalman", encoders, bits=17)
    assert error("finite_difference", encoders)[0] > 5  # 700 %
    assert error("butterworth", encoders)[0] > 4 * best  # 8 %
    assert error("savgol", encoders)[0] > 1.5 * best  # 2.9 %
    assert error("kalman_smoother", encoders, bits=17)[0] < best / 6  # 0.2 %
    assert error("kalman_smoother", encoders, bits=17, lag=20)[0] < best / 3


def test_kalman_has_no_lag(encoders):
    y, _, a = encoders
    got = stream(deriver("kalman", 2, size=6, bits=17), y)[3000:9000]
    cost = [np.mean((got - a[3000 - k : 9000 - k]) ** 2) for k in range(-10, 11)]
    assert abs(int(np.argmin(cost)) - 10) <= 1


@pytest.mark.parametrize("how", WAYS)
def test_the_declared_noise_is_that_of_white_noise_through_it(how):
    d = deriver(how, size=1, declared=1e-5)
    gain = noise_gain(d)
    wide = deriver(how, size=200, declared=1e-5)
    out = stream(wide, np.random.default_rng(0).normal(size=(1200, 200)))[-300::50]
    assert out.std() / gain == pytest.approx(1.0, abs=0.1)


def test_kalman_takes_its_noise_from_the_table_else_from_the_sensor_else_a_millionth():
    def gain(**more):
        d = make_deriver(Derived("kalman", "q", 1, more.pop("params", {})), 1, DT, **more)
        return noise_gain(d)

    assert gain(std=1e-3) == gain(params={"std": 1e-3}) == gain(params={"std": 1e-3}, std=9.0)
    assert gain() == gain(std=0.0) == gain(std=1e-6)
    step = 1e-3 * np.sqrt(12)
    assert gain(params={"resolution": step}) == pytest.approx(gain(std=1e-3), rel=1e-9)
    assert gain(params={"resolution": step, "std": 1e-3}) < gain(std=1e-3)
    assert gain(params={"bits": 4, "range": 16 * step}) == pytest.approx(gain(std=1e-3), rel=1e-9)


@pytest.mark.parametrize(
    ("how", "params", "order", "told"),
    [
        ("savgol", {"window": 1}, 1, r"signals\.x\.v\.window must be a number in \[2, 10001\]"),
        ("savgol", {"window": 5.5}, 1, r"signals\.x\.v\.window must be a whole number"),
        ("savgol", {"degree": 0}, 1, r"signals\.x\.v\.degree must be at least the derivative"),
        ("savgol_centred", {"window": 8}, 1, r"signals\.x\.v\.window must be odd"),
        ("butterworth", {"hz": 600.0}, 1, r"signals\.x\.v\.hz must be a number in \[0\.1, 499\]"),
        ("butterworth", {"poles": 0}, 1, r"signals\.x\.v\.poles must be"),
        ("kalman", {"snap": -1}, 1, r"signals\.x\.v\.snap must be"),
        ("kalman", {"std": 0}, 1, r"signals\.x\.v\.std must be"),
        ("kalman", {"range": 1}, 1, r"signals\.x\.v\.range needs bits"),
        ("kalman_smoother", {"lag": 0}, 1, r"signals\.x\.v\.lag must be"),
        ("kalman", {}, 3, r"signals\.x\.v\.order must be a number in \[0, 2\]"),
    ],
)
def test_a_bad_derivation_is_refused_by_its_key(how, params, order, told):
    with pytest.raises(BadInput, match=told):
        deriver(how, order, **params)


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ({"derive": "kalmann", "from": "q"}, "unknown way to derive 'kalmann': did you mean"),
        ({"derive": 3, "from": "q"}, "derive must be one of"),
        ({"derive": "savgol"}, 'derive = "savgol" needs from'),
        ({"derive": "savgol", "from": 3}, "needs from"),
        ({"derive": "savgol", "from": "q", "widnow": 3}, "unknown key 'widnow': did you mean"),
        ({"derive": "kinematics", "from": "q"}, "unknown key 'from'"),
    ],
)
def test_a_bad_table_is_refused_by_its_key(table, told):
    with pytest.raises(BadInput, match=r"sensors\.a: .*" + told):
        Derived.from_table(table, "sensors.a: ")
