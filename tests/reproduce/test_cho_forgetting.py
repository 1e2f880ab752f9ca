"""The recommended rule follows a change and keeps what it knew; the others do one or neither."""

from __future__ import annotations

import json

import numpy as np
import pytest

from testbed.reproduce import cho_forgetting as study
from testbed.reproduce.cho_forgetting import RECOMMENDED, RULES, Course, course


def test_a_course_is_read_off_an_error():
    t = np.arange(0.0, 20.0, 0.1)
    e = np.full(t.size, 0.1)
    e[t > 5.0] = 1.0  # the change shows in the sample after 5 s
    e[t > 6.95] = 0.2
    e[(t > 5.95) & (t < 6.15)] = 0.2  # a moment below is not enough
    e[t > 15.0] = 0.3
    found = course(t, e, at=5.0, rich=15.0)
    assert (found.before, found.jump, found.rich, found.poor) == (0.1, 1.0, 0.2, 0.3)
    assert found.followed == pytest.approx(2.0)
    assert found.kept == pytest.approx(1.5)
    e[t > 5.0] = 1.0
    assert course(t, e, at=5.0, rich=15.0).followed is None


def test_the_command_prints_a_row_a_rule_or_one_json_document(capsys, monkeypatch):
    one = Course(0.1, 1.0, 1.2, 0.2, 0.3)
    monkeypatch.setattr(study, "courses", lambda seed: dict.fromkeys(RULES, one))
    assert study.main(["--seeds", "2"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(RULES) + 2
    assert study.main(["--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)[RECOMMENDED]) == 5
    with pytest.raises(SystemExit):
        study.main(["--seeds", "0"])


@pytest.mark.slow
def test_the_recommended_rule_follows_and_keeps_on_the_scenario_as_it_is():
    """One setting for all seeds; the change comes at another time in each."""
    rules = {"recommended": RULES[RECOMMENDED], "exponential": RULES["exponential, 1 s"]}
    found = [study.courses(seed, rules, shared={}, std=None) for seed in range(8)]
    assert len({round(one["recommended"].jump, 6) for one in found}) == 8
    for one in found:
        assert one["recommended"].followed <= 2.0
        assert one["recommended"].kept <= 1.5
    winds_up = [one["exponential"].kept for one in found]
    assert np.median(winds_up) > 1.5


@pytest.mark.slow
def test_the_table_of_rules():
    found = {name: one[0] for name, one in study.table([0]).items()}
    assert found["none"].followed is None or found["none"].rich > 5 * found["none"].before
    printed = found["eq. 28 as printed, μ = 0.97"]
    assert printed.rich > 3 * printed.before  # it forgets the rotors, not the payload
    assert found["exponential, 1 s"].kept > 5
    assert found["parallel sum, κ = 10, τ = 0.5 s"].kept > 5  # it winds up, too
    assert found[RECOMMENDED].followed < 2
    assert found[RECOMMENDED].kept < 1.5
