"""Scores: how good an estimate is, read off running sums."""

from testbed.scores.metrics import evaluate
from testbed.scores.tally import Tally, count_inconsistent

__all__ = ["Tally", "count_inconsistent", "evaluate"]
