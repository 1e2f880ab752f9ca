"""Estimators: one algorithm a file. None of them ever sees the truth."""

from testbed.estimators.bls_logdet import BLSLogDet
from testbed.estimators.riv import RIV
from testbed.estimators.rls import RLS
from testbed.estimators.rls_l2 import RLSL2
from testbed.estimators.rls_logdet import RLSLogDet
from testbed.estimators.rtls import RTLS
from testbed.estimators.rtls_isvd import RTLSISVD
from testbed.estimators.wrap import wrap

__all__ = [
    "RIV",
    "RLS",
    "RLSL2",
    "RTLS",
    "RTLSISVD",
    "BLSLogDet",
    "RLSLogDet",
    "wrap",
]
