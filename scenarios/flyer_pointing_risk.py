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


def main(bodies: int = 400, limit: float = 0.03) -> None:
    """Fly the slew with many possible bodies; print how often the limit is broken."""
    risk.enough(bodies)
    slew = testbed.Scenario.load("flyer_pointing").resolved()
    slew |= {"duration": 8.0, "rate": 10.0, "sensors": {}, "vary": {}, "accept": []}
    slew["plant"] |= {"substeps": 4}
    (leg,) = slew["controller"]["waypoints"]
    leg |= {"until": leg["until"] - leg["at"], "at": 0.0}
    slew["controller"] |= {"dither": 0.0}
    normals = np.random.default_rng(1).standard_normal((bodies, 10))  # the same for all times
    sigma, found = [], []
    print(f"limit {limit:g} rad, {bodies} bodies each; 95 % intervals in brackets")
    print(" learnt   σ of θ̂   P(ever above)           P(above) at 2, 4, 6 s")
    for t, theta, cov in what_is_known():
        one = risk.close_the_loop(slew, theta, risk.draw_bodies(theta, cov, normals), limit)
        sigma.append(risk.uncertainty(theta, cov))
        found.append(one)
        at = " ".join(f"{p:8.3f}" for p in np.interp([2.0, 4.0, 6.0], one.t, one.probability))
        share = f"{one.exceeded:.3f} [{one.interval[0]:.3f}, {one.interval[1]:.3f}]"
        print(f"{t:5.1f} s   {sigma[-1]:7.4f}   {share}   {at}", flush=True)
    where = risk.crossing(sigma, [one.exceeded for one in found])
    # The larger a probability may be, the sooner it crosses.
    first, last = (risk.crossing(sigma, [one.interval[k] for one in found]) for k in (1, 0))
    low = f"below {min(sigma):.4f}" if first is None else f"{first:.4f}"
    high = f"above {max(sigma):.4f}" if last is None else f"{last:.4f}"
    print(
        "never crosses 1 %" if where is None else f"crosses 1 % at σ = {where:.4f} [{low}, {high}]"
    )


def read(arguments: list[str]) -> tuple[int, float]:
    """Bodies and limit of the command line."""
    bodies, limit = (*arguments, *("400", "0.03")[len(arguments) :])
    return int(bodies), float(limit)


if __name__ == "__main__":
    try:
        wanted = read(sys.argv[1:])
    except ValueError:
        print(
            "usage: flyer_pointing_risk.py [bodies, say 400] [limit in rad, say 0.03]",
            file=sys.stderr,
        )
        sys.exit(2)
    try:
        main(*wanted)
    except testbed.BadInput as error:
        print(error, file=sys.stderr)
        sys.exit(2)
