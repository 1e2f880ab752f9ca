"""A whole `Session.step` of the arm against the bare physics: `python -m benchmarks.session_step`.

Payload target, every channel noisy with a delay, one RLS, default metrics, 1 kHz; the reference
is the two RK4 steps that each sample contains, on the same model and state.
"""

from __future__ import annotations

import copy
import sys

import mujoco

from benchmarks.timing import ratio, report
from testbed.harness import Scenario, Session

STD = {
    "q": 1e-5,
    "v": 1e-3,
    "a": 0.1,
    "tau": 0.1,
    "wrench": 0.1,
    "accel": 0.05,
    "gyro": 0.005,
    "angacc": 0.5,
}


def arm_session() -> Session:
    """The arm as described above, past its lead-in."""
    scenario = Scenario.from_dict(
        {
            "title": "benchmark",
            "duration": 1000.0,
            "plant": {"use": "staubli_arm", "truth_error": 0.2},
            "prior": {"error": 0.3},
            "sensors": {c: {"noise": "white", "std": s, "delay": 0.002} for c, s in STD.items()},
            "estimator": [{"use": "rls"}],
        }
    )
    estimators, inputs = scenario.make_estimators()
    session = Session(
        scenario.make_plant(), estimators, inputs=inputs, prior_error=0.3, truth_error=0.2
    )
    session.reset(0)
    for _ in range(1000):
        session.step()
    return session


def main() -> int:
    """Time both, and the sensor stage by itself."""
    session = arm_session()
    plant = session.source
    model, data = plant.model, copy.copy(plant.data)  # type: ignore[attr-defined]
    substeps = plant.substeps  # type: ignore[attr-defined]

    def physics() -> None:
        mujoco.mj_step(model, data, substeps)

    step, us, ref = ratio(session.step, physics, loops=3000)
    rows = {"Session.step of the arm": (step, us, ref, "its RK4 steps", 5.0)}
    clean = plant._clean  # type: ignore[attr-defined]
    stage = plant.sensors  # type: ignore[attr-defined]
    r, us_stage, ref = ratio(lambda: stage.measure(clean), physics, loops=3000)
    rows["sensor stage in a session"] = (r, us_stage, ref, "its RK4 steps", None)
    slow = [f"Session.step: {us:.0f} µs, at most 130"] if us > 130.0 else []
    return report(rows, "--json" in sys.argv, slow)


if __name__ == "__main__":
    sys.exit(main())
