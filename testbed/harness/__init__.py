"""The harness: scenarios, the one step, and runs."""

from testbed.harness.result import Result
from testbed.harness.run import run
from testbed.harness.scenario import Scenario
from testbed.harness.session import Session

__all__ = ["Result", "Scenario", "Session", "run"]
