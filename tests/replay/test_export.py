# ruff: noqa: E501  (tables of cases)
"""Export edits the inertials of the user's own file, and nothing else in it."""

from __future__ import annotations

import json

import numpy as np
import pytest
import yaml as pyyaml

from testbed import BadInput
from testbed.inertia import box, change_frame
from testbed.kinematics import compile_spec, from_mujoco, load_spec
from testbed.replay.export import write_model, yaml
from testbed.replay.model_text import edit_mjcf, edit_urdf
from tests.logs.log_files import MODEL
from tests.replay.test_preparation import URDF

PHI = change_frame(box(2.0, [0.1, 0.2, 0.3]), np.eye(3), np.array([0.02, -0.03, 0.04]))
TURN = np.array([[0.36, 0.48, -0.8], [-0.8, 0.6, 0.0], [0.48, 0.64, 0.6]])
TURNED = change_frame(PHI, TURN, np.array([0.1, 0.0, -0.05]))


def parameters(path, body):
    return from_mujoco(compile_spec(load_spec(path), path), body)


@pytest.mark.parametrize(("name", "text"), [("r.urdf", URDF), ("r.xml", MODEL)])
def test_bodies_get_their_parameters_and_the_rest_stays(name, text, tmp_path):
    (tmp_path / name).write_text(text)
    write_model(tmp_path / name, tmp_path / f"new_{name}", {"arm": PHI, "hand": TURNED})
    new = tmp_path / f"new_{name}"
    for body, phi in (("arm", PHI), ("hand", TURNED)):
        np.testing.assert_allclose(parameters(new, body), phi, atol=1e-12)
    kept = "<!-- a small arm -->" if name == "r.xml" else 'filename="package://nowhere/hand.stl"'
    assert kept in new.read_text()
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([name, f"new_{name}"])


def test_pinocchio_reads_the_same(tmp_path):
    pin = pytest.importorskip("pinocchio")
    (tmp_path / "r.urdf").write_text(URDF)
    write_model(tmp_path / "r.urdf", tmp_path / "n.urdf", {"arm": TURNED})
    inertia = pin.buildModelFromUrdf(str(tmp_path / "n.urdf")).inertias[1]
    ours = inertia.toDynamicParameters()[[0, 1, 2, 3, 4, 6, 9, 5, 8, 7]]
    np.testing.assert_allclose(ours, TURNED, atol=1e-12)


LINKS = {
    "none": '<link name="x"/>',
    "empty": '<link name="x"></link>',
    "visual only": '<link name="x">\n  <visual name="v"/>\n</link>',
    "empty inertial": '<link name="x"><inertial/></link>',
    "no origin": '<link name="x"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" '
    'ixy="0" ixz="0" iyz="0"/></inertial></link>',
    "a comment inside": "<link name='x'><inertial><!-- kept > --><mass value = '1'/><inertia "
    "ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial></link>",
}


@pytest.mark.parametrize("kind", LINKS)
def test_links_of_every_form_take_an_inertial(kind, tmp_path):
    joint = '<parent link="base"/><child link="x"/><axis xyz="0 0 1"/>'
    text = (
        f'<robot name="r"><link name="base"/><joint name="j" type="continuous">{joint}</joint>'
        f"\n{LINKS[kind]}\n</robot>"
    )
    new = edit_urdf(text.encode(), {"x": TURNED}, "r.urdf")
    (tmp_path / "n.urdf").write_bytes(new)
    np.testing.assert_allclose(parameters(tmp_path / "n.urdf", "x"), TURNED, atol=1e-12)
    if "comment" in kind:
        assert b"<!-- kept > -->" in new


BODIES = {
    "geoms only": '<body name="x"><joint/><geom size=".1"/></body>',
    "diaginertia and quat": '<body name="x"><joint/><inertial pos="1 0 0" quat="0 1 0 0" mass="1" '
    'diaginertia="1 1 1"/></body>',
    "euler": '<body name="x"><inertial mass="1" pos="0 0 0" euler="10 0 0" diaginertia="1 1 1">'
    "</inertial><joint/></body>",
    "open tag over lines": '<body\n  name="x"\n  pos="0 0 1"\n>\n  <joint/>\n  <geom size=".1"/>\n</body>',
}


@pytest.mark.parametrize("kind", BODIES)
def test_bodies_of_every_form_take_an_inertial(kind, tmp_path):
    text = f"<mujoco><worldbody>{BODIES[kind]}</worldbody></mujoco>"
    (tmp_path / "n.xml").write_bytes(edit_mjcf(text.encode(), {"x": TURNED}, "r.xml"))
    np.testing.assert_allclose(parameters(tmp_path / "n.xml", "x"), TURNED, atol=1e-12)


def test_what_cannot_be_edited_is_said(tmp_path):
    with pytest.raises(BadInput, match="no link 'leg'"):
        edit_urdf(URDF.encode(), {"leg": PHI}, "r.urdf")
    with pytest.raises(BadInput, match="no body named 'leg'"):
        edit_mjcf(MODEL.encode(), {"leg": PHI}, "r.xml")
    with pytest.raises(BadInput, match=r"r\.xml: not well-formed XML"):
        edit_mjcf(MODEL.encode()[:-20], {"arm": PHI}, "r.xml")
    stubborn = MODEL.replace("<mujoco>", '<mujoco><compiler inertiafromgeom="true"/>')
    (tmp_path / "r.xml").write_text(stubborn)
    with pytest.raises(BadInput, match="did not take its new inertia"):
        write_model(tmp_path / "r.xml", tmp_path / "n.xml", {"hand": PHI})
    assert not (tmp_path / "n.xml").exists()


def test_yaml_says_what_json_says():
    data = {
        "a": 1.5e-05, "b": 1e22, "c": [1, -2.0, None, True, "x: y # z"], "d": {}, "e": [],
        "f g": {"h": [{"i": 1, "j": [2, 3]}, {"k": "µ"}], "l": "null"}, "m": "-", "n": 0.1,
    }  # fmt: skip
    assert pyyaml.safe_load(yaml(data)) == json.loads(json.dumps(data))
