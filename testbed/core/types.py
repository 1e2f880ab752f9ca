"""What flows through the one loop: samples in, equations across, estimates out.

θ is laid out as 10 parameters a body, `[m, hx, hy, hz, Ixx, Iyy, Izz, Ixy, Iyz, Ixz]` about
the body-frame origin with h = m c, body after body, then the extra parameters (viscous
friction a joint, Coulomb friction a joint, offsets).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from testbed.core.errors import BadInput
from testbed.core.signals import Array, Signals

PARAMETERS = ("m", "hx", "hy", "hz", "Ixx", "Iyy", "Izz", "Ixy", "Iyz", "Ixz")


@dataclass(frozen=True, slots=True)
class Sample:
    """What the sensors say at one instant: all an estimator may ever see.

    Args:
        t: Time in seconds.
        groups: Signal group → channel → array. `measured` is always there; a planned
            trajectory is `reference`.
        segment: Which motion or log the sample is from.
    """

    t: float
    groups: Mapping[str, Signals]
    segment: int = 0

    def __getitem__(self, group: str) -> Signals:
        """The group's signals, e.g. `sample["measured"]["gyro"]`."""
        return self.groups[group]


@dataclass(frozen=True, slots=True)
class Truth:
    """The parameters at this instant and the clean channels. Reaches the scores only."""

    theta: Array  # (p,)
    clean: Signals


@dataclass(frozen=True, slots=True)
class Equation:
    """Linear measurement rows A θ = b + noise at one instant.

    Args:
        t: Time in seconds.
        A: Regressor (k, p).
        b: Measurement (k,).
        cov: Covariance of the noise of b (k, k); None means identity.
        column_cov: Mean over the cov-whitened rows of E[δδᵀ], δ the error of a row of
            [A | b]: (p + 1, p + 1); a zero row marks an error-free column.
        segment: Which motion or log the rows are from.
        whitener: cov^(−½) (k, k), where whoever made the equation has it already.
        sources: Signal → which entries of [A | b] (k, p + 1) come from it, where that is known.
    """

    t: float
    A: Array
    b: Array
    cov: Array | None = None
    column_cov: Array | None = None
    segment: int = 0
    whitener: Array | None = None
    sources: Mapping[str, NDArray[np.bool_]] | None = None

    def __post_init__(self) -> None:
        if self.A.ndim != 2 or self.b.shape != (self.A.shape[0],):
            raise BadInput(
                f"an equation needs A of shape (k, p) and b of shape (k,), "
                f"got {self.A.shape} and {self.b.shape}"
            )
        k = len(self.b)
        if self.cov is not None and self.cov.shape != (k, k):
            raise BadInput(f"cov must have shape {(k, k)}, got {self.cov.shape}")
        # One layout for all: compiled code is compiled once, and nobody writes into the rows.
        object.__setattr__(self, "A", _frozen(self.A))
        object.__setattr__(self, "b", _frozen(self.b))

    def whitened(self) -> tuple[Array, Array]:
        """The rows scaled to unit noise: L⁻¹A and L⁻¹b with L Lᵀ = cov."""
        W = self.whitening()
        return (self.A, self.b) if W is None else (W @ self.A, W @ self.b)

    def whitening(self) -> Array | None:
        """L⁻¹ (k, k), or None for the identity."""
        if self.whitener is None and self.cov is not None:
            return whitener(self.cov)
        return self.whitener


def _frozen(array: Array) -> Array:
    """The same numbers as read-only, contiguous float64; a view where they are so already."""
    if array.dtype != np.float64 or not array.flags.c_contiguous:
        array = np.ascontiguousarray(array, dtype=float)
    elif not array.flags.writeable:
        return array
    array = array.view()
    array.flags.writeable = False
    return array


def whitener(cov: Array) -> Array:
    """L⁻¹ with L Lᵀ = cov, so that L⁻¹ noise has unit covariance. Shape (k, k)."""
    try:
        return np.linalg.inv(np.linalg.cholesky(cov))
    except np.linalg.LinAlgError:
        raise BadInput("the covariance of an equation must be positive definite") from None


def _is_covariance(P: Array) -> bool:
    """Whether P (p, p) is symmetric and positive definite, whatever the units of its rows."""
    size = np.sqrt(np.abs(np.diag(P)))
    if not np.all(np.isfinite(P)) or not np.all(np.diag(P) > 0.0):
        return False
    scaled = P / np.outer(size, size)
    return bool(
        np.allclose(scaled, scaled.T, rtol=0, atol=1e-8) and np.linalg.eigvalsh(scaled)[0] > 0
    )


@dataclass(frozen=True, slots=True)
class Estimate:
    """What an estimator returns.

    Args:
        theta: Parameters (p,), in the layout of the problem. It may be what the estimator goes on
            with: copy it before writing into it.
        cov: Covariance (p, p), or a function that works it out when somebody asks: of the estimator
            as it is then.
        info: Whatever else it has to say. Shared keys: `change`, `fallback`, `skipped`,
            `iterations`, `margin`, `gap`.
    """

    theta: Array
    cov: Array | Callable[[], Array] | None = None
    info: Mapping[str, Any] = field(default_factory=dict)

    def covariance(self) -> Array | None:
        """The covariance (p, p) as an array, or None where the estimator gives none."""
        return self.cov() if callable(self.cov) else self.cov


@dataclass(frozen=True, eq=False)
class Problem:
    """What an estimator is told at reset. Nothing of it comes from the truth.

    Args:
        prior: Parameters before any data, flat (10·bodies + extra,).
        dt: Time between samples in seconds.
        bodies: Names of the bodies; their number is inferred from `prior` when left out.
        extra: Names of the extra parameters, or how many there are.
        prior_cov: Covariance of prior − truth as declared (p, p), or None.
        scale: Typical size of each parameter (p,); ones when left out.
        lower: Lower bounds (p,), −inf where there are none.
        upper: Upper bounds (p,).
        noise: Declared standard deviation of each measured channel.
        rng: The estimator's own random stream.
    """

    prior: Array
    dt: float = 1e-3
    bodies: Sequence[str] = ()
    extra: Sequence[str] | int = ()
    prior_cov: Array | None = None
    scale: Array | None = None
    lower: Array | None = None
    upper: Array | None = None
    noise: Mapping[str, Array] = field(default_factory=dict)
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def __post_init__(self) -> None:
        def put(name: str, value: object) -> None:
            object.__setattr__(self, name, value)

        prior = np.array(self.prior, dtype=float)
        if prior.ndim != 1:
            raise BadInput(f"prior must be flat, (10·bodies + extra,), got shape {prior.shape}")
        extra = (
            tuple(f"extra{i}" for i in range(self.extra))
            if isinstance(self.extra, int)
            else tuple(self.extra)
        )
        inertial = prior.size - len(extra)
        bodies = tuple(self.bodies) or tuple(f"body{i}" for i in range(inertial // 10))
        if inertial != 10 * len(bodies):
            raise BadInput(
                f"prior has {prior.size} entries, but {len(bodies)} bodies and {len(extra)} "
                f"extra parameters need {10 * len(bodies) + len(extra)}"
            )
        if not prior.size or not np.all(np.isfinite(prior)):
            raise BadInput("prior must hold at least one number, and only finite ones")
        if not 0 < self.dt < np.inf:
            raise BadInput(f"dt must be a positive time in seconds, got {self.dt}")
        if self.prior_cov is not None and np.shape(self.prior_cov) != (prior.size, prior.size):
            raise BadInput(
                f"prior_cov must have shape {(prior.size, prior.size)}, "
                f"got {np.shape(self.prior_cov)}"
            )
        if self.prior_cov is not None and not _is_covariance(np.asarray(self.prior_cov, float)):
            raise BadInput("prior_cov must be a symmetric, positive definite matrix")
        put("prior", prior)
        put("extra", extra)
        put("bodies", bodies)
        for name, default in (("scale", 1.0), ("lower", -np.inf), ("upper", np.inf)):
            value = getattr(self, name)
            value = np.full(prior.size, default) if value is None else np.array(value, float)
            if value.shape != prior.shape:
                raise BadInput(f"{name} must have shape {prior.shape}, got {value.shape}")
            put(name, value)

    @property
    def size(self) -> int:
        """Number of parameters p."""
        return int(self.prior.size)
