"""Forgetting rules on a leg that gets a payload and then barely moves: who follows, who winds up.

    python -m testbed.reproduce.cho_forgetting [--seeds N] [--json]

Cho 2024 leaves forgetting open (section III-D gives eq. 28 as an example and no experiment). Here
the scenario `cheetah_payload_step` is run with one estimator a rule. All have the prior, the data
weight and the torque residual of `reproduce.cho`, and the change comes at another time for every
seed. The error is the noise-free validation RMS over time; "poor" is the minute of small knee
motion at the end. A rule must follow the change and keep what it knew.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from testbed.core.errors import TestbedError
from testbed.core.signals import Array
from testbed.harness import Scenario, run
from testbed.harness.run import steps_in
from testbed.harness.validation import validation_rows
from testbed.reproduce.cho import ALPHA, BETA
from testbed.reproduce.cho_leg import RESIDUAL

RECOMMENDED = "parallel sum, κ = 1.5, τ = 0.25 s"
RULES: Mapping[str, Mapping[str, Any] | None] = {
    "none": None,
    "eq. 28 as printed, μ = 0.97": {"use": "directional", "rate": 0.97},
    "eq. 28 as printed, μ = 0.997": {"use": "directional", "rate": 0.997},
    "covariant directional, μ = 0.97": {"use": "directional_covariant", "rate": 0.97},
    "covariant directional, μ = 0.997": {"use": "directional_covariant", "rate": 0.997},
    "exponential, 1 s": {"use": "exponential", "tau": 1.0},
    RECOMMENDED: {"use": "parallel_sum", "kappa": 1.5, "tau": 0.25},
    "parallel sum, κ = 2, τ = 0.5 s": {"use": "parallel_sum", "kappa": 2.0, "tau": 0.5},
    "parallel sum, κ = 10, τ = 0.5 s": {"use": "parallel_sum", "kappa": 10.0, "tau": 0.5},
}
_FOLLOWED = 0.3  # of the jump
_HELD = 0.5  # s that the error must stay below it
_BEFORE, _SETTLED = 1.0, 4.0  # s before the change, and after it, that count as settled

Say = Callable[[str], None]


@dataclass(frozen=True)
class Course:
    """How the validation error of one rule went in one run, N·m.

    Args:
        before: Median over the last second before the change.
        jump: Right after it.
        followed: Seconds until the error is below 30 % of the jump and stays there for half a
            second, None if never.
        rich: Worst from 4 s after the change to the end of the rich motion.
        poor: Worst in the minute of small motion.
    """

    before: float
    jump: float
    followed: float | None
    rich: float
    poor: float

    @property
    def kept(self) -> float:
        """The worst of the poor minute over the worst before it."""
        return self.poor / self.rich


def courses(
    seed: int,
    rules: Mapping[str, Mapping[str, Any] | None] = RULES,
    shared: Mapping[str, Any] | None = None,
    std: float | None = RESIDUAL,
) -> dict[str, Course]:
    """Run `cheetah_payload_step` with one `rls_logdet` a rule.

    Args:
        seed: Draws the change's time, the payload, the motion, noise, truth and prior.
        rules: Name → forgetting table.
        shared: Parameters of all estimators; by default those of `reproduce.cho`.
        std: Torque noise in N·m instead of the scenario's own sensors; None keeps these.
    """
    if shared is None:
        shared = {"alpha": ALPHA, "beta": BETA, "weight": "normalised"}
    data = Scenario.load("cheetah_payload_step").resolved()
    data["accept"] = []
    if std is not None:
        data["sensors"] = {"tau": {"noise": "white", "std": std}}
    data["estimator"] = [
        {
            "use": "rls_logdet",
            "name": name,
            **shared,
            **({"forgetting": dict(rule)} if rule else {}),
        }
        for name, rule in rules.items()
    ]
    scene = Scenario.from_dict(data).for_seed(seed)
    result = run(scene, seed=seed)
    model = scene.model
    assert model.validation is not None
    steps = steps_in(model.validation.duration, 1.0 / float(data["rate"]))
    rows = validation_rows(scene.for_validation().make_plant(), seed, steps)
    at, rich = model.change[0].at, float(data["excitation"]["parts"][0]["seconds"])
    found = {}
    for name in rules:
        history = result.history(name)
        found[name] = course(
            history.t, validation_error(rows, history.theta - history.truth), at, rich
        )
    return found


def validation_error(rows: Array, error: Array) -> Array:
    """rms A_val (θ̂ − θ) over time (n,) from rows (m, p) and errors (n, p)."""
    gram = rows.T @ rows / len(rows)
    return np.asarray(np.sqrt(np.einsum("np,pq,nq->n", error, gram, error)))


def course(t: Array, e: Array, at: float, rich: float) -> Course:
    """Read the figures off an error e (n,) over time t (n,)."""
    first = int(np.searchsorted(t, at, side="right")) + 1  # the sample that first shows the change
    jump = float(e[first])
    held = round(_HELD / float(t[1] - t[0]))
    below = np.convolve(e[first:] < _FOLLOWED * jump, np.ones(held), "valid") == held
    when = t[first:][np.flatnonzero(below)[:1]]
    return Course(
        before=float(np.median(e[(t > at - _BEFORE) & (t <= at)])),
        jump=jump,
        followed=float(when[0]) - at if when.size and when[0] < rich else None,
        rich=float(np.max(e[(t > at + _SETTLED) & (t < rich)])),
        poor=float(np.max(e[t >= rich])),
    )


def table(seeds: Sequence[int], say: Say = lambda _: None) -> dict[str, list[Course]]:
    """Every rule's courses, a seed each."""
    found: dict[str, list[Course]] = {name: [] for name in RULES}
    for seed in seeds:
        say(f"seed {seed}")
        for name, one in courses(seed).items():
            found[name].append(one)
    return found


def show(found: Mapping[str, Sequence[Course]]) -> str:
    """A row a rule: medians over the seeds."""
    lines = [
        "validation RMS in N·m, medians over the seeds",
        f"{'rule':34}{'before':>8}{'to 30 %':>10}{'rich':>8}{'poor':>8}{'poor/rich':>11}",
    ]
    for name, runs in found.items():
        times = [np.inf if one.followed is None else one.followed for one in runs]
        middle = float(np.median(times))
        took = "never" if np.isinf(middle) else f"{middle:.2f} s"
        before, rich, poor, kept = (
            float(np.median([getattr(one, key) for one in runs]))
            for key in ("before", "rich", "poor", "kept")
        )
        lines.append(f"{name:34}{before:8.3f}{took:>10}{rich:8.3f}{poor:8.3f}{kept:11.2f}")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m testbed.reproduce.cho_forgetting",
        description="Forgetting rules on a leg that gets a payload and then barely moves.",
    )
    parser.add_argument("--seeds", type=int, default=5, help="how many, from 0")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    options = parser.parse_args(arguments)
    if options.seeds < 1:
        parser.error("--seeds must be at least 1")
    try:
        found = table(range(options.seeds), lambda what: print(what, file=sys.stderr, flush=True))
    except TestbedError as error:
        print(f"cho_forgetting: {error}", file=sys.stderr)
        return error.exit_code
    data = {name: [asdict(one) for one in runs] for name, runs in found.items()}
    print(json.dumps(data) if options.json else show(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
