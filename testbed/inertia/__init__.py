"""The algebra of inertial parameters: one order, batched everywhere, numpy only.

One body is phi = [m, hx, hy, hz, Ixx, Iyy, Izz, Ixy, Iyz, Ixz] about the body-frame origin, in
SI units; every function takes (..., 10). The conventions are stated in
:mod:`testbed.inertia.pseudo`.
"""

from testbed.inertia.bodies import body_parameters, inertia_matrix, mass_com_inertia
from testbed.inertia.consistency import consistency_margin, is_consistent
from testbed.inertia.eigenvalue import eigenvalue_jacobian, eigenvalue_to_phi, phi_to_eigenvalue
from testbed.inertia.exponential import (
    exponential_jacobian,
    exponential_to_phi,
    phi_to_exponential,
)
from testbed.inertia.frames import change_frame, change_units, combine, spatial_inertia
from testbed.inertia.geometry import affine_distance, geodesic, logdet_divergence
from testbed.inertia.log_cholesky import (
    log_cholesky_hessian,
    log_cholesky_jacobian,
    log_cholesky_to_phi,
    phi_to_log_cholesky,
)
from testbed.inertia.mean import karcher_mean
from testbed.inertia.orders import ORDERS, from_order, to_order
from testbed.inertia.pseudo import from_pseudo_inertia, pseudo_inertia
from testbed.inertia.sampling import natural_basis, natural_move, sample_around
from testbed.inertia.solids import box, cylinder, ellipsoid, equivalent_ellipsoid, sphere
from testbed.inertia.subspace import identifiable_subspace
from testbed.inertia.value import InertialParameters

__all__ = [
    "ORDERS",
    "InertialParameters",
    "affine_distance",
    "body_parameters",
    "box",
    "change_frame",
    "change_units",
    "combine",
    "consistency_margin",
    "cylinder",
    "eigenvalue_jacobian",
    "eigenvalue_to_phi",
    "ellipsoid",
    "equivalent_ellipsoid",
    "exponential_jacobian",
    "exponential_to_phi",
    "from_order",
    "from_pseudo_inertia",
    "geodesic",
    "identifiable_subspace",
    "inertia_matrix",
    "is_consistent",
    "karcher_mean",
    "log_cholesky_hessian",
    "log_cholesky_jacobian",
    "log_cholesky_to_phi",
    "logdet_divergence",
    "mass_com_inertia",
    "natural_basis",
    "natural_move",
    "phi_to_eigenvalue",
    "phi_to_exponential",
    "phi_to_log_cholesky",
    "pseudo_inertia",
    "sample_around",
    "spatial_inertia",
    "sphere",
    "to_order",
]
