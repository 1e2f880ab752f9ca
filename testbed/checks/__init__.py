"""Public conformance battery: what users rely on, asked of any estimator, plant or regressor."""

from testbed.checks.battery import Battery, Check, Failed, NotApplicable
from testbed.checks.report import Failure, Report
from testbed.checks.run import check_estimator, check_plant, check_regressor

__all__ = [
    "Battery",
    "Check",
    "Failed",
    "Failure",
    "NotApplicable",
    "Report",
    "check_estimator",
    "check_plant",
    "check_regressor",
]
