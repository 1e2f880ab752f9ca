"""Least squares with the geodesic prior (Lee & Park 2018, Remark 3) by Newton's method.

    min ‖A Φ − b‖²_{Σ⁻¹} + γ d(Φ, Φ₀)²

The paper mentions it in passing and prefers eq. 19. It is the better of the two: it needs no
projections, discards nothing and predicts other motions better (docs/geometric.md).
"""

from __future__ import annotations

import numpy as np

from testbed.core.registry import estimator
from testbed.core.signals import Array
from testbed.estimators.direct_newton import minimise_direct
from testbed.estimators.geometric_batch import Answer, GeometricBatch


@estimator("geometric_direct", claims={"consistent", "invariant"})
class GeometricDirect(GeometricBatch):
    """Least squares with the geodesic distance as prior, batch (Lee & Park 2018, Remark 3).

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

    @property
    def expected_failed_checks(self) -> dict[str, str]:
        """Of `testbed check`: it keeps all rows, unless told how many."""
        if self.samples is not None:
            return {}
        return {"bounded_memory": "keeps every row until it is solved; `samples` bounds that"}

    def _minimise(self, z: Array, residual: Array, gamma: float, start: Array | None) -> Answer:
        found = minimise_direct(z.T @ z, z.T @ residual, gamma, start, self._whitened.bodies)
        told = {"iterations": found.iterations, "decrement": found.decrement}
        return Answer(found.x, np.ones(len(z), dtype=bool), found.converged, told)
