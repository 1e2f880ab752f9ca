"""Rucker 2022: a thousand random bodies in three parameterisations, and a leg from random starts.

`testbed reproduce rucker2022` shows it. Linear least squares answers every sixth or seventh time
with a body that cannot exist (VI-B). The three parameterisations cannot; how many steps each takes
is the paper's Fig. 1. Where the data have no interior minimiser (V-A assumes one) free coordinates
run off to infinity; then our estimators end by convex optimisation, a share of 1e-8 of the
objective above the infimum. Fig. 3 is the leg: every random start ends at the one optimum of eq.
14.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import binomtest

from testbed.core.signals import Array
from testbed.core.types import Equation, Problem
from testbed.inertia import is_consistent, logdet_divergence
from testbed.make import make_estimator
from testbed.reproduce.cho_leg import Swing, record
from testbed.reproduce.rucker_bodies import Bodies, make_bodies, rotational_inertia
from testbed.reproduce.rucker_descent import descents
from testbed.reproduce.verdict import Measured, assess, claims_of

MAPS = ("eigenvalue_nls", "exponential_nls", "log_cholesky_nls")
GAMMA = 1e-2  # of eq. 14, for the leg
MOST = 50  # iterations after which the paper stopped
_IDENTITY = np.array([1.0, 0.0, 0.0, 0.0, 2.0, 2.0, 2.0, 0.0, 0.0, 0.0])  # J = 1: where all start

Say = Callable[[str], None]


def least_squares(bodies: Bodies) -> dict[str, Any]:
    """How often plain least squares leaves what can exist, and in which way."""
    theta = np.array([np.linalg.lstsq(A, b)[0] for A, b in zip(bodies.A, bodies.b, strict=True)])
    bad = ~is_consistent(theta)
    test = binomtest(int(np.sum(bad)), len(bad)).proportion_ci(0.95, method="wilson")
    about_origin = rotational_inertia(theta)  # the paper's Ī
    return {
        "bodies": len(bad),
        "nonphysical": int(np.sum(bad)),
        "share": float(np.mean(bad)),
        "interval": [float(test.low), float(test.high)],
        "negative_mass": int(np.sum(theta[:, 0] <= 0.0)),
        "inertia_not_positive": int(np.sum(np.linalg.eigvalsh(about_origin)[:, 0] <= 0.0)),
    }


def parameterised(bodies: Bodies, name: str) -> dict[str, Any]:
    """The same data by one parameterisation: evaluations, failures, and whether all is possible."""
    evaluations, consistent, ended = [], 0, 0
    objective = []
    for A, b in zip(bodies.A, bodies.b, strict=True):
        est = make_estimator(name, gamma=0.0)
        est.reset(Problem(prior=_IDENTITY))
        est.update(eq=Equation(0.0, A, b))
        answer = est.solve()
        consistent += bool(is_consistent(answer.theta))
        objective.append(0.5 * float(np.sum((A @ answer.theta - b) ** 2)))
        if answer.info["fallback"]:
            ended += 1
        else:
            evaluations.append(int(answer.info["iterations"]))
    low, high = np.percentile(evaluations, [5.0, 95.0])
    return {
        "consistent": consistent,
        "ended_convex": ended,
        "failed": ended + sum(n > MOST for n in evaluations),
        "median": float(np.median(evaluations)),
        "p90": float(np.percentile(evaluations, 90)),
        "range": float(high - low),
        "evaluations": evaluations,
        "objective": objective,
    }


def random_starts(swing: Swing, starts: int, seed: int) -> dict[str, Any]:
    """Eq. 14 on the leg from random x in [−1, 1]: how far apart the optima are."""
    prior = swing.prior.copy()
    n = swing.inertial
    prior[n:] = swing.rig.cad[n:]  # friction is e^x of it
    lower = np.concatenate([np.full(n, -np.inf), np.zeros(prior.size - n)])

    def problem() -> Problem:
        return Problem(
            prior=prior,
            bodies=swing.rig.bodies,
            extra=swing.rig.extra,
            lower=lower,
            rng=np.random.default_rng(seed),
        )

    rows = Equation(0.0, swing.A.reshape(-1, prior.size), swing.b.ravel())

    def cost(theta: Array) -> float:
        bodies, references = (x[:n].reshape(-1, 10) for x in (theta, prior))
        fit = 0.5 * float(np.sum((rows.A @ theta - rows.b) ** 2))
        return fit + GAMMA * float(np.sum(logdet_divergence(bodies, references)))

    est = make_estimator("log_cholesky_nls", gamma=GAMMA, beta=0.0, start=1.0)
    est.reset(problem())
    est.update(eq=rows)
    answers = [est.solve() for _ in range(starts)]
    convex = make_estimator("bls_logdet", alpha=GAMMA, beta=1e-9)
    convex.reset(problem())
    convex.update(eq=rows)
    found = np.array([cost(np.asarray(a.theta)) for a in answers])
    best, other = float(found.min()), np.asarray(convex.solve().theta)
    if np.all(other[n:] > 0.0):  # else the convex problem may do what eq. 14 may not
        best = min(best, cost(other))
    return {
        "starts": starts,
        "free": sum(a.info["fallback"] is None for a in answers),
        "gap_max": float(np.max(found / best - 1.0)),
        "evaluations": [int(a.info["iterations"]) for a in answers],
        "descents": descents(problem(), rows, GAMMA, starts),
    }


def figures(
    bodies: int, seconds: float, starts: int, seed: int = 0, say: Say = lambda _: None
) -> dict[str, Any]:
    """Everything that the paper's claims are about, as plain data.

    Args:
        bodies: Random bodies.
        seconds: Of the leg.
        starts: Random starts on it.
        seed: Of all draws.
        say: Told what goes on.
    """
    say(f"drawing and integrating {bodies} bodies")
    drawn = make_bodies(bodies, seed)
    maps = {}
    for name in MAPS:
        say(f"{name} on {bodies} bodies")
        maps[name] = parameterised(drawn, name)
    say(f"the leg from {starts} random starts")
    leg = random_starts(record(seconds), starts, seed)
    least = np.min([m["objective"] for m in maps.values()], axis=0)
    for m in maps.values():
        m["excess_max"] = float(np.max(np.array(m.pop("objective")) / least - 1.0))
    return {"least_squares": least_squares(drawn), "maps": maps, "leg": leg}


def claims(found: dict[str, Any]) -> list[dict[str, Any]]:
    """The paper's claims about `figures`, each with a verdict and the reason."""
    return assess("rucker2022", measured(found))


def measured(found: dict[str, Any]) -> dict[str, Measured]:
    """Claim → figures of ours."""
    linear, maps, leg = (found[key] for key in ("least_squares", "maps", "leg"))
    n = linear["bodies"]
    eigenvalue, exponential, cholesky = (maps[name] for name in MAPS)
    failed = [m["failed"] / n for m in maps.values()]
    printed = {claim.id: claim.paper for claim in claims_of("rucker2022")}
    inertia = linear["inertia_not_positive"] / n
    return {
        "nonphysical": Measured(
            [linear["share"], linear["interval"]],
            [_deviations(linear["share"], printed["nonphysical"], n)],
        ),
        "inertia": Measured([inertia], [_deviations(inertia, printed["inertia"], n)]),
        "mass": Measured([linear["negative_mass"]]),
        "possible": Measured([m["consistent"] / n for m in maps.values()]),
        "eigenvalue_range": Measured(
            [m["range"] for m in maps.values()],
            [eigenvalue["range"] / max(m["range"], 1.0) for m in (exponential, cholesky)],
        ),
        "cholesky_faster": Measured(
            [eigenvalue["median"], cholesky["median"]],
            [eigenvalue["median"] / cholesky["median"]],
        ),
        "cholesky_quick": Measured(
            [exponential["median"], cholesky["median"]],
            [cholesky["median"] / exponential["median"]],
        ),
        "few_failures": Measured([failed[0], failed[2]]),
        "exponential_fails": Measured(failed[1:], [failed[1] / max(failed[2], 1.0 / n)]),
        "one_optimum": Measured(
            [leg["starts"], leg["free"], leg["gap_max"]],
            [leg["gap_max"], leg["starts"] - leg["free"]],
        ),
    }


def _deviations(share: float, expected: float, n: int) -> float:
    """How many binomial standard deviations a share of n is from the expected one.

    At most 1.96 is the same as: the expected one lies in the share's 95 % Wilson interval.
    """
    return abs(share - expected) / float(np.sqrt(expected * (1.0 - expected) / n))
