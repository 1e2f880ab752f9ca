"""The battery of estimators; the checks themselves stand in files by theme."""

from testbed.checks.battery import Battery

check = Battery("estimator")
