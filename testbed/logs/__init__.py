"""Logs: what a run looked like, in a file that outlives it."""

from testbed.logs.recorder import Recorder

__all__ = ["Recorder"]
