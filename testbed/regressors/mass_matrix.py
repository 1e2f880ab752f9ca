"""The mass matrix M(q; θ) that a set of parameters gives a robot: what controllers invert.

    M = Σ_b J_bᵀ 𝕀_b J_b,   𝕀 of [v; ω] at the body's origin:  [[m 1, −[h]×], [[h]×, I]]

Bodies that can exist make it positive definite; an estimate that cannot exist need not, and a
computed-torque controller built on it pushes the wrong way.
"""

from __future__ import annotations

import numpy as np

from testbed.core.jit import COMPILED, kernel
from testbed.core.protocols import Rig
from testbed.core.signals import Array
from testbed.kinematics.motion_kernel import cross, motion, workspace
from testbed.regressors.row_kernel import axis_motion
from testbed.regressors.tree_regressor import TreeRegressor


@kernel
def _fill(  # type: ignore[no-untyped-def]
    parent, pos, quat, joint_start, joint_type, joint_pos, joint_axis, joint_qpos, joint_dof,
    qpos0, gravity, ancestor_start, ancestor_dof, q, nv, phi, out,
):  # fmt: skip
    """out (n, nv, nv) += the mass matrices of q (n, nq) with all bodies' φ (n, 10 nb)."""
    nb = parent.size
    R, p, omega, alpha, acc, axis, anchor, turns = workspace(nb, nv)
    still = np.zeros((1, nv))
    for n in range(q.shape[0]):
        motion(
            parent, pos, quat, joint_start, joint_type, joint_pos, joint_axis, joint_qpos,
            joint_dof, qpos0, gravity, 0, q[n : n + 1], still, still,
            R, p, omega, alpha, acc, axis, anchor, turns,
        )  # fmt: skip
        for b in range(nb):
            m, hx, hy, hz, xx, yy, zz, xy, yz, xz = phi[n, 10 * b : 10 * b + 10]
            for k in range(ancestor_start[b], ancestor_start[b + 1]):
                d = ancestor_dof[k]
                (g0, g1, g2), (l0, l1, l2) = axis_motion(
                    R, p, b, axis[d, 0], axis[d, 1], axis[d, 2],
                    anchor[d, 0], anchor[d, 1], anchor[d, 2], turns[d] == 1,
                )  # fmt: skip
                # Momentum of the body when only this joint moves, at its origin.
                cx, cy, cz = cross(g0, g1, g2, hx, hy, hz)
                f0, f1, f2 = m * l0 + cx, m * l1 + cy, m * l2 + cz
                cx, cy, cz = cross(hx, hy, hz, l0, l1, l2)
                n0 = cx + xx * g0 + xy * g1 + xz * g2
                n1 = cy + xy * g0 + yy * g1 + yz * g2
                n2 = cz + xz * g0 + yz * g1 + zz * g2
                for i in range(ancestor_start[b], ancestor_start[b + 1]):
                    e = ancestor_dof[i]
                    (a0, a1, a2), (b0, b1, b2) = axis_motion(
                        R, p, b, axis[e, 0], axis[e, 1], axis[e, 2],
                        anchor[e, 0], anchor[e, 1], anchor[e, 2], turns[e] == 1,
                    )  # fmt: skip
                    out[n, e, d] += (b0 * f0 + b1 * f1 + b2 * f2) + a0 * n0 + a1 * n1 + a2 * n2


class MassMatrix:
    """M of a rig for any parameters of its identified bodies; the others are as in CAD.

    Args:
        rig: What is known of the plant.
        compiled: Whether to take the numba path; default: where numba is there.
    """

    def __init__(self, rig: Rig, compiled: bool | None = None) -> None:
        self.rig, self.tree = rig, rig.tree
        self.compiled = COMPILED if compiled is None else compiled
        self._rows = TreeRegressor(rig.tree, compiled=self.compiled)
        self._arrays = (*rig.tree.arrays(), rig.tree.ancestor_start, rig.tree.ancestor_dof)
        self._columns = np.array([10 * b + i for b in rig.tree_bodies for i in range(10)])
        self._known = np.zeros(10 * rig.tree.size)
        for body, phi in rig.known.items():
            self._known[10 * body : 10 * body + 10] = phi
        self._armature = rig.options.get("armature")  # known rotor inertia (joints,), or None

    @classmethod
    def of(cls, rig: Rig) -> MassMatrix | None:
        """For rigs whose θ are bodies of a mechanism, in their own frames; None for others."""
        if rig.tree is None or not rig.options.get("body_frames", True) or not len(rig.bodies):
            return None
        return cls(rig) if "q" in rig.layout or rig.tree.size == 1 else None

    def configuration(self, flat: Array) -> Array:
        """q (nq,) of a flat measured sample; a single free body has the same M everywhere."""
        where = self.rig.layout
        return flat[where["q"]] if "q" in where else self.tree.qpos0

    def __call__(self, q: Array, theta: Array) -> Array:
        """M (n, d, d) at q (n, nq), with one θ (n, p) each."""
        S, nv = self.rig.coupling, self.tree.nv
        phi = np.tile(self._known, (len(q), 1))
        phi[:, self._columns] = theta[:, : self._columns.size]
        q = np.ascontiguousarray(q if S is None else q @ S.T)
        M = np.zeros((len(q), nv, nv))
        if self.compiled:
            _fill(*self._arrays, q, nv, phi, M)  # type: ignore[call-arg]
        else:
            self._by_columns(q, phi, M)
        if S is not None:
            M = S.T @ M @ S
        if self._armature is not None:
            M = M + np.diag(self._armature)
        return M

    def _by_columns(self, q: Array, phi: Array, M: Array) -> None:
        """Column c is the torque of a unit acceleration of joint c, less the torque at rest."""
        still = np.zeros((len(q), self.tree.nv))
        rest = np.einsum("nij,nj->ni", self._rows(q, still, still), phi)
        for c in range(self.tree.nv):
            unit = still.copy()
            unit[:, c] = 1.0
            M[:, :, c] = np.einsum("nij,nj->ni", self._rows(q, still, unit), phi) - rest


def positive_definite(M: Array) -> Array:
    """Whether each M (n, d, d) is positive definite (n,), in joints' own units."""
    size = np.sqrt(np.abs(np.einsum("nii->ni", M)))
    size[~(size > 0.0)] = 1.0
    scaled = M / (size[:, :, None] * size[:, None, :])
    smallest: Array = np.linalg.eigvalsh(0.5 * (scaled + scaled.transpose(0, 2, 1)))[:, 0]
    return np.asarray(smallest > 0.0)
