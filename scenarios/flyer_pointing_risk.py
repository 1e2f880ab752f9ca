"""How well must a flyer know itself before it may slew? P(pointing error > limit) over time.

    python scenarios/flyer_pointing_risk.py [bodies] [limit in rad]

What the estimator of `flyer_pointing` knows is kept at a few times. From each θ̂ and covariance
possible bodies are drawn, and the scenario's slew is flown with each, the controller believing θ̂.
"""

import sys

import numpy as np

import testbed
from testbed.harness import risk

TIMES, NAME = (0.0, 0.5, 1.0, 3.0, 6.0), "logdet"  # s of learning


def what_is_known() -> list[tuple[float, np.ndarray, np.ndarray]]:
    """Time, θ̂ and covariance at each of TIMES."""
    kept = []

    def look(sample, truth, session):  # the estimator's own knowledge: no truth in it
        estimate = session.estimates[NAME]
        if len(kept) < len(TIMES) and sample.t >= TIMES[len(kept)] - 1e-9:
            kept.append((sample.t, estimate.theta.copy(), estimate.covariance().copy()))

    estimator = {"use": "rls_logdet", "name": NAME}
    testbed.run("flyer_pointing", estimators=[estimator], only=True, watch=[look])
    return kept


def main(bodies: int, limit: float) -> None:
    """Print how often many possible bodies break the limit."""
    risk.enough(bodies)
    slew = testbed.Scenario.load("flyer_pointing").resolved()
    slew |= {"duration": 8.0, "rate": 10.0, "sensors": {}, "vary": {}, "accept": []}
    slew["plant"]["substeps"], slew["controller"]["dither"] = 4, 0.0
    (leg,) = slew["controller"]["waypoints"]
    leg |= {"until": leg["until"] - leg["at"], "at": 0.0}
    normals = np.random.default_rng(1).standard_normal((bodies, 10))  # the same for all times
    sigma, found = [], []
    print(f"limit {limit:g} rad, {bodies} bodies each; 95 % intervals in brackets")
    print(" learnt   σ of θ̂   P(ever above)           P(above) at 2, 4, 6 s")
    for t, theta, cov in what_is_known():
        one = risk.close_the_loop(slew, theta, risk.draw_bodies(theta, cov, normals), limit)
        sigma, found = [*sigma, risk.uncertainty(theta, cov)], [*found, one]
        at = " ".join(f"{p:8.3f}" for p in np.interp([2.0, 4.0, 6.0], one.t, one.probability))
        share = f"{one.exceeded:.3f} [{one.interval[0]:.3f}, {one.interval[1]:.3f}]"
        print(f"{t:5.1f} s   {sigma[-1]:7.4f}   {share}   {at}", flush=True)
    print(risk.where_it_crosses(sigma, found))


if __name__ == "__main__":
    try:
        given = (*sys.argv[1:], *("400", "0.03")[len(sys.argv) - 1 :])
        main(*(kind(text) for kind, text in zip((int, float), given, strict=True)))
    except (ValueError, testbed.BadInput) as error:
        print(f"{error}; usage: flyer_pointing_risk.py [bodies] [limit in rad]", file=sys.stderr)
        sys.exit(2)
