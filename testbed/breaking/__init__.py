"""`testbed break`: the mildest scenario in which an estimator violates an accept rule.

    found = testbed.breaking.break_estimator("rls:forgetting=0.99", scenario="calm_flyer")
    found.distance, found.violated, found.data

A scenario is the *nominal* case. A search space of factors leads away from it (`space`), CMA-ES
looks for a violation near it (`search`), and what is found is shrunk to the few factors that
matter (`shrink`) and written as a scenario of its own (`scenario_file`).
"""

from testbed.breaking.hunt import Breakage, break_estimator
from testbed.breaking.space import read_ranges, search_space

__all__ = ["Breakage", "break_estimator", "read_ranges", "search_space"]
