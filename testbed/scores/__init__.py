"""Scores: how good an estimate is, read off running sums, and how good it could be."""

from testbed.scores import course_metrics
from testbed.scores.calibration import nees_band
from testbed.scores.course import Course
from testbed.scores.footprint import Growth
from testbed.scores.look_kernel import count_inconsistent
from testbed.scores.loop import LOOP_METRICS, Loop
from testbed.scores.metrics import evaluate
from testbed.scores.shift import Shift
from testbed.scores.stopwatch import Stopwatch
from testbed.scores.tally import Tally
from testbed.scores.words import bound_summary, excitation_summary

__all__ = [
    "LOOP_METRICS",
    "Course",
    "Growth",
    "Loop",
    "Shift",
    "Stopwatch",
    "Tally",
    "bound_summary",
    "count_inconsistent",
    "course_metrics",
    "evaluate",
    "excitation_summary",
    "nees_band",
]
