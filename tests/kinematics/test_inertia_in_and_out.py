"""Inertial parameters in and out of MuJoCo models: exact, and nothing else moves."""

import mujoco
import numpy as np
import pytest

from testbed.core.errors import BadInput, UnknownName
from testbed.inertia import body_parameters
from testbed.kinematics import body_id, body_names, from_mujoco, to_mujoco
from testbed.regressors import joint_torque_regressor
from tests.kinematics.mechanisms import (
    FREE,
    HINGE,
    body,
    compiled,
    everything,
    random_body,
    random_state,
    relative,
    rigid_torque,
    rotation,
    text,
    theta,
)


def test_reads_what_the_mjcf_says():
    rng = np.random.default_rng(0)
    for _ in range(10):
        R, c, moments = rotation(rng), rng.normal(size=3), np.array([0.3, 0.4, 0.5])
        I = R @ np.diag(moments) @ R.T
        full = text([*np.diag(I), I[0, 1], I[0, 2], I[1, 2]])
        model = compiled(
            '<body simple="false"><freejoint/>'
            f'<inertial mass="1.7" fullinertia="{full}" pos="{text(c)}"/></body>'
        )
        assert relative(from_mujoco(model, 1), body_parameters(1.7, c, I)) < 1e-13


def test_what_is_written_is_read_back():
    rng = np.random.default_rng(1)
    model = everything(rng)
    for b in range(1, model.nbody):
        for _ in range(20):
            phi = random_body(rng)
            to_mujoco(model, b, phi)
            np.testing.assert_allclose(from_mujoco(model, b), phi, rtol=0, atol=1e-14)


def test_symmetric_bodies_survive_the_round_trip():
    model = compiled(body(np.random.default_rng(2), FREE))
    for moments in ([1, 1, 1], [1, 1, 2], [2, 1, 1], [1, 2, 2], [3, 2, 1.5]):
        phi = np.array([2.0, 0, 0, 0, *moments, 0, 0, 0])
        to_mujoco(model, 1, phi)
        np.testing.assert_allclose(from_mujoco(model, 1), phi, rtol=0, atol=1e-15)


@pytest.mark.parametrize("seed", range(5))
def test_mj_inverse_follows_the_parameters_that_were_written(seed):
    rng = np.random.default_rng(seed)
    model = everything(rng)
    phi = random_body(rng, model.nbody - 1)
    for b in range(1, model.nbody):
        to_mujoco(model, b, phi[b - 1])
    q, v, a = random_state(model, rng)
    expected = joint_torque_regressor(model, q, v, a) @ phi.ravel()
    assert relative(rigid_torque(model, q, v, a), expected) < 1e-12


def test_a_body_compiled_with_its_centre_at_the_origin_can_change_too():
    rng = np.random.default_rng(3)
    centred = '<inertial mass="1" pos="0 0 0" diaginertia="1 1 1"/>'
    joint = '<joint axis="0 1 1"/>'
    inner = f'<body simple="false" pos="1 0 0">{joint}{centred}</body>'
    model = compiled(f'<body simple="false">{joint}{centred}{inner}</body>')
    assert np.all(model.body_sameframe[1:] != 0)
    for b in (1, 2):
        to_mujoco(model, b, random_body(rng))
    q, v, a = random_state(model, rng)
    got = joint_torque_regressor(model, q, v, a) @ theta(model)
    assert relative(got, rigid_torque(model, q, v, a)) < 1e-12


def test_sites_and_geoms_stay_where_they_are_when_the_centre_of_mass_moves():
    at = 'pos=".1 .2 .3" quat=".8 .6 0 0"'  # the inertial frame
    model = compiled(
        f'<body simple="false"><freejoint/><inertial {at} mass="1" diaginertia="1 2 2.5"/>'
        f'<site name="s" {at}/><site name="t" quat=".8 .6 0 0"/><site name="u"/>'
        f'<geom name="g" size=".1" mass="0" {at}/></body>'
    )
    assert set(model.site_sameframe) == {1, 2, 4}  # MuJoCo's shortcuts are in play

    def poses():
        data = mujoco.MjData(model)
        mujoco.mj_kinematics(model, data)
        return np.hstack([data.site_xpos, data.site_xmat]), np.hstack(
            [data.geom_xpos, data.geom_xmat]
        )

    before = poses()
    to_mujoco(model, 1, random_body(np.random.default_rng(4)))
    for was, now in zip(before, poses(), strict=True):
        np.testing.assert_allclose(now, was, rtol=0, atol=1e-15)


def test_a_body_compiled_as_simple_is_refused():
    model = compiled('<body name="ball"><freejoint/><geom size=".1"/><inertial mass="1" '
                     'pos="0 0 0" diaginertia="1 1 1"/></body>')  # fmt: skip
    with pytest.raises(BadInput, match=r"'ball' was compiled as simple; give it simple=\"false\""):
        to_mujoco(model, "ball", random_body(np.random.default_rng(5)))


def test_bodies_go_by_name_or_number_and_mistakes_are_named():
    rng = np.random.default_rng(6)
    model = compiled(body(rng, HINGE, body(rng), 'name="upper_arm"'))
    assert body_names(model) == ["upper_arm", "body2"]
    assert body_id(model, "upper_arm") == body_id(model, 1) == 1
    with pytest.raises(UnknownName, match="did you mean 'upper_arm'"):
        body_id(model, "uper_arm")
    for number in (0, 3, -1):
        with pytest.raises(BadInput, match=rf"body number {number} is not in 1 … 2"):
            from_mujoco(model, number)
