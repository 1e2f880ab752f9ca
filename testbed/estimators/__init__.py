"""Estimators: one algorithm a file. None of them ever sees the truth."""

from testbed.estimators.bls_logdet import BLSLogDet
from testbed.estimators.geodesic_ekf import GeodesicEKF
from testbed.estimators.geometric import Geometric
from testbed.estimators.geometric_cyclic import GeometricCyclic
from testbed.estimators.geometric_direct import GeometricDirect
from testbed.estimators.geometric_stream import GeometricStream
from testbed.estimators.log_cholesky_nls import LogCholeskyNLS
from testbed.estimators.natural_adaptation import NaturalAdaptation
from testbed.estimators.qr_ls import QRLS
from testbed.estimators.qr_sdp import QRSDP
from testbed.estimators.reference_nls import EigenvalueNLS, ExponentialNLS
from testbed.estimators.riv import RIV
from testbed.estimators.rls import RLS
from testbed.estimators.rls_l2 import RLSL2
from testbed.estimators.rls_logdet import RLSLogDet
from testbed.estimators.rtls import RTLS
from testbed.estimators.rtls_isvd import RTLSISVD
from testbed.estimators.sdp_batch import SDPBatch
from testbed.estimators.wrap import wrap

__all__ = [
    "QRLS",
    "QRSDP",
    "RIV",
    "RLS",
    "RLSL2",
    "RTLS",
    "RTLSISVD",
    "BLSLogDet",
    "EigenvalueNLS",
    "ExponentialNLS",
    "GeodesicEKF",
    "Geometric",
    "GeometricCyclic",
    "GeometricDirect",
    "GeometricStream",
    "LogCholeskyNLS",
    "NaturalAdaptation",
    "RLSLogDet",
    "SDPBatch",
    "wrap",
]
