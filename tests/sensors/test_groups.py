"""Signal groups: which channels are replaced, of which instant, and what is stale."""

import numpy as np
import pytest

from testbed.core.errors import BadInput
from testbed.core.seeding import Streams
from testbed.core.signals import Channel, Layout
from testbed.kinematics import body_motion
from testbed.plants.staubli_arm import StaubliArm
from testbed.sensors import Derived, Sensor, SensorStage, SignalGroups, make_deriver

DT = 1e-2
LAYOUT = Layout(
    [
        Channel("q", ("a", "b"), "rad"),
        Channel("v", ("a", "b"), "rad/s"),
        Channel("a", ("a", "b"), "rad/s²"),
        Channel("tau", ("a", "b"), "N·m"),
        Channel("accel", tuple("xyz"), "m/s²", "site"),
        Channel("gyro", tuple("xyz"), "rad/s", "site"),
        Channel("angacc", tuple("xyz"), "rad/s²", "site"),
    ]
)
PLAN = Layout([LAYOUT.channels[c] for c in ("tau", "q")])
SIGNAL = np.random.default_rng(0).normal(size=(400, LAYOUT.size)).cumsum(axis=0)


def run(tables, signal=SIGNAL, sensors=None, stale=None, **more):
    """Group → what it says of the whole signal (n, size), and the groups."""
    groups = SignalGroups(LAYOUT, tables, sensors or {}, DT, **more)
    out, marks = [], []
    for k, row in enumerate(signal):
        out.append(groups.step(row, None, stale[k] if stale else frozenset()))
        marks.append(dict(groups.stale))
    return {name: np.array([o[name] for o in out]) for name in groups}, groups, marks


def derived(how, source, order, size=2, dt=DT, **params):
    """The same channel by its deriver alone."""
    d = make_deriver(Derived(how, source, order, params), size, dt)
    return np.array([d.step(row) for row in SIGNAL[:, LAYOUT[source]]])


def test_without_tables_measured_goes_through_untouched():
    groups = SignalGroups(LAYOUT, {}, {}, DT)
    assert list(groups) == ["measured"]
    row = SIGNAL[0]
    assert groups.step(row)["measured"] is row


def test_named_channels_are_derived_and_the_others_are_the_measured_ones():
    table = {"v": {"derive": "savgol", "from": "q"}, "a": {"derive": "savgol", "from": "q"}}
    got, groups, _ = run({"mine": table})
    np.testing.assert_array_equal(got["measured"], SIGNAL)
    np.testing.assert_array_equal(got["mine"][:, LAYOUT["v"]], derived("savgol", "q", 1))
    # Twice divided by time: the order follows from the units.
    np.testing.assert_array_equal(got["mine"][:, LAYOUT["a"]], derived("savgol", "q", 2))
    for channel in ("q", "tau", "gyro"):
        np.testing.assert_array_equal(got["mine"][:, LAYOUT[channel]], SIGNAL[:, LAYOUT[channel]])
    assert groups.lag == {"measured": 0, "mine": 0}
    groups.reset()
    again = np.array([groups.step(row)["mine"] for row in SIGNAL])
    np.testing.assert_array_equal(again, got["mine"])


def test_the_whole_group_waits_for_its_slowest_channel():
    table = {
        "v": {"derive": "savgol_centred", "from": "q", "window": 5, "degree": 2},
        "a": {"derive": "savgol_centred", "from": "v", "window": 11},
        "angacc": {"derive": "finite_difference", "from": "gyro"},
    }
    got, groups, _ = run({"mine": table})
    mine = got["mine"]
    assert groups.lag["mine"] == 5
    assert np.all(np.isnan(mine[:5]))
    np.testing.assert_array_equal(mine[5:, LAYOUT["tau"]], SIGNAL[:-5, LAYOUT["tau"]])
    v = derived("savgol_centred", "q", 1, window=5, degree=2)  # two samples late by itself
    np.testing.assert_array_equal(mine[3:, LAYOUT["v"]], v[:-3])
    a = derived("savgol_centred", "v", 1, window=11)
    np.testing.assert_array_equal(mine[:, LAYOUT["a"]], a)
    wanted = np.diff(SIGNAL[:, LAYOUT["gyro"]], axis=0) / DT
    np.testing.assert_allclose(mine[6:, LAYOUT["angacc"]], wanted[:-5], rtol=1e-12)


def test_channels_of_the_plan_are_of_the_same_instant():
    tables = {
        "now": {"tau": {"from_group": "reference"}, "q": {"from_group": "measured"}},
        "late": {
            "tau": {"from_group": "reference"},
            "v": {"derive": "savgol_centred", "from": "q", "window": 7},
        },
    }
    plan = np.random.default_rng(1).normal(size=(50, PLAN.size))
    groups = SignalGroups(LAYOUT, tables, {}, DT, reference=PLAN)
    out = [groups.step(row, p) for row, p in zip(SIGNAL, plan, strict=False)]
    now, late = (np.array([o[g] for o in out])[:, LAYOUT["tau"]] for g in ("now", "late"))
    np.testing.assert_array_equal(now, plan[:, PLAN["tau"]])
    np.testing.assert_array_equal(late[3:], plan[:-3, PLAN["tau"]])


def test_sensors_that_derive_change_measured_itself():
    sensors = {
        "gyro": {"std": 0.1},
        "angacc": {"derive": "savgol_centred", "from": "gyro", "window": 9},
    }
    stage = SensorStage(LAYOUT, {c: Sensor.from_table(t) for c, t in sensors.items()}, DT)
    stage.reset(Streams(0))
    said = np.array([stage.measure(row) for row in SIGNAL])
    tables = {"more": {"tau": {"from_group": "reference"}}}
    groups = SignalGroups(LAYOUT, tables, sensors, DT, reference=PLAN, noise=stage.declared_std())
    plan = np.random.default_rng(1).normal(size=(400, PLAN.size))
    out = [groups.step(row, p) for row, p in zip(said, plan, strict=True)]
    measured, more = (np.array([o[g] for o in out]) for g in ("measured", "more"))
    assert groups.lag == {"measured": 4, "more": 4}
    np.testing.assert_array_equal(measured[4:, LAYOUT["gyro"]], said[:-4, LAYOUT["gyro"]])
    slope = make_deriver(Derived("savgol_centred", "gyro", 1, {"window": 9}), 3, DT)
    wanted = np.array([slope.step(row) for row in said[:, LAYOUT["gyro"]]])
    np.testing.assert_array_equal(measured[:, LAYOUT["angacc"]], wanted)
    # A group on top of it: measured is late already, and the plan must wait for it.
    np.testing.assert_array_equal(more[4:, LAYOUT["tau"]], plan[:-4, PLAN["tau"]])
    std = groups.declared_std()
    assert std["measured"]["angacc"] == pytest.approx(
        0.1 * np.linalg.norm(slope.weights) * np.ones(3)  # type: ignore[attr-defined]
    )
    assert std["more"]["gyro"] == pytest.approx(0.1)


def test_kinematics_gives_what_the_site_would_read():
    arm = StaubliArm()
    arm.reset(0)
    body = arm.tree.names.index("payload")

    def site(q, v, a):
        return body_motion(arm.tree, body, q[None], v[None], a[None])[0]

    table = {c: {"derive": "kinematics"} for c in ("accel", "gyro", "angacc")}
    groups = SignalGroups(arm.layout, {"joints": table}, {}, arm.dt, site)
    for _ in range(20):
        _, truth = arm.step()
        clean = truth.clean.flat.copy()
        hidden = clean.copy()
        for c in table:
            hidden[arm.layout[c]] = 99.0
        got = groups.step(hidden)["joints"]
        np.testing.assert_allclose(got, clean, rtol=1e-9, atol=1e-9)
    hidden[arm.layout["v"]] = np.nan
    got = groups.step(hidden)["joints"]
    assert np.all(np.isnan(got[arm.layout["accel"]]))


def slow(n, every):
    """Stale sets of a sensor that samples every so many steps."""
    return [frozenset() if k % every == 0 else frozenset({"q"}) for k in range(n)]


def test_a_slow_source_is_differentiated_at_its_own_rate():
    held = SIGNAL.copy()
    held[:, LAYOUT["q"]] = SIGNAL[np.arange(400) // 4 * 4, LAYOUT["q"]]
    table = {"v": {"derive": "finite_difference", "from": "q"}}
    got, _, marks = run({"mine": table}, held, {"q": {"rate": 25.0}}, slow(400, 4))
    v = got["mine"][:, LAYOUT["v"]]
    wanted = np.diff(SIGNAL[::4, LAYOUT["q"]], axis=0) / (4 * DT)
    np.testing.assert_allclose(v[4::4], wanted, rtol=1e-12)
    np.testing.assert_array_equal(v[5::4], v[4::4])
    assert [m["mine"] for m in marks[4:8]] == [frozenset()] + 3 * [frozenset({"q", "v"})]
    assert marks[5]["measured"] == frozenset({"q"})


def test_flags_are_late_with_the_values_they_belong_to():
    stale = [frozenset()] * 400
    stale[100] = frozenset({"tau"})
    stale[200] = frozenset({"q"})
    signal = SIGNAL.copy()
    signal[200, LAYOUT["q"]] = signal[100, LAYOUT["tau"]] = np.nan
    table = {"v": {"derive": "savgol_centred", "from": "q", "window": 7}}
    _, _, marks = run({"mine": table}, signal, stale=stale)
    flagged = {k: m["mine"] for k, m in enumerate(marks) if m["mine"]}
    # v of step 200 came with the missing sample: its value is an extrapolation.
    assert flagged == {
        103: frozenset({"tau"}), 200: frozenset({"v"}), 203: frozenset({"q"})
    }  # fmt: skip


def test_site_channels_are_stale_with_the_joints():
    table = {"gyro": {"derive": "kinematics"}}
    _, _, marks = run({"mine": table}, stale=slow(400, 2), site_motion=lambda q, v, a: np.zeros(9))
    assert marks[1]["mine"] == frozenset({"q", "gyro"})
    assert marks[2]["mine"] == frozenset()


@pytest.mark.parametrize(
    ("tables", "told"),
    [
        ({"measured": {}}, r"signals\.measured: this name is taken"),
        ({"mine": 3}, r"signals\.mine must be a table of channels"),
        ({"mine": {"vv": {"derive": "savgol", "from": "q"}}}, r"signals\.mine: .*'vv'"),
        ({"mine": {"v": 3}}, r"signals\.mine\.v must be \{derive"),
        ({"mine": {"v": {"from_group": "plan"}}}, r"signals\.mine\.v\.from_group must be"),
        ({"mine": {"v": {"from_group": "reference"}}}, r"signals\.mine\.v\.from_group: .*'v'"),
        ({"mine": {"v": {"derive": "savgl", "from": "q"}}}, r"signals\.mine\.v: .*'savgol'"),
        ({"mine": {"v": {"derive": "savgol", "from": "qq"}}}, r"signals\.mine\.v\.from: .*'qq'"),
        ({"mine": {"v": {"derive": "savgol", "from": "gyro"}}}, r"mine\.v\.from: gyro has 3"),
        ({"mine": {"v": {"derive": "kinematics"}}}, r"signals\.mine\.v\.derive: kinematics gives"),
        ({"mine": {"gyro": {"derive": "kinematics"}}}, r"signals\.mine\.gyro\.derive: .* no site"),
        (
            {"mine": {"v": {"derive": "savgol", "from": "q", "window": 0}}},
            r"signals\.mine\.v\.window must be",
        ),
        (
            {"mine": {"v": {"derive": "finite_difference", "from": "q", "order": 0}}},
            r"signals\.mine\.v\.order must be a number in \[1, 2\]",
        ),
    ],
)  # fmt: skip
def test_a_bad_group_is_refused_by_its_key(tables, told):
    with pytest.raises(BadInput, match=told):
        SignalGroups(LAYOUT, tables, {}, DT, reference=PLAN)


def test_sensors_that_derive_start_from_what_is_measured():
    sensors = {
        "v": {"derive": "savgol", "from": "q"},
        "a": {"derive": "savgol", "from": "v"},
    }
    with pytest.raises(BadInput, match=r"sensors\.a\.from: v is derived itself"):
        SignalGroups(LAYOUT, {}, sensors, DT)
    with pytest.raises(BadInput, match=r"sensors\.a\.window must be"):
        SignalGroups(
            LAYOUT, {}, {"a": Sensor.from_table({"derive": "savgol", "from": "v", "window": 0})}, DT
        )
