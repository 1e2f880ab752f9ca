# ruff: noqa: E501  (tables of cases)
"""Export edits the inertials of the user's own file, and nothing else in it."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
import yaml as pyyaml
from scipy.spatial.transform import Rotation

from testbed import BadInput
from testbed.inertia import box, change_frame, mass_com_inertia
from testbed.kinematics import compile_spec, from_mujoco, load_spec
from testbed.replay.export import check_place, write_model, yaml
from testbed.replay.model_text import edit_mjcf, edit_urdf
from testbed.replay.payload import controller_forms
from tests.logs.log_files import MODEL
from tests.replay.test_preparation import URDF

PHI = change_frame(box(2.0, [0.1, 0.2, 0.3]), np.eye(3), np.array([0.02, -0.03, 0.04]))
TURN = np.array([[0.36, 0.48, -0.8], [-0.8, 0.6, 0.0], [0.48, 0.64, 0.6]])
TURNED = change_frame(PHI, TURN, np.array([0.1, 0.0, -0.05]))

NUMBER = r"-?\d+\.\d+"


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


MESH = """<mujoco><!-- made from <robot name="r"> -->
<asset><mesh name="m" file="m.obj"/></asset><worldbody><body name="x"><joint/>
<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/><geom type="mesh" mesh="m"/></body></worldbody></mujoco>"""


def test_a_model_is_loaded_where_it_is_written(tmp_path):
    (tmp_path / "r.xml").write_text(MESH)
    corners = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n"
    (tmp_path / "m.obj").write_text(corners + "f 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
    write_model(tmp_path / "r.xml", tmp_path / "n.xml", {"x": PHI})
    np.testing.assert_allclose(parameters(tmp_path / "n.xml", "x"), PHI, atol=1e-12)
    for refuse in (
        lambda target: write_model(tmp_path / "r.xml", target, {"x": PHI}),
        lambda target: check_place(target, tmp_path / "r.xml"),
    ):
        with pytest.raises(BadInput, match=r"does not load in that folder.*beside r\.xml"):
            refuse(tmp_path / "sub" / "n.xml")
    assert not list((tmp_path / "sub").iterdir())
    check_place(tmp_path / "n.json", tmp_path / "r.xml")
    with pytest.raises(BadInput, match=r"is an MJCF file: say \.xml"):
        check_place(tmp_path / "n.urdf", tmp_path / "r.xml")


def test_controllers_get_principal_moments_with_their_axes():
    """What ABB and KUKA are told is the inertia itself, put together again."""
    own = change_frame(box(2.0, [0.1, 0.2, 0.3]), TURN, np.zeros(3))
    phi = change_frame(own, np.eye(3), np.array([0.02, -0.03, 0.04]))
    _, com, inertia = mass_com_inertia(phi)
    forms = controller_forms(phi)
    mass, *c, w, x, y, z, a, b, d = (float(n) for n in re.findall(NUMBER, forms["ABB"]))
    R = Rotation.from_quat([x, y, z, w]).as_matrix()
    assert mass == 2.0
    np.testing.assert_allclose(c, 1e3 * com, atol=0.01)
    np.testing.assert_allclose(R @ np.diag([a, b, d]) @ R.T, inertia, atol=1e-5)
    _, *c, A, B, C, a, b, d = (float(n) for n in re.findall(NUMBER, forms["KUKA"]))
    R = Rotation.from_euler("z", A, degrees=True) * Rotation.from_euler("y", B, degrees=True)
    R = (R * Rotation.from_euler("x", C, degrees=True)).as_matrix()
    np.testing.assert_allclose(R @ np.diag([a, b, d]) @ R.T, inertia, atol=1e-5)
    plain = controller_forms(PHI)["ABB"]
    assert "[1.000000, 0.000000, 0.000000, 0.000000], 0.02167, 0.01667, 0.00833]" in plain


def test_yaml_says_what_json_says():
    data = {
        "a": 1.5e-05, "b": 1e22, "c": [1, -2.0, None, True, "x: y # z"], "d": {}, "e": [],
        "f g": {"h": [{"i": 1, "j": [2, 3]}, {"k": "µ"}], "l": "null"}, "m": "-", "n": 0.1,
    }  # fmt: skip
    assert pyyaml.safe_load(yaml(data)) == json.loads(json.dumps(data))
