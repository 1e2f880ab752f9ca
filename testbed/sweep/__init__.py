"""Studies: sweeps over seeds, grids and estimators, comparisons, tuning, and their tables.

    study = testbed.sweep("arm_grasp", seeds="0:20", estimators=["rls"], out="results/grasp")
    study.rows()

The room is also the function: `testbed.sweep(…)` calls `testbed.sweep.study.sweep`.
"""

from __future__ import annotations

import sys
import types
from typing import Any

from testbed.sweep.comparison import Comparison, compare, compare_rows
from testbed.sweep.study import Study, sweep

__all__ = ["Comparison", "Study", "compare", "compare_rows", "sweep"]


class _Room(types.ModuleType):
    """A module that can be called: importing the room does not hide `testbed.sweep(…)`."""

    def __call__(self, *args: Any, **kwargs: Any) -> Study:
        return sweep(*args, **kwargs)


sys.modules[__name__].__class__ = _Room
