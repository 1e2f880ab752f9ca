"""Each metric against its definition, worked out another way."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import eigvalsh

from testbed.core.registry import metric
from testbed.core.types import Equation
from testbed.inertia import sample_around, sphere
from testbed.scores import Tally, evaluate

CENTRE = np.stack([sphere(m, 0.1, com=[0.1, -0.2, 0.3 * m]) for m in (1.0, 2.0, 4.0)])
EXTRA = np.array([0.5, 2.0])


def J(phi):
    """Pseudo-inertia (4, 4) entry by entry."""
    m, hx, hy, hz, xx, yy, zz, xy, yz, xz = phi
    half = (xx + yy + zz) / 2
    return np.array(
        [
            [half - xx, -xy, -xz, hx],
            [-xy, half - yy, -yz, hy],
            [-xz, -yz, half - zz, hz],
            [hx, hy, hz, m],
        ]
    )


def central_inertia(phi):
    """Inertia (3, 3) about the centre of mass: Σᵢ over unit axes, by the parallel-axis theorem."""
    m, h, (xx, yy, zz, xy, yz, xz) = phi[0], phi[1:4], phi[4:]
    c = h / m
    origin = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return origin - m * (c @ c * np.eye(3) - np.outer(c, c))


def errors(est, true):
    """Every metric of one body by its formula."""
    lam = eigvalsh(J(est), J(true))
    I, I0 = central_inertia(est), central_inertia(true)
    return {
        "mass_rel_error_final": abs(est[0] / true[0] - 1),
        "com_error_final": np.linalg.norm(est[1:4] / est[0] - true[1:4] / true[0]),
        "inertia_rel_error_final": np.linalg.norm(I - I0) / np.linalg.norm(I0),
        "logdet_divergence_final": np.sum(lam - np.log(lam) - 1),
        "affine_distance_final": np.sqrt(0.5 * np.sum(np.log(lam) ** 2)),
    }


def tally(theta, truth, bodies):
    """A finished run whose last estimate is theta."""
    sums = Tally(bodies=bodies, every=1)
    sums.step(theta, truth)
    sums.close()
    return sums


def test_errors_of_bodies_are_median_and_worst_of_their_definitions():
    rng = np.random.default_rng(0)
    est, true = sample_around(CENTRE, 0.3, rng), sample_around(CENTRE, 0.2, rng)
    theta, truth = np.append(est, EXTRA * 1.1), np.append(true, EXTRA)
    got = evaluate(tally(theta, truth, 3))
    rows = [errors(*pair) for pair in zip(est, true, strict=True)]
    for name in rows[0]:
        values = sorted(row[name] for row in rows)
        assert got[name] == pytest.approx(values[1], rel=1e-11), name
        assert got[f"{name}_worst"] == pytest.approx(values[2], rel=1e-11), name
    assert got["extra_rel_error_final"] == pytest.approx(0.1, rel=1e-13)
    assert got["consistent_fraction"] == 1.0
    lowest = min(np.linalg.eigvalsh(J(phi))[0] for phi in est)
    assert got["margin_min"] == pytest.approx(lowest, rel=1e-9)


def test_every_error_is_zero_at_the_truth():
    truth = np.append(CENTRE, EXTRA)
    got = evaluate(tally(truth, truth, 3))
    assert got.pop("identifiable_error_final") is None  # nobody knows what the motion told
    assert got.pop("steady_rel_error") is None  # nothing is validated
    for name, value in got.items():
        if "error" in name or "divergence" in name or "distance" in name:
            assert value == pytest.approx(0.0, abs=1e-7), name


def test_prediction_rmse_is_over_all_rows_of_the_run():
    rng = np.random.default_rng(1)
    sums, before, after = Tally(1, 10), rng.normal(size=10), np.zeros(10)
    rows = [Equation(0.0, rng.normal(size=(k, 10)), rng.normal(size=k)) for k in (6, 3, 0, 1)]
    for equation in rows:
        sums.fit(equation, before, after)
    everything = np.concatenate([e.b - e.A @ before for e in rows])
    expected = np.sqrt(np.mean(everything**2))
    assert evaluate(sums)["prediction_rmse"] == pytest.approx(expected, rel=1e-14)


def test_consistent_fraction_is_the_share_of_samples_with_every_body_possible():
    sums, bad = Tally(3, 1), CENTRE.copy()
    bad[1, 0] = -1.0
    for theta in (CENTRE, bad, CENTRE, CENTRE):
        sums.step(theta.ravel(), None)
    assert evaluate(sums)["consistent_fraction"] == 0.75


def test_without_truth_what_needs_it_is_none_and_the_rest_is_there():
    got = evaluate(tally(CENTRE.ravel(), None, 3))
    truthless = {"consistent_fraction", "margin_min"}
    assert {name for name, value in got.items() if value is not None} == truthless


def test_before_any_sample_every_metric_is_none():
    assert set(evaluate(Tally(1, 1)).values()) == {None}


def test_a_nan_truth_gives_none_not_nan():
    got = evaluate(tally(CENTRE.ravel(), np.full(30, np.nan), 3))
    assert got["mass_rel_error_final"] is None
    assert got["affine_distance_final_worst"] is None
    assert got["consistent_fraction"] == 1.0


@pytest.mark.parametrize("mass", [0.0, -1.0, 1e-300, 1e300])
def test_an_impossible_estimate_gives_numbers_or_none_never_an_error(mass):
    theta = CENTRE.copy()
    theta[:, 0] = mass
    for value in evaluate(tally(theta.ravel(), CENTRE.ravel(), 3)).values():
        assert value is None or np.isfinite(value)
    theta[:] = 0.0
    got = evaluate(tally(theta.ravel(), CENTRE.ravel(), 3))
    assert got["mass_rel_error_final"] == 1.0
    assert got["logdet_divergence_final"] is None
    assert got["consistent_fraction"] == 0.0


def test_without_extra_parameters_or_bodies_their_metrics_are_none():
    got = evaluate(tally(CENTRE.ravel(), CENTRE.ravel(), 3))
    assert got["extra_rel_error_final"] is None
    got = evaluate(tally(EXTRA, EXTRA, 0))
    assert got["extra_rel_error_final"] == 0.0
    assert got["consistent_fraction"] is None
    assert got["mass_rel_error_final"] is None
    assert got["margin_min"] is None


def test_every_registered_metric_has_a_definition():
    assert {
        "mass_rel_error_final",
        "com_error_final",
        "inertia_rel_error_final",
        "extra_rel_error_final",
        "logdet_divergence_final",
        "affine_distance_final",
        "prediction_rmse",
        "consistent_fraction",
        "margin_min",
    } <= set(metric.all())
    for name, entry in metric.all().items():
        assert len(entry.summary) > 20, name
        assert entry.make.__doc__.startswith(entry.summary), name
