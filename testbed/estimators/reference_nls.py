"""The two parameterisations that Rucker 2022 compares log-Cholesky with.

They differ from `log_cholesky_nls` in the map alone. Their second derivatives are not written out:
the Hessian is the convex one seen through the map, which is exact at the minimum.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from testbed.core.registry import estimator
from testbed.estimators.nls import NLS
from testbed.estimators.nls_coordinates import Chart
from testbed.inertia import (
    eigenvalue_jacobian,
    eigenvalue_to_phi,
    exponential_jacobian,
    exponential_to_phi,
)

EXPONENTIAL = Chart(
    exponential_to_phi,
    exponential_jacobian,
    None,
    log_det=np.array([1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),  # tr Q
    start=np.zeros(10),
)

# At three equal moments a rotation changes nothing: the gradient there does not see the axes. A
# tenth of a difference between the moments at the start is enough to turn them.
EIGENVALUE = Chart(
    eigenvalue_to_phi,
    eigenvalue_jacobian,
    None,
    log_det=np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0]),  # log m + Σ log L
    start=np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.1, 0.0, -0.1]),
)


@estimator("exponential_nls", claims={"consistent"}, tags={"reference"})
class ExponentialNLS(NLS):
    """Batch least squares in exponential coordinates, J = exp Q (Rucker 2022, IV-A)."""

    chart: ClassVar[Chart] = EXPONENTIAL


@estimator("eigenvalue_nls", claims={"consistent"}, tags={"reference"})
class EigenvalueNLS(NLS):
    """Batch least squares in principal moments and axes (Rucker 2022, III): singular for balls."""

    chart: ClassVar[Chart] = EIGENVALUE
