"""Three weaknesses that are known from the literature are found by a search that is not told."""

from __future__ import annotations

import pytest

from benchmarks.breaking import CASES, by_chance, by_search
from testbed.breaking import break_estimator

LATE = "plant.mismatch.time_shift"
CAUSES = {
    "exponential windup": ("excitation/rest", "excitation.amplitude"),
    "eq. 28's payload": ("change.0.attach/density", "change.0.at"),
    "TLS misalignment": (LATE,),
}
SOUND = {
    "exponential windup": {"use": "rls", "forgetting": {"use": "parallel_sum"}},
    "eq. 28's payload": {
        "use": "rls_logdet",
        "forgetting": {"use": "parallel_sum", "kappa": 1.5, "tau": 0.25},
    },
    "TLS misalignment": {"use": "rtls"},
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_the_cause_is_found_and_the_sound_sibling_survives_it(case):
    scenario, table = CASES[case]
    found = break_estimator(table, scenario=scenario)
    assert found.found
    assert found.distance <= 1.0
    largest = max(found.factors, key=lambda f: abs(f["u"]))
    assert largest["key"].startswith(CAUSES[case])
    assert found.data is not None
    there = {**found.data, "accept": [{**found.data["accept"][0], "estimator": "sound"}]}
    there["estimator"] = [{**SOUND[case], "name": "sound"}]
    held = break_estimator({**SOUND[case], "name": "sound"}, scenario=there, budget=2)
    assert held.nominal[found.violated["rule"]["metric"]] <= found.violated["rule"]["max"]


@pytest.mark.slow
def test_random_draws_from_where_the_search_starts_need_several_times_as_many_runs():
    """Draws from the whole ranges would be no match: next to none of them is mild."""
    case = "exponential windup"
    runs, _ = by_search(case, 0, 200)
    assert runs is not None
    assert by_chance(case, "nearby", 0, 3 * runs) is None
