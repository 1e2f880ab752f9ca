"""Shrinking: from a scenario that breaks an estimator to the few factors that matter.

One factor at a time goes back to its nominal value, the least ones first, and stays there if the
estimator still breaks a rule. Where several are left, each is tried alone, as far out as all of
them together: one cause is easier to understand than five. What is left is then moved towards the
nominal value, one factor after the other, and rounded to as few digits as do.
"""

from __future__ import annotations

import math

import numpy as np

from testbed.breaking.trial import Outcome, Trials

_HALVINGS = 4  # of the way of each factor that is left: to a sixteenth of it
_DIGITS = (1, 2, 3)  # of u, in the file


def shrink(trials: Trials, found: Outcome) -> Outcome:
    """The mildest violation that one factor at a time leads to.

    Args:
        trials: Makes the runs; its budget ends the shrinking, too.
        found: A violation.
    """
    best = found
    for i in np.argsort(np.abs(found.u)):
        if best.u[i] != 0.0:
            best = _try(trials, best, int(i), 0.0)
    best = _alone(trials, best)
    for i in np.argsort(-np.abs(best.u)):
        if best.u[i] != 0.0:
            best = _towards_nominal(trials, best, int(i))
    for i in np.flatnonzero(best.u):
        best = _rounded(trials, best, int(i))
    return best


def _try(trials: Trials, best: Outcome, i: int, u: float) -> Outcome:
    """With factor i at u, if that still violates; else as it was."""
    if trials.left < 1:
        return best
    changed = best.u.copy()
    changed[i] = u
    outcome = trials(changed)
    return outcome if outcome.violated else best


def _alone(trials: Trials, best: Outcome) -> Outcome:
    """The first factor that breaks a rule alone at this distance, if any does."""
    left = [i for i in np.argsort(-np.abs(best.u)) if best.u[i] != 0.0]
    for i in left if len(left) > 1 and best.distance <= 1.0 else ():
        if trials.left < 1:
            break
        only = np.zeros_like(best.u)
        only[i] = math.copysign(best.distance, best.u[i])
        outcome = trials(only)
        if outcome.violated:
            return outcome
    return best


def _towards_nominal(trials: Trials, best: Outcome, i: int) -> Outcome:
    """Factor i bisected between where it holds (0) and where it breaks."""
    holds = 0.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (holds + best.u[i])
        tried = _try(trials, best, i, middle)
        if tried is best:
            holds = middle
        best = tried
    return best


def _rounded(trials: Trials, best: Outcome, i: int) -> Outcome:
    """Factor i at a rounder number, never farther out than its range."""
    u = float(best.u[i])
    for digits in _DIGITS:
        for way in (math.floor, math.ceil):  # towards the nominal first
            short = math.copysign(way(abs(u) * 10**digits) / 10**digits, u)
            if 0.0 < abs(short) <= 1.0:
                tried = _try(trials, best, i, short)
                if tried is not best:
                    return tried
    return best
