"""Logs: what a run looked like, in a file that outlives it, and logs that other robots wrote."""

from testbed.logs.read import read_log
from testbed.logs.recorder import Recorder
from testbed.logs.source import LogSource
from testbed.logs.table import Table

__all__ = ["LogSource", "Recorder", "Table", "read_log"]
