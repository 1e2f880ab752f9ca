"""Any user's model as a plant: the same laws as for our own robots."""

from __future__ import annotations

import numpy as np
import pytest

from testbed.core.errors import BadInput
from testbed.inertia import change_frame, is_consistent
from testbed.plants import Change, Setup
from testbed.plants.mjcf import Mjcf
from tests.plants.plant_runs import residual, samples

ARM = """
<mujoco>
  <compiler angle="radian" autolimits="true"/>
  <worldbody>
    <body name="upper" pos="0 0 1">
      <joint name="yaw" axis="0 0 1" range="-2 2" damping=".4" frictionloss=".2" armature=".05"/>
      <joint name="pitch" axis="0 1 0" range="-1 1" damping=".3" armature=".04"/>
      <geom type="capsule" fromto="0 0 0 0 0 -.4" size=".05"/>
      <body name="lower" pos="0 0 -.4">
        <joint name="elbow" axis="1 0 0" armature=".02"/>
        <geom type="capsule" fromto="0 0 0 0 0 -.3" size=".04"/>
        <body name="slider" pos="0 0 -.3">
          <joint name="reach" type="slide" axis="0 0 1" range="-.1 .1" damping="3"/>
          <geom type="box" pos="0 .01 0" size=".04 .05 .06"/>
          <body name="tool" pos=".02 0 -.1" euler=".3 -.2 .5">
            <geom type="box" pos="0 .01 -.05" size=".04 .03 .06"/>
            <site name="ft" pos=".01 .02 -.03" euler=".4 .1 -.6"/>
            <body name="tip" pos="0 0 -.1" euler="0 .4 0"><geom type="sphere" size=".03"/></body>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>
"""
FLOATING = """
<mujoco>
  <option gravity="0 0 -1"/>
  <worldbody>
    <body name="hull" pos="0 0 2"><freejoint/>
      <geom type="box" pos=".05 0 .02" size=".3 .2 .1"/>
      <body name="left" pos=".3 0 0"><joint name="a" axis="0 1 0" damping=".5"/>
        <geom type="capsule" fromto="0 0 0 .3 0 .1" size=".05"/></body>
      <body name="right" pos="-.3 0 0"><joint name="b" axis="0 1 1" frictionloss=".1"/>
        <geom type="capsule" fromto="0 0 0 -.3 .1 0" size=".05"/></body>
    </body>
  </worldbody>
</mujoco>
"""
URDF = """
<robot name="two">
  <link name="base"/>
  <link name="arm"><inertial><origin xyz="0 0.01 0.1"/><mass value="1.5"/>
    <inertia ixx="0.02" iyy="0.03" izz="0.015" ixy="0" iyz="0" ixz="0"/></inertial></link>
  <link name="tool"><inertial><origin xyz="0.01 0 0.02"/><mass value="0.4"/>
    <inertia ixx="0.002" iyy="0.003" izz="0.0015" ixy="0" iyz="0" ixz="0"/></inertial></link>
  <joint name="turn" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="20" velocity="3"/></joint>
  <joint name="mount" type="fixed"><parent link="arm"/><child link="tool"/>
    <origin xyz="0 0 0.2" rpy="0.3 0 0"/></joint>
</robot>
"""
LOAD = {"mass": 0.5, "com": [0.02, 0.03, -0.04], "box": [0.1, 0.05, 0.08], "velocity": "rest"}


@pytest.fixture
def model(tmp_path):
    def write(text, name="my.xml"):
        path = tmp_path / name
        path.write_text(text)
        return str(path)

    return write


def grasp(body):
    return [
        Change(at=0.3, kind="attach", body=body, value=LOAD),
        Change(at=0.6, kind="release", value="load"),
        Change(at=0.1, until=0.9, kind="scale", body=body, value=1.4),
    ]


@pytest.mark.parametrize(
    ("text", "options", "body"),
    [
        (ARM, {}, "tool"),
        (ARM, {"measure": "wrench", "site": "ft"}, "tool"),
        (ARM, {"measure": "wrench", "site": "ft"}, "tip"),
        (FLOATING, {}, "left"),
        (URDF, {"target": ["tool"]}, "tool"),
    ],
    ids=["joints", "site", "beyond-site", "floating", "urdf"],
)
def test_truth_solves_every_equation_of_the_run(model, text, options, body, record_property):
    options, file = dict(options), "my.urdf" if text is URDF else "my.xml"
    target = options.pop("target", None)
    setup = Setup(duration=1.0, truth_error=0.2, changes=grasp(body), target=target)
    worst = residual(Mjcf(setup, model=model(text, file), **options), seed=2)
    record_property("residual_max", float(worst))
    print(f"RESIDUAL mjcf {options} {body} {worst:.1e}")
    assert worst <= 1e-10


def test_at_a_site_theta_is_all_that_it_carries_in_its_frame(model):
    plant = Mjcf(Setup(truth_error=0.2), model=model(ARM), measure="wrench", site="ft")
    assert plant.bodies == ("tool",)
    _, truth = plant.reset(0)
    assert is_consistent(truth.theta)
    mass = plant.ledger.mass("tool") + plant.ledger.mass("tip")
    np.testing.assert_allclose(truth.theta[0], mass, rtol=1e-15)
    assert np.any(truth.theta != change_frame(plant.ledger.total("tool"), np.eye(3), np.zeros(3)))
    _, exact = Mjcf(Setup(), model=plant.look.as_posix(), measure="wrench", site="ft").reset(0)
    np.testing.assert_allclose(exact.theta, plant.rig.cad, rtol=0, atol=1e-15)


@pytest.mark.parametrize("text", [ARM, FLOATING], ids=["fixed", "floating"])
def test_same_seed_same_bits(model, text):
    path = model(text)
    runs = [list(samples(Mjcf(Setup(truth_error=0.2), model=path), 3, 0.2)) for _ in range(2)]
    for (_, a), (_, b) in zip(*runs, strict=True):
        np.testing.assert_array_equal(a.clean.flat, b.clean.flat)
        np.testing.assert_array_equal(a.theta, b.theta)


BAD = {
    "spring": ("<joint axis='0 0 1' stiffness='2'/>", "", {}, "joint springs"),
    "equality": (
        "<joint name='j'/>",
        "<equality><joint joint1='j'/></equality>",
        {},
        "equality constraints",
    ),
    "no joints": ("", "", {}, "no joints"),
    "broken": ("<joint", "", {}, r"my\.xml"),
    "no site": ("<joint/>", "", {"measure": "wrench"}, r"plant\.site is missing"),
    "unknown site": ("<joint/>", "", {"measure": "wrench", "site": "fd"}, r"plant\.site.*'fd'.*ft"),
    "measure": ("<joint/>", "", {"measure": "wrenc"}, r"plant\.measure.*did you mean 'wrench'"),
    "home": ("<joint/>", "", {"home": [0, 0]}, r"plant\.home needs 1"),
    "speed": ("<joint/>", "", {"speed": -1.0}, r"plant\.speed must be positive"),
    "target": ("<joint/>", "", {"target": ["lnk"]}, r"plant\.target.*did you mean 'link'"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_run_is_refused_in_one_line(model, case):
    joint, more, options, message = BAD[case]
    path = model(
        f"<mujoco><worldbody><body name='link'>{joint}<geom size='.1'/><site name='ft'/></body>"
        f"</worldbody>{more}</mujoco>"
    )
    setup = Setup(target=options.get("target"))
    rest = {k: v for k, v in options.items() if k != "target"}
    with pytest.raises(BadInput, match=message) as caught:
        Mjcf(setup, model=path, **rest)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_named():
    with pytest.raises(BadInput, match="nowhere"):
        Mjcf(model="nowhere.xml")
    with pytest.raises(BadInput, match=r"plant\.model is missing"):
        Mjcf()
