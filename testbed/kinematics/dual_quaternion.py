"""Unit dual quaternions: a pose of a rigid body as one number with a product.

    p = q + ε ½ l∘q                                            (Ekal & Ventura 2020, eq. 4)

q turns body axes into world axes, l is the position of the body origin in the world. Quaternions
are scalar first, (…, 4); a dual quaternion is [a, b] (…, 8) for a + ε b, ε² = 0. The product's
dual part is a₁∘b₂ + b₁∘a₂ (the order in eq. 3's last term is a slip), and p has unit norm where
|a| = 1 and a†∘b + b†∘a = 0.

All functions are batched over leading dimensions.
"""

from __future__ import annotations

import numpy as np

from testbed.core.signals import Array


def multiply(p: Array, q: Array) -> Array:
    """The quaternion product p∘q (…, 4)."""
    p, q = np.broadcast_arrays(p, q)
    out = np.empty(p.shape)
    v, w = p[..., 1:], q[..., 1:]
    out[..., 0] = p[..., 0] * q[..., 0] - np.sum(v * w, axis=-1)
    out[..., 1:] = p[..., :1] * w + q[..., :1] * v + np.cross(v, w)
    return out


def conjugate(q: Array) -> Array:
    """q† (…, 4): the inverse of a unit quaternion."""
    return np.asarray(q * np.array([1.0, -1.0, -1.0, -1.0]))


def normalise(q: Array) -> Array:
    """q over its norm (…, 4): what a noisy sensor says is no unit quaternion."""
    return np.asarray(q / np.linalg.norm(q, axis=-1, keepdims=True))


def pure(v: Array) -> Array:
    """The quaternion [0, v] (…, 4) of a vector (…, 3)."""
    out = np.zeros((*v.shape[:-1], 4))
    out[..., 1:] = v
    return out


def rotation_matrix(q: Array) -> Array:
    """R (…, 3, 3) of unit quaternions: R v is v turned from body to world axes."""
    w, x, y, z = np.moveaxis(q, -1, 0)
    R = np.empty((*q.shape[:-1], 3, 3))
    R[..., 0, 0], R[..., 1, 1] = 1 - 2 * (y * y + z * z), 1 - 2 * (x * x + z * z)
    R[..., 2, 2] = 1 - 2 * (x * x + y * y)
    R[..., 0, 1], R[..., 1, 0] = 2 * (x * y - w * z), 2 * (x * y + w * z)
    R[..., 0, 2], R[..., 2, 0] = 2 * (x * z + w * y), 2 * (x * z - w * y)
    R[..., 1, 2], R[..., 2, 1] = 2 * (y * z - w * x), 2 * (y * z + w * x)
    return R


def dual_multiply(p: Array, q: Array) -> Array:
    """The product p⊗q of dual quaternions (…, 8)."""
    real = multiply(p[..., :4], q[..., :4])
    dual = multiply(p[..., :4], q[..., 4:]) + multiply(p[..., 4:], q[..., :4])
    return np.concatenate([real, dual], axis=-1)


def dual_conjugate(p: Array) -> Array:
    """p† (…, 8), both parts conjugated: the inverse of a unit dual quaternion."""
    return np.concatenate([conjugate(p[..., :4]), conjugate(p[..., 4:])], axis=-1)


def from_pose(position: Array, quaternion: Array) -> Array:
    """The dual quaternion (…, 8) of a position (…, 3) and an attitude (…, 4), eq. 4."""
    q = normalise(quaternion)
    return np.concatenate([q, 0.5 * multiply(pure(position), q)], axis=-1)


def to_pose(p: Array) -> tuple[Array, Array]:
    """Position (…, 3) and attitude (…, 4) of a unit dual quaternion."""
    a, b = p[..., :4], p[..., 4:]
    return 2.0 * multiply(b, conjugate(a))[..., 1:], a.copy()


def step_between(first: Array, second: Array) -> Array:
    """f = p₁†⊗p₂ (…, 8), eq. 9: the motion from one pose to the next, seen from the first.

    p and −p are the same pose. Of the two, the f with a positive scalar part is given: it is the
    one near 1, whose vector parts are Φ ≈ ½hω and Ψ ≈ ½hv.
    """
    f = dual_multiply(dual_conjugate(first), second)
    return np.asarray(np.where(f[..., :1] < 0.0, -f, f))


def from_step(phi: Array, psi: Array) -> Array:
    """f (…, 8) of its vector parts Φ, Ψ (…, 3), |Φ| < 1, eq. 11: |f| = 1 gives the scalars."""
    s = np.sqrt(1.0 - np.sum(phi * phi, axis=-1))
    out = np.empty((*phi.shape[:-1], 8))
    out[..., 0], out[..., 1:4] = s, phi
    out[..., 4], out[..., 5:] = -np.sum(phi * psi, axis=-1) / s, psi
    return out
