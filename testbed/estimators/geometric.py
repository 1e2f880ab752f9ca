"""Identification by intrinsic distances (Lee & Park 2018, eq. 19), in tens of steps.

    min Σᵢ wᵢ d(Φ, Hᵢ)² + γ d(Φ, Φ₀)²,   wᵢ = aᵢᵀM⁻¹aᵢ/σᵢ²             (eqs. 19, 20 and Remark 2)

The paper alternates projections and Karcher means, which is gradient descent with a fixed step and
takes it 23 minutes (`geometric_cyclic`). `geometric_newton` goes to the same minimum.

With a very weak prior the frozen weights reward bodies that grow: d(Φ, Hᵢ) falls with the size of
Φ while wᵢ stays. Below γ ≈ 1 there are two minima; `geometric_direct` does not have that trait.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from testbed.core.registry import estimator
from testbed.core.signals import Array
from testbed.estimators.geometric_batch import Answer, GeometricBatch
from testbed.estimators.geometric_newton import minimise_intrinsic, reachable


@estimator("geometric", claims={"consistent", "invariant"})
class Geometric(GeometricBatch):
    """Least squares in geodesic distances, batch: bodies that stay bodies (Lee & Park 2018).

    Args:
        gamma: Strength of the prior: "declared" (1/e² of the problem's covariance), "rule", "cv"
            (motions left out in turn), or a number.
        tau: γ = 1/τ² instead.
        row_std: Noise of the rows instead of the declared one; "residuals" takes that of each row
            of an equation from the fit itself.
        nuisance: "plate_offset", "row_offset" or None.
        nuisance_std: Its standard deviation before any data.
        samples: Equations to keep, spread evenly over all; None keeps every one.
    """

    expected_failed_checks: ClassVar[Mapping[str, str]] = {
        "declared_noise": "noisy rows have no projection: many are discarded, the rest is biased",
    }

    def __init__(
        self,
        gamma: float | str = "declared",
        tau: float | None = None,
        row_std: float | Sequence[float] | str | None = None,
        nuisance: str | None = None,
        nuisance_std: float | Sequence[float] | None = None,
        samples: int | None = 200,
    ) -> None:
        super().__init__(gamma, tau, row_std, nuisance, nuisance_std, samples)

    def _minimise(self, z: Array, residual: Array, gamma: float, start: Array | None) -> Answer:
        found = minimise_intrinsic(z, residual, gamma, self._whitened.bodies, start)
        told = {"iterations": found.iterations, "decrement": found.decrement}
        return Answer(found.x, found.kept, found.converged, told)

    def _reached(self, z: Array, residual: Array, gamma: float) -> NDArray[np.bool_]:
        return reachable(z, residual, gamma, self._whitened.bodies)
