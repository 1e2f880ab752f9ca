"""The stress suite: forgetting rules and estimators on a grid of changes, motions and noise.

found = testbed.stress.stress(["rls:forgetting=0.99"], extent="quick")
found.leaderboard
"""

from testbed.stress.cells import StressCell, all_cells, curated_cells
from testbed.stress.entrants import RECOMMENDED, default_entrants
from testbed.stress.suite import Suite, stress

__all__ = [
    "RECOMMENDED",
    "StressCell",
    "Suite",
    "all_cells",
    "curated_cells",
    "default_entrants",
    "stress",
]
