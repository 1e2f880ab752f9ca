"""The dual-quaternion variational integrator: poses that solve the discrete equations exactly.

    Y_k μ_k + Q_k ν_k = X_{k−1} μ_{k−1} + P_{k−1} ν_{k−1} + ½h² n_k
              Y_k ν_k = X_{k−1} ν_{k−1} + ½h² f_k          (Ekal & Ventura 2020, eqs. 12–16)

with μ = I Φ + h×Ψ and ν = m Ψ + Φ×h of the step f_k = p_k†⊗p_{k+1}; docs/variational.md derives
them. Each step solves six equations for Φ_k, Ψ_k by Newton's method.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from testbed.core.signals import Array
from testbed.kinematics import dual_quaternion as dq
from testbed.reproduce.rigid_body import Body, State, Wrench

_MOST = 30


def skew(v: Array) -> Array:
    """S(v) (3, 3) with S(v) y = v×y."""
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])


def discrete_momentum(body: Body, phi: Array, psi: Array, side: int) -> Array:
    """[turn; push] (6,) of one step: at its start (side = 1: Y, Q) or its end (−1: X, P)."""
    s = np.sqrt(1.0 - phi @ phi)
    sigma = -(phi @ psi) / s
    mu, nu = np.split(body.M @ np.concatenate([phi, psi]), 2)

    def times(scalar: Any, vector: Array, y: Array) -> Array:
        return np.asarray(scalar * y + side * np.cross(vector, y))

    return np.concatenate([times(s, phi, mu) + times(sigma, psi, nu), times(s, phi, nu)])


def solve_step(body: Body, target: Array, guess: Array) -> Array:
    """[Φ; Ψ] (6,) whose discrete momentum at its start is `target`."""
    x, best = guess.copy(), np.inf
    for _ in range(_MOST):
        residual = discrete_momentum(body, x[:3], x[3:], 1) - target
        size = float(np.linalg.norm(residual))
        if not size < best:  # no more digits to gain
            break
        best, found = size, x
        x = x - np.linalg.solve(_jacobian(body, x[:3], x[3:]), residual)
    return found


def _jacobian(body: Body, phi: Array, psi: Array) -> Array:
    """Of `discrete_momentum` at the start of a step, (6, 6)."""
    M, s = body.M, np.sqrt(1.0 - phi @ phi)
    sigma = -(phi @ psi) / s
    mu, nu = np.split(M @ np.concatenate([phi, psi]), 2)
    ds = -phi / s
    dsigma_phi, dsigma_psi = -psi / s - (phi @ psi) * phi / s**3, -phi / s
    Y, Q = s * np.eye(3) + skew(phi), sigma * np.eye(3) + skew(psi)
    J = np.block([[Y, Q], [np.zeros((3, 3)), Y]]) @ M
    J[:3, :3] += np.outer(mu, ds) - skew(mu) + np.outer(nu, dsigma_phi)
    J[:3, 3:] += np.outer(nu, dsigma_psi) - skew(nu)
    J[3:, :3] += np.outer(nu, ds) - skew(nu)
    return J


def integrate_variational(
    body: Body, start: State, wrench: Wrench, h: float, steps: int
) -> tuple[Array, Array]:
    """Poses (steps + 1, 8) as dual quaternions, and [ω; v] (steps + 1, 6) at them.

    The velocity at a node is that whose momentum is the discrete one there (with half the node's
    force on each side), so momentum and energy can be compared with other integrators.
    """
    poses = np.empty((steps + 1, 8))
    chi = np.empty((steps + 1, 6))
    inverse = np.linalg.inv(body.M)
    poses[0] = dq.from_pose(start.position, start.quaternion)
    chi[0] = np.concatenate([start.omega, start.v])
    # Half a step of force belongs to the first node: (2/h)·momentum there is Mχ + ½h·force.
    before = 0.5 * h * (body.M @ chi[0])
    x = 0.5 * h * chi[0]
    for k in range(steps):
        force = 0.5 * h * h * np.roll(wrench(k * h), 3)  # [n; f]
        target = before + (0.5 if k == 0 else 1.0) * force
        x = solve_step(body, target, x)
        poses[k + 1] = dq.dual_multiply(poses[k], dq.from_step(x[:3], x[3:]))
        before = discrete_momentum(body, x[:3], x[3:], -1)
        half = 0.25 * h * h * np.roll(wrench((k + 1) * h), 3)
        chi[k + 1] = inverse @ (2.0 / h * (before + half))
    return poses, chi
