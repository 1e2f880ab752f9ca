"""Models that load or say why, and warnings that reach us instead of a file."""

import mujoco
import numpy as np
import pytest

from testbed.core.errors import BadInput
from testbed.kinematics import body_names, compile_spec, from_mujoco, load_spec, warnings_heard

URDF = """<?xml version="1.0"?>
<!-- a made-up arm -->
<robot name="arm">
  <link name="base"/>
  <link name="forearm">
    <inertial><origin xyz="0 0 .2"/><mass value="2"/>
      <inertia ixx=".1" iyy=".1" izz=".02" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><mesh filename="package://nowhere/forearm.dae"/></geometry></visual>
    <collision name="hull"><geometry><mesh filename="missing.stl"/></geometry></collision>
    <visual/>
  </link>
  <link name="tool">
    <inertial><origin xyz=".1 0 0"/><mass value="0.5"/>
      <inertia ixx=".01" iyy=".02" izz=".02" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><mesh filename="missing.stl"/></geometry></collision>
  </link>
  <joint name="elbow" type="revolute"><parent link="base"/><child link="forearm"/>
    <axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="10" velocity="1"/></joint>
  <joint name="flange" type="fixed"><parent link="forearm"/><child link="tool"/>
    <origin xyz="0 0 .4"/></joint>
</robot>
"""
MJCF = "<mujoco><worldbody><body><joint/><geom size='.1'/></body></worldbody></mujoco>"


def test_a_urdf_keeps_its_fixed_links_and_needs_no_meshes(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(URDF)
    model = compile_spec(load_spec(path), path)
    assert body_names(model)[-2:] == ["forearm", "tool"]
    assert model.nv == 1
    expected = [0.5, 0.05, 0, 0, 0.01, 0.025, 0.025, 0, 0, 0]
    np.testing.assert_allclose(from_mujoco(model, "tool"), expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("folder", [True, False])
def test_a_missing_file_is_named(tmp_path, folder):
    path = tmp_path if folder else tmp_path / "robot.xml"
    with pytest.raises(BadInput, match=f"model file '{path}' does not exist"):
        load_spec(path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not xml",
        b"<mujoco><worldbody>",
        b"<mujoco><worldbody><boddy/></worldbody></mujoco>",
        b"<robot name='r'><link name='a'>",
        b"\xff\xfe\x00",
    ],
)
def test_a_broken_file_gives_one_line_that_names_it(tmp_path, content):
    path = tmp_path / "robot.xml"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=r"robot\.xml.*cannot") as caught:
        compile_spec(load_spec(path), path)
    assert "\n" not in str(caught.value)


def test_a_model_that_cannot_compile_is_named(tmp_path):
    path = tmp_path / "robot.xml"
    path.write_text(MJCF.replace("<geom size='.1'/>", ""))
    with pytest.raises(BadInput, match=r"robot\.xml: MuJoCo cannot compile this model: .*mass"):
        compile_spec(load_spec(path), path)


def test_warnings_are_heard_once_and_no_file_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    warnings_heard()
    model = mujoco.MjModel.from_xml_string(MJCF)
    data = mujoco.MjData(model)
    data.qvel[:] = np.nan
    mujoco.mj_step(model, data)
    assert any("QVEL" in message or "QACC" in message for message in warnings_heard())
    assert warnings_heard() == []
    assert list(tmp_path.iterdir()) == []


def test_compiling_leaves_no_old_warnings_behind(tmp_path):
    path = tmp_path / "robot.xml"
    path.write_text(MJCF)
    compile_spec(load_spec(path), path)
    assert warnings_heard() == []
