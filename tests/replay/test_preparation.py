# ruff: noqa: E501  (tables of cases)
"""A log in other units, behind gears, late or irregular gives the same rows once it is declared."""

from __future__ import annotations

import json

import numpy as np
import pytest

from testbed import BadInput
from testbed.logs import read_log
from testbed.replay import identify, replay
from testbed.replay.diagnose import parameter_names
from testbed.replay.loaded import Import
from testbed.replay.prepared import open_stream
from tests.logs.log_files import JOINTS, arm, motion, torque, write_text


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return arm(tmp_path_factory.mktemp("whole"))


def stream(folder, model, columns, recipe=""):
    """The prepared log, and what was done to it."""
    path = write_text(folder / "log.csv", columns)
    config = folder / "prep.toml"
    config.write_text(recipe)
    done = Import()
    return open_stream([read_log(path)], [path], None, model, config, done), done


def same_rows(first, second, atol=1e-9):
    np.testing.assert_allclose(first.rows.A, second.rows.A, atol=atol)
    np.testing.assert_allclose(first.rows.b, second.rows.b, atol=atol)


def changed(columns, change):
    return {k: change(k, v) for k, v in columns.items()}


UNITS = {
    "degrees": (
        lambda k, v: np.degrees(v) if k[0] in "qv" else v,
        'units = { q = "deg", v = "deg/s" }',
    ),
    "milli": (lambda k, v: 1e3 * v if k[0] == "t" else v, 'units = { tau = "N.mm" }\ntime = { unit = "ms" }'),
    "signs": (
        lambda k, v: -v if k in ("q.bend", "v.bend") else -2 * v if k == "tau.lift" else v,
        "signs = { q = { bend = -1 }, v = [1, -1], tau = { lift = -0.5 } }",
    ),
    "offsets": (lambda k, v: v - 0.3 if k == "q.lift" else v, "offsets = { q = { lift = 0.3 } }"),
    "current": (
        lambda k, v: v / 0.11 if k.startswith("tau") else v,
        'effort = "current"\ntorque_constant = 0.11',
    ),
    "gear": (
        lambda k, v: {"q": 20.0 * v, "v": 20.0 * v, "t": v}.get(k[0] if k != "tau.lift" and k != "tau.bend" else "x", v / 20.0),
        "gear = { matrix = [20, 20] }",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", UNITS)
def test_what_is_declared_is_undone(kind, whole, tmp_path):
    model, columns = whole
    good, _ = stream(tmp_path, model, columns)
    change, recipe = UNITS[kind]
    other, _ = stream(tmp_path, model, changed(columns, change), recipe)
    same_rows(good, other)


def test_a_coupled_gear_keeps_the_power(whole, tmp_path):
    """motor = R joint and τ_joint = Rᵀ τ_motor, with a matrix that is not symmetric."""
    model, columns = whole
    R = np.array([[30.0, 0.0], [12.0, -25.0]])
    motor = dict(columns)
    for channel, M in (("q", R), ("v", R), ("tau", np.linalg.inv(R).T)):
        y = np.column_stack([columns[f"{channel}.{j}"] for j in JOINTS]) @ M.T
        motor |= {f"{channel}.{j}": y[:, i] for i, j in enumerate(JOINTS)}
    good, _ = stream(tmp_path, model, columns)
    other, _ = stream(tmp_path, model, motor, f"gear = {{ matrix = {R.tolist()} }}")
    same_rows(good, other)


def test_columns_are_found_by_name_in_any_order_and_spelling(whole, tmp_path):
    model, columns = whole
    good, _ = stream(tmp_path, model, columns)
    names = {"q": "{}_position", "v": "Velocity[{}]", "tau": "effort/{}"}
    renamed = {}
    for k in reversed(columns):
        channel, _, joint = k.partition(".")
        new = names[channel].format(joint) if joint else "Time"
        renamed[new] = columns[k]
    other, done = stream(tmp_path, model, renamed)
    same_rows(good, other)
    assert done.warnings == []
    words = {"q": "position", "v": "velocity", "tau": "effort"}
    topics = {"t": columns["t"]}
    for k, v in columns.items():
        channel, _, joint = k.partition(".")
        if joint:
            topics[f"/joint_states/{joint}/{words[channel]}"] = v
    other, done = stream(tmp_path, model, topics)
    same_rows(good, other)
    with pytest.raises(BadInput, match=r"q of lift may be .*: say columns\.q"):
        stream(tmp_path, model, topics | {"/wanted/lift/position": columns["q.lift"]})
    declared = {f"c{i}": v for i, v in enumerate(columns.values())}
    keys = {k: f"c{i}" for i, k in enumerate(columns)}
    recipe = f'time = {{ column = "{keys["t"]}" }}\n' + "\n".join(
        f'[columns.{c}]\nlift = "{keys[c + ".lift"]}"\nbend = "{keys[c + ".bend"]}"'
        for c in ("q", "v", "tau")
    )
    other, _ = stream(tmp_path, model, declared, recipe)
    same_rows(good, other)


def test_numbered_columns_count_fixed_joints_too(whole, tmp_path):
    model, columns = whole
    numbered = {k.replace("lift", "1").replace("bend", "2"): v for k, v in columns.items()}
    got, _ = stream(tmp_path, model, numbered, "fixed = { lift = 0.0 }")
    np.testing.assert_array_equal(got.flat[:, got.layout["q"]][:, 1], columns["q.bend"])
    np.testing.assert_array_equal(got.flat[:, got.layout["tau"]][:, 0], columns["tau.bend"])


def test_rows_that_one_of_two_files_lacks_are_dropped_from_both(whole, tmp_path):
    """Else everything after a damaged line would stand beside the row of another time."""
    model, columns = whole
    good, _ = stream(tmp_path, model, columns)
    motion_only = {k: v for k, v in columns.items() if not k.startswith("tau")}
    torques = {k: v for k, v in columns.items() if k.startswith("tau")}
    for name, some, row in (("log.csv", motion_only, 100), ("tau.csv", torques, 600)):
        lines = write_text(tmp_path / name, some).read_text().splitlines()
        lines[row] = "cut,off,here"
        (tmp_path / name).write_text("\n".join(lines))
    (tmp_path / "prep.toml").write_text('file = [{ path = "tau.csv" }]\n')
    done, path = Import(), tmp_path / "log.csv"
    got = open_stream([read_log(path)], [path], None, model, tmp_path / "prep.toml", done)
    assert done.dropped == 2
    assert sum("another number of cells" in w for w in done.warnings) == 2
    at = got.layout["tau"]  # the two rows are interpolated again
    np.testing.assert_allclose(got.flat[100:590, at], good.flat[100:590, at], atol=1e-9)
    np.testing.assert_allclose(got.flat[610:, at], good.flat[610:, at], atol=1e-9)


def test_the_truth_of_a_prepared_log_is_that_of_its_time(whole, tmp_path):
    model, columns = whole
    theta = np.zeros((len(columns["t"]), 20))
    theta[:, 0] = np.where(columns["t"] < 2.0, 1.5, 2.5)
    header = json.dumps({"bodies": ["arm", "hand"], "extra": []})
    path = tmp_path / "log.npz"
    np.savez(path, header=np.array(header), **columns, **{"truth/theta": theta})
    config = tmp_path / "prep.toml"
    config.write_text(
        'target = ["arm", "hand"]\nmodel = { viscous = false, coulomb = false, offset = false }\n'
    )
    got = open_stream([read_log(path)], [path], None, model, config, Import()).source()
    k = int(np.searchsorted(got.t, 2.0))
    assert got.theta(0)[0] == got.theta(k - 1)[0] == 1.5
    assert got.theta(k)[0] == 2.5


@pytest.mark.parametrize("effort", ["gravity_compensated", "external"])
def test_what_a_driver_took_away_is_added_again(effort, whole, tmp_path):
    model, columns = whole
    m = motion()
    still = {**m, "v": 0 * m["v"], "a": 0 * m["a"]} if effort == "gravity_compensated" else m
    taken = torque(model, still, viscous=(0, 0), coulomb=(0, 0))
    less = dict(columns)
    for i, j in enumerate(JOINTS):
        less[f"tau.{j}"] = columns[f"tau.{j}"] - taken[:, i]
    good, _ = stream(tmp_path, model, columns)
    other, _ = stream(tmp_path, model, less, f'effort = "{effort}"')
    # Accelerations come from differences of v here, and MuJoCo's torques from exact ones.
    np.testing.assert_allclose(good.rows.b, other.rows.b, atol=1e-9 if effort[0] == "g" else 0.2)
    np.testing.assert_allclose(np.mean(good.rows.b - other.rows.b, axis=0), 0, atol=2e-3)


def test_effort_of_a_driver_that_changes_it_must_be_declared(tmp_path):
    from tests.logs.log_files import MODEL

    model = tmp_path / "ur.xml"
    model.write_text(
        MODEL.replace('"lift"', '"shoulder_lift_joint"').replace('"bend"', '"elbow_joint"')
    )
    _, columns = arm(tmp_path)
    columns = {
        k.replace("lift", "shoulder_lift_joint").replace("bend", "elbow_joint"): v
        for k, v in columns.items()
    }
    with pytest.raises(
        BadInput, match=r"driver 'ur', which older ones publish .*currents.* say in the conf"
    ):
        stream(tmp_path, model, columns)
    for declared in ('effort = "torque"', 'driver = "none"'):
        assert stream(tmp_path, model, columns, declared)[0].logs[0].effort == "torque"
    with pytest.raises(BadInput, match="driver 'dynamixel'"):
        stream(tmp_path, model, columns, 'driver = "dynamixel"')
    with pytest.raises(BadInput, match="torque_constant"):
        stream(tmp_path, model, columns, 'effort = "current"')


@pytest.mark.parametrize(
    ("joints", "refused"),
    [
        (["shoulder_pan_joint", "elbow_joint", "finger_joint", "thumb_joint", "palm_joint"], True),
        (["left_wrist_1_joint"], True),
        (["pan", "lift", "elbow", "roll"], False),  # any arm may have an elbow
        (["joint1", "joint2"], False),
    ],
)
def test_a_gripper_does_not_hide_a_driver(joints, refused):
    from testbed.replay.drivers import check_effort

    if not refused:
        assert check_effort(None, None, joints, [], "log") == "torque"
        return
    with pytest.raises(BadInput, match="driver 'ur'"):
        check_effort(None, None, joints, [], "log")


def test_derivatives_filters_and_resampling(whole, tmp_path):
    """v and a from q alone: near the exact ones, whichever way they are worked out."""
    model, columns = whole
    m = motion()
    only = {k: v for k, v in columns.items() if k[0] != "v"}
    for method, tolerance in (
        ("central", 0.02),
        ("savgol", 0.02),
        ("spline", 1e-3),
        ("backward", 0.2),
    ):
        recipe = f'derivative = {{ method = "{method}", window = 7, degree = 4 }}'
        got, _ = stream(tmp_path, model, only, recipe)
        a = got.flat[50:-50, got.layout["a"]]
        assert np.abs(a - m["a"][50:-50]).max() < tolerance * np.abs(m["a"]).max(), method
    for kind, late in (("zero_phase", False), ("causal", True)):
        got, _ = stream(tmp_path, model, only, f'filter = {{ kind = "{kind}", hz = 15.0 }}')
        q = got.flat[:, got.layout["q"]]
        exact = np.array([np.interp(got.t, m["t"], y) for y in m["q"].T]).T
        assert (np.abs(q - exact)[100:-100].max() > 0.01) == late
    got, _ = stream(tmp_path, model, columns, 'time = { resample = 90.0, interpolate = "cubic" }')
    assert np.allclose(np.diff(got.t), 1 / 90)
    q = got.flat[:, got.layout["q"]]
    exact = np.array([np.interp(got.t, m["t"], y) for y in m["q"].T]).T
    np.testing.assert_allclose(q, exact, atol=1e-3)


def test_rows_and_torques_go_through_one_filter(whole, tmp_path):
    """A linear filter on both sides leaves A θ = b as true as it was; on b alone it does not."""
    model, columns = whole
    m = motion()
    exact = torque(model, m)
    clean = {**columns, "tau.lift": exact[:, 0], "tau.bend": exact[:, 1]}
    clean |= {f"a.{j}": m["a"][:, i] for i, j in enumerate(JOINTS)}

    def left(recipe):
        got, _ = stream(tmp_path, model, clean, recipe)
        A, b = got.rows.A.reshape(-1, got.rig.size), got.rows.b.ravel()
        inner = slice(200, -200)
        theta = np.linalg.lstsq(A[inner], b[inner], rcond=None)[0]
        return np.abs(A[inner] @ theta - b[inner]).max(), got

    for kind in ("zero_phase", "causal"):
        rest, got = left(f'rows = {{ kind = "{kind}", hz = 5.0, decimate = 2 }}')
        assert rest < 1e-9
        assert len(got.rows.t) < 0.55 * len(m["t"])
    assert left('filter = { kind = "causal", hz = 5.0, signals = ["tau"] }')[0] > 0.1


def test_dead_band_segments_and_fixed_joints(whole, tmp_path):
    model, columns = whole
    got, _ = stream(tmp_path, model, columns, "deadband = { lift = 0.5 }")
    v = got.flat[:, got.layout["v"]]
    np.testing.assert_array_equal(got.rows.keep[:, 0], np.abs(v[:, 0]) >= 0.5)
    assert got.rows.keep[:, 1].all()
    got, done = stream(
        tmp_path, model, columns, "segment = [{ from = 1.0, to = 2.0 }, { from = 3.0 }]"
    )
    assert got.t.min() == pytest.approx(1.0)
    assert set(got.segment) == {0, 1}
    assert done.dropped == len(columns["t"]) - len(got.t)
    source = got.source()
    source.reset(0)
    at = [source.restarted] + [
        bool(source.step() and source.restarted) for _ in range(len(source) - 1)
    ]
    assert sum(at) == 2
    _, done = stream(tmp_path, model, columns, "segment = [{ to = 2.0 }, { from = 1.0, to = 3.0 }]")
    assert done.dropped == np.sum(columns["t"] > 3.0)  # what is in two segments counts once
    one = {k: v for k, v in columns.items() if "bend" not in k}
    got, _ = stream(tmp_path, model, one, "fixed = { bend = 0.7 }")
    assert got.layout.channels["tau"].axes == ("lift",)
    assert np.all(got.flat[:, got.layout["q"]][:, 1] == 0.7)
    assert got.rows.A.shape[1] == 1


def test_every_extra_column_finds_what_it_is_for(tmp_path):
    """Friction, offset, motor inertia, a drive's gain and a user's own column, all at once."""
    model, columns = arm(tmp_path, seconds=8.0, noise=0.0)
    m = motion(8.0)
    truth = {
        "viscous.lift": 0.6, "viscous.bend": 0.3, "coulomb.lift": 0.4, "coulomb.bend": 0.2,
        "offset.lift": 0.5, "offset.bend": -0.7, "inertia.bend": 0.08, "coupling": 0.25,
    }  # fmt: skip
    own = truth["coupling"] * m["q"][:, 0] * np.abs(m["v"][:, 0])
    add = np.column_stack([0.5 + 0 * own, -0.7 + 0.08 * m["a"][:, 1] + own])
    for i, j in enumerate(JOINTS):
        columns[f"tau.{j}"] = columns[f"tau.{j}"] + add[:, i]
        columns[f"a.{j}"] = m["a"][:, i]
    recipe = """
model = { actuator_inertia = true }
[[column]]
name = "coupling"
rows = { bend = "q.lift * abs(v.lift)" }
"""
    got, _ = stream(tmp_path, model, columns, recipe)
    assert got.rig.extra[-1] == "coupling"
    config = tmp_path / "prep.toml"
    found = identify(model=model, log=tmp_path / "log.csv", config=config, method="least_squares")
    data = found.as_dict()
    for name, value in truth.items():
        if name in data["identifiable"]["alone"]:
            assert data["parameters"][name] == pytest.approx(value, abs=1e-6), name
    assert "coupling" in data["identifiable"]["alone"]
    # A drive that gives 8 % more than the log says, of a robot that is known.
    rng = np.random.default_rng(5)
    columns = {
        k: v / (1.08 if k == "tau.lift" else 1.0)
        + 0.02 * rng.normal(size=len(v)) * (k[:3] == "tau")
        for k, v in columns.items()
    }
    write_text(tmp_path / "log.csv", columns)
    gained = recipe.replace("= true }", "= true, drive_gain = true }")
    config.write_text("prior_error = 1e-3\n" + gained)
    found = identify(model=model, log=tmp_path / "log.csv", config=config, method="logdet")
    gain = found.theta[parameter_names(found.rig).index("gain.lift")]
    assert gain == pytest.approx(1 / 1.08 - 1, abs=0.01)


def test_a_wrist_sensor_on_a_urdf_with_the_motion_from_its_joints(tmp_path):
    """The sensor's frame is a fixed link of the URDF, which is kept; forces by MuJoCo itself."""
    import mujoco

    urdf = tmp_path / "arm.urdf"
    urdf.write_text(URDF)
    from testbed.kinematics import compile_spec, load_spec

    spec = load_spec(urdf)
    spec.body("tool").add_site(name="at")
    for kind in ("FORCE", "TORQUE"):
        spec.add_sensor(
            name=kind, type=getattr(mujoco.mjtSensor, f"mjSENS_{kind}"),
            objtype=mujoco.mjtObj.mjOBJ_SITE, objname="at",
        )  # fmt: skip
    robot = compile_spec(spec, urdf)
    d = mujoco.MjData(robot)
    m = motion(6.0)
    wrench = np.empty((len(m["t"]), 6))
    for i in range(len(m["t"])):
        d.qpos[:], d.qvel[:], d.qacc[:] = m["q"][i], m["v"][i], m["a"][i]
        mujoco.mj_inverse(robot, d)
        mujoco.mj_rnePostConstraint(robot, d)
        mujoco.mj_sensorAcc(robot, d)
        wrench[i] = d.sensordata
    offset = np.array([1.0, -2.0, 0.5, 0.1, -0.2, 0.05])
    columns = {"t": m["t"]}
    for c in ("q", "v", "a"):
        columns |= {f"{c}.{j}": m[c][:, i] for i, j in enumerate(JOINTS)}
    axes = ("fx", "fy", "fz", "mx", "my", "mz")
    rng = np.random.default_rng(0)
    noisy = wrench + offset + 0.01 * rng.normal(size=wrench.shape)
    columns |= {f"wrench.{a}": noisy[:, i] for i, a in enumerate(axes)}
    path = write_text(tmp_path / "log.csv", columns)
    config = tmp_path / "prep.toml"
    config.write_text(
        'site = "tool"\nmodel = { wrench_offset = true }\nrows = { hz = 20.0, decimate = 2 }\n'
    )
    result = replay(path, model=urdf, config=config, estimators=["rls", "rls_logdet"])
    assert result.scorecard["layout"]["bodies"] == ["tool"]
    for name in ("rls", "rls_logdet"):
        theta = result.history(name).theta[-1]
        assert theta[0] == pytest.approx(0.8, rel=0.02)
        np.testing.assert_allclose(theta[1:4] / theta[0], [0.03, -0.02, 0.05], atol=2e-3)
        np.testing.assert_allclose(theta[10:], offset, atol=0.1)
    turned = {k: -v if k.startswith("wrench") else v for k, v in columns.items()}
    write_text(path, turned | {"wrench.fz": turned["wrench.fz"] - 3.0})
    config.write_text(
        'site = "tool"\nmodel = { wrench_offset = true }\nrows = { hz = 20.0, decimate = 2 }\n'
        "signs = { wrench = -1 }\noffsets = { wrench = { fz = -3.0 } }\n"
    )
    again = replay(path, model=urdf, config=config, estimators=["rls"]).history("rls")
    np.testing.assert_allclose(again.theta[-1], result.history("rls").theta[-1], rtol=1e-6)


URDF = """<?xml version="1.0"?>
<robot name="arm">
  <link name="base"/>
  <joint name="lift" type="revolute">
    <parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="10" velocity="5"/>
  </joint>
  <link name="arm">
    <inertial><mass value="1.5"/><origin xyz="0.2 0 0"/>
      <inertia ixx="0.002" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <joint name="bend" type="revolute">
    <origin xyz="0.4 0 0"/><parent link="arm"/><child link="hand"/><axis xyz="0.6 0 0.8"/>
    <limit lower="-2" upper="2" effort="10" velocity="5"/>
  </joint>
  <link name="hand">
    <visual><geometry><mesh filename="package://nowhere/hand.stl"/></geometry></visual>
    <inertial><mass value="0.6"/><origin xyz="0.05 0.01 0"/>
      <inertia ixx="0.001" iyy="0.002" izz="0.002" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <joint name="flange" type="fixed">
    <origin xyz="0.1 0 0.02" rpy="0.3 0.2 0.1"/><parent link="hand"/><child link="tool"/>
  </joint>
  <link name="tool">
    <inertial><mass value="0.8"/><origin xyz="0.03 -0.02 0.05"/>
      <inertia ixx="0.002" iyy="0.003" izz="0.0025" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
</robot>
"""

MISTAKES = {
    'effort = "volts"': "effort must be",
    "filtr = 3": "unknown key 'filtr': did you mean 'filter'",
    'filter = { hz = 200.0 }': "filter.hz = 200 is not below half the sampling rate",
    'columns = { q = { lifd = "q.lift" } }': "columns.q: unknown joint 'lifd': did you mean 'lift'",
    'columns = { q = { lift = "Q", bend = "q.bend" } }': "unknown column 'Q'",
    "columns = { volts = {} }": "columns: unknown channel 'volts'",
    'columns = { q = { lift = "q.bend", bend = "q.bend" } }': "two joints share a column",
    'units = { q = "furlong" }': "units.q: unknown unit 'furlong'",
    "gear = { matrix = [1, 2, 3] }": "gear.matrix needs 2 numbers",
    "gear = { matrix = [[1, 1], [1, 1]] }": "gear.matrix cannot be inverted",
    "fixed = { elbow = 0.0 }": "fixed: unknown joint 'elbow'",
    "deadband = 1e9": "deadband leaves no row",
    "deadband = [1]": "deadband needs one finite number, 2 of them",
    'target = ["tooth"]': "unknown body 'tooth': did you mean 'tool'",
    'file = [{ path = "no.csv" }]': "'no.csv' is neither beside the log",
    'file = [{ path = "log.csv" }]': "repeats the columns",
    'time = { column = "clock" }': "time.column: .*unknown column 'clock'",
    'time = { column = "t", rate = 5.0 }': "say one of them",
    "segment = [{ from = 99.0 }]": "no piece without gaps is long enough",
    '[[column]]\nname = "x"\nrows = { lift = "__import__(\'os\')" }': "unknown function '__import__'",
    '[[column]]\nname = "x"\nrows = { lift = "v.lift if 1 else 2" }': "only numbers, signals",
    '[[column]]\nname = "x"\nrows = { lift = "v.elbow" }': "unknown joint 'elbow'",
    '[[column]]\nname = "x"\nrows = { lift = "log.heat" }': "no column 'heat'",
    '[[column]]\nname = "x"\nrows = { lift = "v.lift +" }': "cannot read the formula",
    "[noise]\ntau = -1": "noise.tau",
    "[noise]\ntorque = 1": "noise: unknown channel 'torque'",
    'units = { tau = "A" }': 'units.tau = "A" is a current: say effort = "current"',
    "torque_constant = 0.1": 'torque_constant is for effort = "current", and effort is \'torque\'',
    "time = { resample = 1e-3 }": "no piece without gaps is long enough .* at 0.001 a second",
    "prior_error = 0": "prior_error",
}  # fmt: skip


@pytest.mark.parametrize("recipe", MISTAKES)
def test_every_mistake_in_a_configuration_is_named(recipe, whole, tmp_path):
    model, columns = whole
    with pytest.raises(BadInput, match=MISTAKES[recipe]) as caught:
        stream(tmp_path, model, columns, recipe)
    assert "prep.toml" in str(caught.value)


def test_a_stream_of_several_prepared_logs_and_its_result(whole, tmp_path):
    model, columns = whole
    heavy = {k: 1.3 * v if k.startswith("tau") else v for k, v in columns.items()}
    paths = [write_text(tmp_path / f"{n}.csv", c) for n, c in (("a", columns), ("b", heavy))]
    result = replay(paths, model=model, out=tmp_path / "out", estimators=["rls:forgetting=0.99"])
    card = result.scorecard
    assert card["scenario"]["title"] == "Replay of a.csv, b.csv"
    assert card["estimators"]["rls"]["changes"] == [
        {
            "at": pytest.approx(3.995),
            "detection_s": None,
            "settle_10_s": None,
            "settle_2_s": None,
            "overshoot": None,
        }
    ]
    assert card["estimators"]["rls"]["metrics"]["mass_rel_error_final"] is None
    saved = json.loads((tmp_path / "out" / "result.json").read_text())
    assert saved["import"]["rows"] == 2 * len(columns["t"])
    innovation = result.history("rls").innovation
    n = len(columns["t"])
    assert innovation[n + 5] > 5 * np.median(innovation[n - 200 : n])  # the change is felt


def test_a_declared_delay_is_taken_out(whole, tmp_path):
    model, columns = whole
    n = 3  # samples by which the torques are late
    late = {k: v[:-n] if k.startswith("tau") else v[n:] for k, v in columns.items()}
    good, _ = stream(tmp_path, model, columns)
    other, _ = stream(tmp_path, model, late, "delays = { tau = 0.015 }")
    np.testing.assert_allclose(other.rows.b[:-n], good.rows.b[n:-n], atol=1e-9)
    with pytest.raises(BadInput, match="delays: unknown channel 'torque'"):
        stream(tmp_path, model, late, "delays = { torque = 0.015 }")
