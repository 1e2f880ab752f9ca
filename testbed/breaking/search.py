"""CMA-ES from the nominal scenario outwards (Hansen 2016, `cma` on PyPI).

What is minimised is how far out a violation is to be expected in the direction of a run: with m₀
the margin of the nominal scenario and m that of a run at distance d, on a straight line

    d* = d · m₀ / (m₀ − m)                                     infinite where m ≤ m₀

So a run that holds all its rules still tells which way is worth going, and one that breaks them
by far counts as milder than it is. After every generation the best direction is tried at the
distance that is asked for, and then, twice, the one in which a straight line through all runs so
far rises most: a generation has fewer runs than there are factors, but not every factor matters.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from testbed.breaking.line import Line
from testbed.breaking.trial import Outcome, Trials
from testbed.core.errors import BadInput
from testbed.core.signals import Array

MILD = 1.0  # distance at which a violation is mild: as far as one factor alone at its limit
START = 0.25  # σ at the start, in units of the declared ranges
FARTHEST = 1e3  # d* of a direction that leads nowhere
_STEEPEST = 2  # runs in the steepest direction after each generation
_NEARLY = 0.999  # of the distance asked for
_OUTSIDE = 1e-3  # cost of a coordinate outside its range, squared: lets the search come back
_RESTART = 10_007  # between the seeds of one search's starts


def expected(outcome: Outcome, nominal: Outcome) -> float:
    """Distance d* at which a violation is to be expected in this direction."""
    gained = outcome.margin - nominal.margin
    if gained <= 0 or outcome.distance == 0:
        return FARTHEST + min(-gained, FARTHEST)
    return min(outcome.distance * -nominal.margin / gained, FARTHEST)


def search(
    trials: Trials, nominal: Outcome, seed: int, budget: int, reserve: int = 0, mild: float = MILD
) -> Outcome | None:
    """Look for a violation at most `mild` away from the nominal.

    Args:
        trials: Makes the runs.
        nominal: The run of the nominal scenario, which holds all rules.
        seed: Of the search's own randomness.
        budget: Runs that it may make.
        reserve: How many of them to leave once a violation is there that is not mild yet.
        mild: Stop at a violation that is as near as this.

    Returns:
        The mildest violation, or None.
    """
    cma = import_cma()
    n = len(trials.space)
    stop = trials.runs + budget
    strategy, starts, line = None, 0, Line(nominal)
    while trials.runs < stop:
        if strategy is None or strategy.stop():  # converged on nothing: the budget is for more
            options = {"seed": seed + 1 + _RESTART * starts, "verbose": -9}  # 0: the clock's
            starts += 1
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                strategy = cma.CMAEvolutionStrategy(np.zeros(n), START, options)
        asked = strategy.ask()
        costs = []
        best: Outcome | None = None
        for x in asked:
            if trials.runs >= (stop - reserve if trials.mildest else stop):
                return trials.mildest
            outcome = line.add(trials(x))
            if outcome.violated and outcome.distance <= mild:
                return outcome
            far = expected(outcome, nominal)
            if best is None or far < expected(best, nominal):
                best = outcome
            costs.append(far + _OUTSIDE * float(np.sum((x - outcome.u) ** 2)))
        strategy.tell(asked, costs)
        assert best is not None
        for turn in range(1 + _STEEPEST):
            u = _at(trials, line.steepest() if turn else best.u, _NEARLY * mild)
            if u is not None and trials.runs < stop:
                tried = line.add(trials(u))
                if tried.violated:
                    return tried
    return trials.mildest


def _at(trials: Trials, way: Array, distance: float) -> Array | None:
    """The point of the space in this direction at this distance; None where it leads nowhere."""
    way = trials.clip(way)
    if not np.any(way):
        return None
    point: Array = way * (distance / np.linalg.norm(way))
    return point


def import_cma() -> Any:
    """The package, or one line that says how to get it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns of plots that nobody asked for
            import cma
    except ImportError:
        raise BadInput(
            "testbed break needs the package `cma`: pip install 'inertia-testbed[search]'"
        ) from None
    return cma
