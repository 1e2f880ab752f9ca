"""What a designer of excitations needs of a robot: regressor rows, torques, where its points are.

Everything is worked out for many samples at once and from CAD values alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.signals import Array
from testbed.inertia import natural_basis
from testbed.kinematics import Tree, body_motion
from testbed.kinematics.tree import HINGE, SLIDE
from testbed.plants.joint_robot import JointRobot
from testbed.regressors import TreeRegressor, wrench_regressor

_RANK = 1e-9  # singular values below this share of the largest are structural zeros


class Mechanism:
    """A robot with driven joints, as functions of q, v, a (n, d).

    Rows of a wrist sensor stay in raw SI units with all ten parameters, so that condition
    numbers compare with Kubus 2008, Table I. Joint torques see only combinations of their
    parameters and mix kg with kg·m²: columns are scaled by the CAD natural scale and
    restricted to the base parameters, the space that random motions within the limits span.

    Args:
        plant: The robot.
        rng: For the random motions that find the base parameters.
    """

    def __init__(self, plant: Any, rng: np.random.Generator) -> None:
        if not isinstance(plant, JointRobot) or plant.floating:
            raise BadInput(
                f"excite designs motions of driven joints on a fixed base; {plant.name} is moved "
                "otherwise"
            )
        if plant.measure not in ("wrench", "joint_torque") or (
            plant.measure == "wrench" and plant.site_body is None
        ):
            raise BadInput(
                "excite knows joint torques, and a force-torque site at the origin of its body"
            )
        self.plant, self.tree, self.S = plant, plant.tree, plant.coupling()
        self.wrench = plant.measure == "wrench"
        self._site = -1 if plant.site_body is None else plant.site_body
        self.size = len(plant.driven)
        self._tree_rows = TreeRegressor(plant.tree)
        self._cad = np.concatenate([plant.cad[b] for b in plant.tree.names])
        self._columns = np.array([10 * b + i for b in plant.rig.tree_bodies for i in range(10)])
        self._friction = bool(plant.joints) and not self.wrench
        self.basis: Array | None = None
        if not self.wrench:
            self.basis = self._base_parameters(rng)
        self._points = _points_of(plant)
        self._slides = np.zeros(plant.tree.nv, dtype=bool)
        self._slides[plant.tree.joint_dof] = plant.tree.joint_type == SLIDE

    def rows(self, q: Array, v: Array, a: Array) -> Array:
        """A (n, rows, p): wrench rows in SI units, or torque rows of the base parameters."""
        if self.wrench:
            m = body_motion(self.tree, self._site, *self._tree_motion(q, v, a))
            return wrench_regressor(m[:, :3], m[:, 6:9], m[:, 3:6])
        Y = self._torque_rows(*self._tree_motion(q, v, a))[..., self._columns]
        if self._friction:
            eye = np.eye(self.size)
            coulomb = np.tanh(v / self.plant.friction_speed)
            Y = np.concatenate([Y, v[:, :, None] * eye, coulomb[:, :, None] * eye], axis=2)
        return Y if self.basis is None else Y @ self.basis

    def torque(self, q: Array, v: Array, a: Array) -> Array:
        """CAD feedforward (n, d), friction and motor inertia included."""
        plant = self.plant
        tau = self._torque_rows(*self._tree_motion(q, v, a)) @ self._cad
        tau = tau + plant.model.dof_armature * a
        if plant.joints:
            tau = tau + plant.viscous * v + plant.coulomb * np.tanh(v / plant.friction_speed)
        return np.asarray(tau)

    def points(self, q: Array) -> Array:
        """World positions (n, k, 3) of the points that must stay clear of floor and pedestal."""
        body, offset, _ = self._points
        R, p, _, _ = poses(self.tree, q if self.S is None else q @ self.S.T)
        return p[:, body] + np.einsum("nkij,kj->nki", R[:, body], offset)

    def by_points(self, q: Array, pull: Array) -> Array:
        """Derivative by q (n, d) of Σ pull · points, pull (n, k, 3).

        A hinge moves a point beyond it by axis × (point − anchor), a slide by its axis.
        """
        body, offset, moves = self._points
        R, p, axis, anchor = poses(self.tree, q if self.S is None else q @ self.S.T)
        points = p[:, body] + np.einsum("nkij,kj->nki", R[:, body], offset)
        # Σ_k (axis × (x_k − o))·f_k = axis · (Σ_k x_k × f_k − o × Σ_k f_k)
        force = np.einsum("dk,nki->ndi", moves, pull)
        moment = np.einsum("dk,nki->ndi", moves, np.cross(points, pull))
        turning = np.einsum("ndi,ndi->nd", axis, moment - np.cross(anchor, force))
        sliding = np.einsum("ndi,ndi->nd", axis, force)
        out = np.where(self._slides, sliding, turning)  # (n, dofs of the tree)
        return out if self.S is None else out @ self.S

    def _tree_motion(self, *motion: Array) -> tuple[Array, ...]:
        return tuple(np.ascontiguousarray(x if self.S is None else x @ self.S.T) for x in motion)

    def _torque_rows(self, q: Array, v: Array, a: Array) -> Array:
        Y = self._tree_rows(q, v, a)
        return Y if self.S is None else self.S.T @ Y

    def _base_parameters(self, rng: np.random.Generator) -> Array:
        """S V (p, r): natural scale times an orthonormal basis of what motions can show."""
        plant = self.plant
        q = rng.uniform(plant.lower, plant.upper, (400, self.size))
        v = rng.uniform(-1, 1, q.shape) * plant.speed
        a = rng.uniform(-1, 1, q.shape) * 5 * plant.speed
        scale = np.concatenate(
            [
                *(np.linalg.norm(natural_basis(plant.cad[b]), axis=1) for b in plant.bodies),
                np.maximum(np.concatenate([plant.viscous, plant.coulomb]), 1e-6)
                if self._friction
                else np.zeros(0),
            ]
        )
        A = self.rows(q, v, a).reshape(-1, scale.size) * scale
        _, s, Vt = np.linalg.svd(A, full_matrices=False)
        return scale[:, None] * Vt[s > _RANK * s[0]].T


def poses(tree: Tree, q: Array) -> tuple[Array, Array, Array, Array]:
    """Where a tree of hinges and slides is, at q (n, nq), world frame.

    Returns:
        Rotations (n, bodies, 3, 3) and origins (n, bodies, 3) of the bodies; axes and anchors
        (n, nv, 3) of the joints.
    """
    n = len(q)
    R: list[Array] = []  # (n, 3, 3) a body
    p: list[Array] = []  # (n, 3)
    axes, anchors = np.zeros((2, n, tree.nv, 3))
    for b in range(tree.size):
        up = int(tree.parent[b])
        turned = np.broadcast_to(np.eye(3), (n, 3, 3)) if up < 0 else R[up]
        at = tree.pos[b] + np.zeros((n, 3)) if up < 0 else p[up] + _times(turned, tree.pos[b])
        turned = _times(turned, _rotation(tree.quat[b]))
        for j in range(tree.joint_start[b], tree.joint_start[b + 1]):
            axis, iq, iv = tree.joint_axis[j], tree.joint_qpos[j], tree.joint_dof[j]
            by = q[:, iq] - tree.qpos0[iq]
            axes[:, iv] = _times(turned, axis)
            if tree.joint_type[j] == SLIDE:
                at = at + by[:, None] * axes[:, iv]
                continue
            assert tree.joint_type[j] == HINGE
            anchors[:, iv] = at + _times(turned, tree.joint_pos[j])
            # Rodrigues: R ← R (1 + sin K + (1 − cos) K²)
            K, angle = _cross(axis), by[:, None, None]
            one, two = _times(turned, K), _times(turned, K @ K)
            turned = turned + np.sin(angle) * one + (1 - np.cos(angle)) * two
            at = anchors[:, iv] - _times(turned, tree.joint_pos[j])
        R.append(turned)
        p.append(at)
    return np.stack(R, axis=1), np.stack(p, axis=1), axes, anchors


def _times(R: Array, x: Array) -> Array:
    """R x for all samples at once: one product of large matrices is quicker than n of small ones.

    R (n, 3, 3); x (3, 3) or (3,).
    """
    return (R.reshape(-1, 3) @ x).reshape(len(R), 3, *x.shape[1:])


def _cross(v: Array) -> Array:
    x, y, z = v
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def _rotation(quat: Array) -> Array:
    """The rotation (3, 3) of a unit quaternion."""
    K = _cross(quat[1:])
    return np.eye(3) + 2 * quat[0] * K + 2 * K @ K


def _points_of(plant: Any) -> tuple[Any, Array, Array]:
    """Body numbers (k,), offsets (k, 3) and which dofs move them (nv, k), of the points watched.

    Every body's origin, and how far the last bodies reach.

    Geometry is not simulated, so a body without children ends at twice its centre of mass:
    exact for a uniform bar, and for the gripper within 4 cm.
    """
    tree = plant.tree
    body, offset = list(range(tree.size)), [np.zeros(3)] * tree.size
    for b in range(tree.size):
        phi = plant.cad[tree.names[b]]
        if b not in tree.parent and phi[0] > 0:
            body.append(b)
            offset.append(2 * phi[1:4] / phi[0])
    moves = np.zeros((tree.nv, len(body)))
    for k, b in enumerate(body):
        moves[tree.ancestor_dof[tree.ancestor_start[b] : tree.ancestor_start[b + 1]], k] = 1.0
    return np.array(body), np.array(offset), moves
