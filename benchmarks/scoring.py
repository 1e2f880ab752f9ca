"""What scoring costs: `python -m benchmarks.scoring`.

The arm at 1 kHz with a validation motion and a grasp, RLS with its covariance, default metrics.
Timed are the calls that score one estimator (every sample, `score_hz` included, amortised over a
second), and what is worked out once for all of them; the reference is the RLS update itself.
"""

from __future__ import annotations

import sys

from benchmarks.timing import ratio, report
from testbed.harness import Scenario, Session
from testbed.harness.run import steps_in
from testbed.harness.validation import validation_rows

SAMPLES = 1000  # a second


def session(plant: str, channels: tuple[str, ...], **change: object) -> Session:
    """Past its first second, after the change."""
    scenario = Scenario.from_dict(
        {
            "title": "benchmark",
            "duration": 1000.0,
            "plant": {"use": plant, "truth_error": 0.1},
            "prior": {"error": 0.1},
            "validation": {"duration": 2.0},
            "sensors": {c: {"noise": "white", "std": 0.05} for c in channels},
            "change": [{"at": 0.5, **change}],
            "estimator": [{"use": "rls"}],
        }
    )
    estimators, inputs = scenario.make_estimators()
    made = Session(
        scenario.make_plant(),
        estimators,
        inputs=inputs,
        prior_error=0.1,
        truth_error=0.1,
        duration=1000.0,
    )
    other = scenario.for_validation().make_plant()
    made.validation = validation_rows(other, 0, steps_in(2.0, made.rig.dt))
    made.reset(0)
    for _ in range(SAMPLES):
        made.step()
    return made


def costs(made: Session) -> dict[str, tuple[float, float, float]]:
    """Ratio, µs and reference µs a step: one estimator's scores, and the shared part."""
    (contender,) = made.contenders.values()
    tally, course = contender.tally, made.course
    sample, truth = made.step()
    regressor, _ = next(iter(made._regressors.values()))
    equation = regressor.equation(sample.t, sample.groups["measured"])
    theta, t = contender.theta, sample.t
    assert equation is not None
    assert truth is not None

    def score() -> None:
        for _ in range(SAMPLES):
            tally.fit(equation, theta, theta)
            claimed = contender._covariance(made.dog, t) if tally.due else None
            tally.step(theta, truth.theta, None, t, claimed)

    def shared() -> None:
        for _ in range(SAMPLES):
            made._clean.add(t, truth)
            if course.due:
                made._clean.flush()
                course.look(t)
            course.samples += 1

    def update() -> None:
        for _ in range(SAMPLES):
            contender.estimator.update(eq=equation)

    found = {}
    for name, function in (("one estimator", score), ("shared by all", shared)):
        r, us, ref = ratio(function, update, loops=1)
        found[name] = (r, us / SAMPLES, ref / SAMPLES)
    return found


def main() -> int:
    """The arm's payload (10 parameters) and the leg (66)."""
    table = {}
    broken = []
    load = {"name": "part", "mass": 1.0, "sphere": 0.05}
    cases = {
        "arm, 10 parameters": session(
            "staubli_arm", ("wrench", "accel"), body="payload", attach=load
        ),
        "leg, 66 parameters": session("cheetah_leg", ("tau", "a"), body="knee_link", attach=load),
    }
    for name, made in cases.items():
        for what, (r, us, ref) in costs(made).items():
            table[f"scores of {name}, {what}"] = (r, us, ref, "RLS updates", None)
            if what == "one estimator" and us > 15.0:
                broken.append(f"scores of {name}: {us:.1f} µs, at most 15")
    return report(table, "--json" in sys.argv, broken)


if __name__ == "__main__":
    sys.exit(main())
