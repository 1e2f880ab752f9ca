"""The little of SO(3) that the eigenvalue parameterisation needs, batched."""

from __future__ import annotations

import numpy as np

from testbed.inertia.checks import Array


def skew(v: Array) -> Array:
    """Return S(v), (..., 3, 3), with S(v) y = v × y."""
    S = np.zeros((*v.shape[:-1], 3, 3))
    S[..., 2, 1], S[..., 0, 2], S[..., 1, 0] = v[..., 0], v[..., 1], v[..., 2]
    S[..., 1, 2], S[..., 2, 0], S[..., 0, 1] = -v[..., 0], -v[..., 1], -v[..., 2]
    return S


def rotation_exp(beta: Array) -> Array:
    """Return exp(S(β)), the rotation by |β| rad about β, (..., 3, 3) (Rodrigues)."""
    angle = np.linalg.norm(beta, axis=-1)[..., np.newaxis, np.newaxis]
    S = skew(beta)
    R: Array = np.eye(3) + np.sinc(angle / np.pi) * S + _versine(angle) * (S @ S)
    return R


def rotation_log(R: Array) -> Array:
    """Return β, (..., 3), with R = exp(S(β)), for rotations by clearly less than π."""
    axis = 0.5 * (R[..., [2, 0, 1], [1, 2, 0]] - R[..., [1, 2, 0], [2, 0, 1]])  # sin(angle)·axis
    cosine = 0.5 * (np.trace(R, axis1=-2, axis2=-1) - 1.0)
    angle = np.arctan2(np.linalg.norm(axis, axis=-1), cosine)
    beta: Array = axis / np.sinc(angle / np.pi)[..., np.newaxis]
    return beta


def left_jacobian(beta: Array) -> Array:
    """Return Jₗ(β), (..., 3, 3), with d exp(S(β)) = S(Jₗ dβ) exp(S(β))."""
    angle = np.linalg.norm(beta, axis=-1)[..., np.newaxis, np.newaxis]
    S = skew(beta)
    J: Array = np.eye(3) + _versine(angle) * S + _cubic(angle) * (S @ S)
    return J


def _versine(angle: Array) -> Array:
    """(1 − cos x)/x², written as ½ sinc²(x/2): no cancellation at 0."""
    half: Array = 0.5 * np.sinc(angle / (2.0 * np.pi)) ** 2
    return half


def _cubic(angle: Array) -> Array:
    """(x − sin x)/x³, by its series below 0.5 where the difference would lose digits."""
    x2 = np.minimum(angle, 0.5) ** 2
    series = (1.0 - x2 / 20 * (1.0 - x2 / 42 * (1.0 - x2 / 72 * (1.0 - x2 / 110)))) / 6.0
    big = np.maximum(angle, 0.5)
    return np.where(angle < 0.5, series, (big - np.sin(big)) / big**3)
