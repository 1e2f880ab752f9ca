"""Log-Cholesky least squares: ten free numbers a body, every one of them possible (Rucker 2022).

The map has no singularity, and its curvature is known in closed form: Newton's method with the
exact Hessian reaches the one optimum from wherever it starts (V-A).
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from testbed.core.registry import estimator
from testbed.estimators.nls import NLS
from testbed.estimators.nls_coordinates import Chart
from testbed.inertia import log_cholesky_hessian, log_cholesky_jacobian, log_cholesky_to_phi

LOG_CHOLESKY = Chart(
    log_cholesky_to_phi,
    log_cholesky_jacobian,
    log_cholesky_hessian,
    log_det=np.array([8.0, 2.0, 2.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
    start=np.zeros(10),
)


@estimator("log_cholesky_nls", claims={"consistent", "invariant"})
class LogCholeskyNLS(NLS):
    """Batch least squares in log-Cholesky coordinates, physically consistent (Rucker 2022)."""

    chart: ClassVar[Chart] = LOG_CHOLESKY
