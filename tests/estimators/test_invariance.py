"""Who claims to be invariant gives the same bodies in all frames and units, to 1e-8."""

from __future__ import annotations

import numpy as np
import pytest

from testbed.core.registry import estimator
from tests.estimators.invariance import Experiment

CLAIM = sorted(n for n, e in estimator.all().items() if "invariant" in e.claims)
OURS = {"geometric", "geometric_direct", "geometric_stream", "natural_adaptation"}
REFERENCES = {"geometric_cyclic", "geodesic_ekf"}
BOUND = 1e-8


def difference(name, nb=3, rows=24, with_cov=False, seed=0, **params):
    here = Experiment(nb, rows, seed, with_cov)
    there = here.moved(seed + 100)
    return here.apart(there, here.estimate(name, **params), there.estimate(name, **params))


def test_those_that_must_claim_it():
    assert OURS | REFERENCES <= set(CLAIM)


@pytest.mark.parametrize("with_cov", [False, True])
@pytest.mark.parametrize("name", CLAIM)
def test_who_claims_it_is_invariant(name, with_cov):
    params = {"alpha": 25.0} if "logdet" in name else {}
    if name == "geometric_cyclic":
        params = {"cycles": 60}  # slow, and the same on its way as at its end
    for seed in range(3):
        assert difference(name, with_cov=with_cov, seed=seed, **params) <= BOUND


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("geometric", {"gamma": "rule"}),
        ("geometric", {"gamma": "cv"}),
        ("geometric", {"gamma": "cv", "row_std": "residuals"}),
        ("geometric_direct", {"gamma": "cv", "row_std": "residuals"}),
        ("geometric_direct", {"gamma": "rule"}),
        ("geometric_stream", {"forgetting": 0.98}),
        ("geometric_stream", {"forgetting": {"use": "directional_covariant", "rate": 0.98}}),
        ("geometric_stream", {"forgetting": {"use": "directional", "rate": 0.98}}),
    ],
    ids=str,
)
def test_so_it_is_with_other_settings(name, params):
    assert difference(name, rows=24, **params) <= BOUND


@pytest.mark.parametrize("nuisance", ["row_offset", "plate_offset"])
@pytest.mark.parametrize("name", ["geometric", "geometric_direct", "geometric_stream"])
def test_with_nuisances_it_is_if_their_size_is_told_in_the_same_units(name, nuisance):
    here = Experiment(3, 24, 0)
    there = here.moved(100)
    one, other = ([1.0, 2.0, 3.0] * E.units for E in (here, there))
    if nuisance == "plate_offset":  # metres
        one, other = (np.full(2, 0.05 * E.units[1] / E.units[0]) for E in (here, there))
    params = {"nuisance": nuisance, "tau": 0.2}
    first = here.estimate(name, nuisance_std=one.tolist(), **params)
    told, not_told = (
        there.estimate(name, nuisance_std=std.tolist(), **params) for std in (other, one)
    )
    assert here.apart(there, first, told) <= BOUND
    assert here.apart(there, first, not_told) > 1e-6


@pytest.mark.parametrize("name", ["rls", "rls_l2", "sdp_batch:prior=l2"])
def test_who_does_not_claim_it_is_not(name):
    assert name.partition(":")[0] not in CLAIM
    assert difference(name) > 1e-4


def test_the_experiment_is_the_same_in_other_frames():
    here = Experiment(2, 5, 3)
    there = here.moved(7)
    for eq, other in zip(here.equations(), there.equations(), strict=True):
        left = there.units * (eq.A @ here.truth - eq.b)
        assert other.A @ there.truth - other.b == pytest.approx(left, rel=1e-9, abs=1e-12)
