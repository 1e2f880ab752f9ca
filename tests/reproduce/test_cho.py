"""Table II of Cho 2024 on the leg of `cheetah_swing`, and verdicts that follow from the numbers."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from testbed.reproduce import cho
from testbed.reproduce.cho_claims import EARLY, L2, LOGDET, RATES, claims


@pytest.fixture(scope="module")
def quick():
    return cho.make_table(seconds=7.0)  # what --quick takes


def verdicts(*runs):
    return {claim["id"]: claim["verdict"] for claim in claims(runs)}


def test_every_log_det_estimate_is_possible_and_no_l2_estimate_is(quick):
    for rate in RATES:
        one, other = quick.cells[LOGDET][rate], quick.cells[L2][rate]
        assert (one.consistent, one.mass_matrix, one.mass_matrix_share) == (1, 1, 1.0)
        assert other.consistent == 0


def test_torque_errors_are_equal_to_two_decimals_where_alpha_was_matched(quick):
    assert quick.batch[L2] == pytest.approx(quick.batch[LOGDET], abs=1e-6)
    one, other = quick.cells[L2][1000], quick.cells[LOGDET][1000]
    assert one.final == pytest.approx(other.final, abs=0.01)


def test_the_full_rate_ends_at_the_batch_solution(quick):
    errors = [quick.cells[LOGDET][rate].error for rate in RATES]
    assert errors[0] > errors[1] > errors[2] > errors[3]
    assert errors[3] < 1e-8


def changed(run, name, **values):
    """The same swing with other figures of one estimator at every rate."""
    row = {rate: dataclasses.replace(cell, **values) for rate, cell in run.cells[name].items()}
    return run._replace(cells={**run.cells, name: row})


def test_verdicts_are_computed_from_the_table(quick):
    assert verdicts(quick.run)["logdet_possible"] == "reproduced"
    broken = changed(quick.run, LOGDET, consistent=0)
    assert verdicts(broken)["logdet_possible"] == "not reproduced"


def test_one_seed_of_several_counts(quick):
    lost = changed(quick.run, L2, mass_matrix=0)
    kept = changed(quick.run, L2, mass_matrix=1)
    assert verdicts(lost, lost)["l2_mass_matrix"] == "reproduced"
    assert verdicts(lost, kept)["l2_mass_matrix"] == "not reproduced"


def test_an_l2_error_that_falls_with_the_rate_does_not_stay_away(quick):
    def run(*errors):
        cells = quick.run.cells[L2]
        row = {
            r: dataclasses.replace(cells[r], error=e) for r, e in zip(RATES, errors, strict=True)
        }
        return quick.run._replace(cells={**quick.run.cells, L2: row})

    assert verdicts(run(1.956, 1.625, 1.659, 1.663))["l2_stays_away"] == "reproduced"
    assert verdicts(run(1.471, 0.258, 0.224, 0.152))["l2_stays_away"] == "not reproduced"


def test_few_data_is_about_the_samples_to_come(quick):
    assert verdicts(quick.run._replace(early={L2: [3.0] * 4, LOGDET: [2.0] * 4}))["few_data"] == (
        "reproduced"
    )
    assert verdicts(quick.run._replace(early={L2: [2.0] * 4, LOGDET: [3.0] * 4}))["few_data"] == (
        "not reproduced"
    )
    n = round(EARLY[2] * 1000)
    left = quick.swing.A[n - 1 :] @ quick.courses[L2][n] - quick.swing.b[n - 1 :]
    rms = np.sqrt(np.mean(np.sum(left**2, axis=1)))
    assert quick.early[L2][2] == pytest.approx(rms)


def test_the_course_begins_at_the_prior_and_ends_at_the_estimate(quick):
    for name, theta in quick.courses.items():
        assert theta.shape == (7001, 66)
        np.testing.assert_array_equal(theta[0], quick.swing.prior)
        error = np.linalg.norm(theta[-1] - quick.reference)
        assert error == pytest.approx(quick.cells[name][1000].error, abs=1e-12)


@pytest.mark.slow
def test_table_ii_on_28_seconds():
    table = cho.make_table()
    said = verdicts(table.run)
    for claim in ("logdet_possible", "l2_impossible", "logdet_mass_matrix", "batch"):
        assert said[claim] == "reproduced"
    one, other = table.cells[L2][1000], table.cells[LOGDET][1000]
    for kind in ("posterior", "before", "final"):
        assert getattr(one, kind) == pytest.approx(getattr(other, kind), abs=0.01)
    steps = table.cells[LOGDET][1000].iterations
    assert sum(steps.values()) == 28_000
    assert max(steps) <= 2
    assert np.all(np.diff([table.cells[LOGDET][rate].error for rate in RATES]) < 0)
