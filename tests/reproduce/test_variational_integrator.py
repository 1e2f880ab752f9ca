"""The integrators: order against an independent one, momentum and energy of a free body."""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp

from testbed import make_plant
from testbed.kinematics import dual_quaternion as dq
from testbed.reproduce.rigid_body import Body, State, finite_difference_step, integrate, rk4_step
from testbed.reproduce.variational_integrator import _jacobian, integrate_variational
from testbed.reproduce.variational_integrator import discrete_momentum as momentum
from tests.regressors.flights import BODY, START, wrench


def reference(seconds):
    """The last state by SciPy's DOP853."""
    y0 = np.concatenate(START)

    def rate(t, y):
        state = State(y[:3], y[3:7], y[7:10], y[10:])
        return np.concatenate(BODY.rate(t, state, wrench))

    y = solve_ivp(rate, (0, seconds), y0, "DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    return State(y[:3], y[3:7], y[7:10], y[10:])


def test_each_integrator_converges_in_its_order():
    exact = reference(2.0)
    errors = {"vi": [], "rk4": [], "fd": []}
    for n in (40, 80):
        h = 2.0 / n
        poses, chi = integrate_variational(BODY, START, wrench, h, n)
        errors["vi"].append(np.linalg.norm(dq.to_pose(poses)[0][-1] - exact.position))
        for name, method in (("rk4", rk4_step), ("fd", finite_difference_step)):
            last = integrate(BODY, START, wrench, h, n, method)
            errors[name].append(np.linalg.norm(last.position[-1] - exact.position))
        np.testing.assert_allclose(chi[-1, :3], exact.omega, atol=5e-3)
    order = {name: np.log2(e[0] / e[1]) for name, e in errors.items()}
    assert abs(order["vi"] - 2) < 0.05
    assert abs(order["rk4"] - 4) < 0.2
    assert abs(order["fd"] - 1) < 0.2


def free(t):
    return np.zeros(6)


def test_a_free_body_keeps_momentum_exactly_and_its_energy_does_not_drift():
    h, n = 0.05, 1200
    poses, chi = integrate_variational(BODY, START, free, h, n)
    state = State(*dq.to_pose(poses), chi[:, :3], chi[:, 3:])
    energy, kept = BODY.energy(state), BODY.world_momentum(state)
    np.testing.assert_allclose(kept, np.broadcast_to(kept[0], kept.shape), atol=1e-12)
    assert np.ptp(energy) < 2e-5 * energy[0]
    first, last = energy[: n // 2], energy[n // 2 :]
    assert abs(first.mean() - last.mean()) < 0.1 * np.ptp(energy)  # it swings, and comes back
    fd = integrate(BODY, START, free, h, n, finite_difference_step)
    drift = np.abs(BODY.energy(fd) / energy[0] - 1.0)
    assert drift[-1] > 1e3 * np.ptp(energy) / energy[0]


def test_newton_steps_use_the_true_derivative():
    rng = np.random.default_rng(0)
    x = 0.3 * rng.normal(size=6)
    J = _jacobian(BODY, x[:3], x[3:])
    for j in range(6):
        e = np.zeros(6)
        e[j] = 1e-6
        (a, b), (c, d) = np.split(x + e, 2), np.split(x - e, 2)
        slope = (momentum(BODY, a, b, 1) - momentum(BODY, c, d, 1)) / 2e-6
        np.testing.assert_allclose(J[:, j], slope, atol=1e-8)


def test_poses_of_mujoco_are_those_of_the_equations_here():
    plant = make_plant("free_flyer", rate=50, substeps=10, duration=2.0)
    _, truth = plant.reset(0)
    start = State(np.zeros(3), np.array([1.0, 0, 0, 0]), np.zeros(3), np.zeros(3))
    y, worst = start, 0.0
    body = Body(truth.theta)
    for _ in range(100):
        _, truth = plant.step()
        held = truth.clean["wrench"]
        y = State(*(x[-1] for x in integrate(body, y, lambda t, w=held: w, 0.02, 1, substeps=10)))
        worst = max(worst, np.abs(y.position - truth.clean["position"]).max())
    assert worst < 1e-9
