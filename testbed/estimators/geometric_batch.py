"""What the batch estimators of Lee & Park 2018 share: rows, noise, the choice of γ, the answer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from testbed.core.errors import BadInput
from testbed.core.signals import Array
from testbed.core.types import Equation, Estimate, Problem
from testbed.estimators.direct_newton import minimise_direct
from testbed.estimators.gamma import by_rule, check_gamma, cross_validate, declared
from testbed.estimators.geometric_prior import Chart, bodies_of
from testbed.estimators.logdet import cone_margin
from testbed.estimators.nuisance import make_nuisance
from testbed.estimators.row_weights import RowWeights, whitened_rows
from testbed.estimators.whitened import Whitened

RESIDUALS = "residuals"
NOT_CONVERGED = "not converged"


class Rows(NamedTuple):
    """Everything seen: z (N, size) of unit noise, b − A θ₀ (N,), motion and place in equation."""

    z: Array
    residual: Array
    segment: NDArray[np.intp]
    place: NDArray[np.intp]

    def only(self, kept: NDArray[np.bool_]) -> Rows:
        """Some of them (N,)."""
        return Rows(self.z[kept], self.residual[kept], self.segment[kept], self.place[kept])

    def scaled(self, noise: Array) -> Rows:
        """The same with the noise of each place in an equation multiplied by `noise` (k,)."""
        factor = 1.0 / noise[self.place]
        return self._replace(z=self.z * factor[:, None], residual=self.residual * factor)


class Answer(NamedTuple):
    """Of a minimisation: x (size,), rows that took part (N,), whether it is one, what to tell."""

    x: Array
    kept: NDArray[np.bool_]
    converged: bool
    info: dict[str, Any]


class GeometricBatch:
    """Collects rows in whitened coordinates; subclasses say what to minimise.

    Args:
        gamma: Strength of the prior: "declared" (1/e² of the problem's covariance), "rule", "cv",
            or a number.
        tau: γ = 1/τ² instead.
        row_std: Noise of the rows instead of the declared one; "residuals" takes that of each row
            of an equation from the fit itself.
        nuisance: "plate_offset", "row_offset" or None.
        nuisance_std: Its standard deviation before any data.
        samples: Equations to keep, spread evenly over all; None keeps every one.
    """

    inputs: ClassVar[Mapping[str, str]] = {"eq": "@measured"}
    name: ClassVar[str]

    def __init__(
        self,
        gamma: float | str = "declared",
        tau: float | None = None,
        row_std: float | Sequence[float] | str | None = None,
        nuisance: str | None = None,
        nuisance_std: float | Sequence[float] | None = None,
        samples: int | None = None,
    ) -> None:
        check_gamma(gamma, tau)
        make_nuisance(nuisance, nuisance_std)
        if samples is not None and (isinstance(samples, bool) or samples < 1 or samples % 1):
            raise BadInput(f"samples must be a whole number from 1 on, got {samples!r}")
        if isinstance(row_std, str) and row_std != RESIDUALS:
            raise BadInput(f'row_std must be positive numbers or "{RESIDUALS}", got {row_std!r}')
        self.gamma, self.tau, self.samples = gamma, tau, samples
        self.residuals = row_std == RESIDUALS if isinstance(row_std, str) else False
        self.weights = RowWeights(None if isinstance(row_std, str) else row_std)
        self.nuisance, self.nuisance_std = nuisance, nuisance_std

    def reset(self, problem: Problem) -> None:
        """No data yet: the estimate is the prior."""
        self.problem, self.theta = problem, problem.prior.copy()
        self._whitened = Whitened(problem, self.name)
        self._nuisance = make_nuisance(self.nuisance, self.nuisance_std)
        self._kept: list[tuple[Array, Array, int]] = []
        self._seen, self._stride = 0, 1

    def update(self, eq: Equation) -> Estimate:
        """Take in k rows; nothing new to say before the end."""
        if eq.A.shape[1] != self.theta.size:
            raise BadInput(f"A must have {self.theta.size} columns, got {eq.A.shape[1]}")
        if not len(eq.b):
            return Estimate(self.theta)
        if self._nuisance is not None and not self._kept:
            self._nuisance = make_nuisance(self.nuisance, self.nuisance_std, len(eq.b))
            assert self._nuisance is not None
            self._whitened = Whitened(self.problem, self.name, self._nuisance.std)
        columns = [] if self._nuisance is None else [self._nuisance.of(eq)]
        rows = whitened_rows(self.weights.of(eq), eq.A, *columns, eq.b)
        if rows is None:
            return Estimate(self.theta, None, {"skipped": "non-finite data"})
        p = self.theta.size
        extra = rows[:, p:-1] if columns else None
        if self._seen % self._stride == 0:
            z, residual = self._whitened.rows(rows[:, :p], rows[:, -1], extra)
            self._kept.append((z, residual, eq.segment))
            if self.samples is not None and len(self._kept) >= 2 * self.samples:
                del self._kept[1::2]
                self._stride *= 2
        self._seen += 1
        return Estimate(self.theta)

    def solve(self) -> Estimate:
        """Minimise over everything that was kept."""
        rows = self._rows()
        if rows is None:
            return Estimate(self.theta)
        info: dict[str, Any] = {"rows": len(rows.z)}
        if self.residuals or self.gamma == "cv":
            # A row that will be discarded must not choose the noise or γ of the others, either.
            rows = rows.only(self._reached(rows.z, rows.residual, declared(self.problem)))
        if self.residuals:
            rows = self._known_noise(rows, info)
        gamma, _ = self._choose(rows, self._fit, info)
        x, kept, converged, found = self._minimise(rows.z, rows.residual, gamma, None)
        discarded = info["rows"] - int(np.count_nonzero(kept))
        info |= {"gamma": gamma, "tau": 1.0 / math.sqrt(gamma), "discarded": discarded, **found}
        if not converged:
            told = [info["fallback"]] if "fallback" in info else []
            info["fallback"] = "; ".join([*told, NOT_CONVERGED])
        Y = bodies_of(x, self._whitened.bodies)
        self.theta = self._whitened.theta(Y, x)
        if self._nuisance is not None:
            values = self._whitened.nuisances(x).tolist()
            info["nuisance"] = dict(zip(self._nuisance.names, values, strict=True))
        info["margin"] = cone_margin(self.theta[: self._whitened.inertial].reshape(-1, 10))
        self._solved = rows.z[kept], gamma, Y
        return Estimate(self.theta, self.covariance, info)

    def covariance(self) -> Array:
        """Inverse second derivative of the least-squares objective at the answer (p, p)."""
        W, p = self._whitened, self.theta.size
        unit = block_diag(*W.basis, np.diag(W.std))
        cov = unit @ np.linalg.solve(self._curvature(*self._solved), unit.T)
        return 0.5 * (cov + cov.T)[:p, :p]

    # ----- what subclasses say -------------------------------------------------------------

    def _minimise(self, z: Array, residual: Array, gamma: float, start: Array | None) -> Answer:
        """From start (size,), or from the prior."""
        raise NotImplementedError

    def _reached(self, z: Array, residual: Array, gamma: float) -> NDArray[np.bool_]:
        """Which rows can be fitted at all (N,): every one, unless they are projected onto."""
        return np.ones(len(z), dtype=bool)

    # ----- inside --------------------------------------------------------------------------

    def _fit(self, z: Array, residual: Array, gamma: float, start: Array | None) -> Array:
        return self._minimise(z, residual, gamma, start).x

    def _rows(self) -> Rows | None:
        kept = self._kept
        if self.samples is not None and len(kept) > self.samples:
            at = np.linspace(0, len(kept) - 1, self.samples).round().astype(int)
            kept = [kept[i] for i in at]
        sizes = [len(residual) for _, residual, _ in kept]
        if not sum(sizes):
            return None
        segment = np.repeat([motion for _, _, motion in kept], sizes).astype(np.intp)
        place = np.concatenate([np.arange(k) for k in sizes]).astype(np.intp)
        z, residual = (np.concatenate([row[i] for row in kept]) for i in (0, 1))
        return Rows(z, residual, segment, place)

    def _known_noise(self, rows: Rows, info: dict[str, Any]) -> Rows:
        """Rows whose noise is that of their residuals, by Remark 3, the quickest fit.

        Twice: the first scale is that of the prior's own residuals.
        """
        noise = _rms(rows.residual, rows.place)
        for _ in range(2):
            now = rows.scaled(noise)
            gamma, left = self._choose(now, self._by_direct, {})
            if left is None:
                left = now.residual - now.z @ self._by_direct(now.z, now.residual, gamma, None)
            noise = noise * _rms(left, rows.place)
        info["noise"] = noise.tolist()
        return rows.scaled(noise)

    def _by_direct(self, z: Array, residual: Array, gamma: float, start: Array | None) -> Array:
        return minimise_direct(z.T @ z, z.T @ residual, gamma, start, self._whitened.bodies).x

    def _choose(self, rows: Rows, fit: Any, info: dict[str, Any]) -> tuple[float, Array | None]:
        """γ, and errors of prediction where motions were left out."""
        if self.tau is not None:
            return 1.0 / self.tau**2, None
        if self.gamma == "rule":
            return max(by_rule(rows.z, self._whitened.inertial), 1e-300), None
        if self.gamma == "cv":
            if len(np.unique(rows.segment)) < 2:
                info["fallback"] = "one motion only: gamma as declared"
            else:
                gamma, errors, info["cv"] = cross_validate(rows.z, rows.residual, rows.segment, fit)
                return gamma, errors
        if isinstance(self.gamma, str):
            return declared(self.problem), None
        return float(self.gamma), None

    def _curvature(self, z: Array, gamma: float, Y: Array) -> Array:
        """Second derivative (size, size) along x."""
        chart = Chart(Y)
        inverse = np.linalg.inv(chart.basis())  # (nb, 10, 10)
        prior = inverse.transpose(0, 2, 1) * chart.clipped().reshape(-1, 1, 10) @ inverse
        H: Array = z.T @ z + block_diag(*(gamma * prior), np.eye(self._whitened.std.size))
        return H


def _rms(values: Array, place: NDArray[np.intp]) -> Array:
    """Of each place (k,); never nothing."""
    count = np.maximum(np.bincount(place), 1)
    squares = np.bincount(place, weights=values**2) / count
    floor = 1e-12 * max(float(squares.max(initial=0.0)), 1e-300)
    return np.sqrt(np.maximum(squares, floor))
