"""How well must a flyer know itself before it may slew? P(pointing error > limit) over time.

    python scenarios/flyer_pointing_risk.py [bodies] [limit in rad]

What the estimator of `flyer_pointing` knows is kept at a few times. From each θ̂ and covariance
possible bodies are drawn, and the scenario's slew is flown with each, the controller believing θ̂.
"""

from __future__ import annotations

import sys

import numpy as np

import testbed
from testbed.harness import risk

TIMES = (0.0, 0.5, 1.0, 3.0, 6.0)  # s of learning
NAME = "logdet"


def what_is_known() -> list[tuple[float, np.ndarray, np.ndarray]]:
    """Time, θ̂ and covariance at each of TIMES."""
    kept: list[tuple[float, np.ndarray, np.ndarray]] = []

    def look(sample, truth, session):  # the estimator's own knowledge: no truth in it
        estimate = session.estimates[NAME]
        if len(kept) < len(TIMES) and sample.t >= TIMES[len(kept)] - 1e-9:
            kept.append((sample.t, estimate.theta.copy(), estimate.covariance().copy()))

    testbed.run(
        "flyer_pointing", estimators=[{"use": "rls_logdet", "name": NAME}], only=True, watch=[look]
    )
    return kept


def main(bodies: int = 40, limit: float = 0.03) -> None:
    """Fly the slew with many possible bodies; print how often the limit is broken."""
    slew = testbed.Scenario.load("flyer_pointing").resolved()
    slew |= {"duration": 8.0, "rate": 10.0, "sensors": {}, "vary": {}, "accept": []}
    slew["plant"] |= {"substeps": 4}
    (leg,) = slew["controller"]["waypoints"]
    leg |= {"until": leg["until"] - leg["at"], "at": 0.0}
    slew["controller"] |= {"dither": 0.0}
    normals = np.random.default_rng(1).standard_normal((bodies, 10))  # the same for all times
    sigma, exceeded = [], []
    print(f"limit {limit:g} rad, {bodies} bodies each")
    print(" learnt   σ of θ̂   P(ever above)   P(above) at 2, 4, 6 s")
    for t, theta, cov in what_is_known():
        found = risk.close_the_loop(slew, theta, risk.draw_bodies(theta, cov, normals), limit)
        sigma.append(risk.uncertainty(theta, cov))
        exceeded.append(found.exceeded)
        at = " ".join(f"{p:8.3f}" for p in np.interp([2.0, 4.0, 6.0], found.t, found.probability))
        print(f"{t:5.1f} s   {sigma[-1]:7.4f}   {exceeded[-1]:13.3f}   {at}")
    where = risk.crossing(sigma, exceeded)
    print("never crosses 1 %" if where is None else f"crosses 1 % at σ = {where:.4f}")


if __name__ == "__main__":
    main(*(kind(text) for kind, text in zip((int, float), sys.argv[1:], strict=False)))
