"""What is reproduced of Ekal & Ventura 2020: table, figures, and tracking over many seeds."""

from __future__ import annotations

import numpy as np
import pytest

from testbed.core.jit import COMPILED
from testbed.reproduce import ekal_comparison, ekal_figures, ekal_tracking


def test_the_integrators_keep_what_the_figures_show():
    found = ekal_figures.curves(seconds=6.0)
    worst = {name: {k: v.max() for k, v in curve.items()} for name, curve in found.items()}
    assert worst["variational"]["momentum"] < 1e-13 < worst["rk4"]["momentum"]
    assert worst["variational"]["energy"] < 1e-5 < 1e-2 < worst["fd"]["energy"]
    assert worst["variational"]["attitude"] < 0.05 * worst["fd"]["attitude"]
    assert worst["variational"]["position"] < 0.05 * worst["fd"]["position"]


def test_the_figures_are_drawn(tmp_path, monkeypatch):
    pillow = pytest.importorskip("PIL.Image")
    short = ekal_figures.curves(seconds=2.0)
    monkeypatch.setattr(ekal_figures, "curves", lambda: short)
    with pillow.open(ekal_figures.draw(tmp_path)) as picture:
        assert picture.size == (1100, 715)
        pixels = np.asarray(picture.convert("RGB").resize((110, 72))).reshape(-1, 3)
        assert len(np.unique(pixels, axis=0)) > 50


def test_noiseless_figures_tell_what_the_notes_of_the_comparison_say(monkeypatch):
    only = {"main, noiseless": ekal_comparison.CASES["main, noiseless"]}
    monkeypatch.setattr(ekal_comparison, "CASES", only)
    row = ekal_comparison.table(1)["main, noiseless"]
    node, midpoint = row["DQVI, force at node"], row["FD midpoint"]
    assert np.all(node > 1.0)  # better than forward differences in everything,
    assert node[1] > 10.0 > node[2]  # by ten times in the centre of mass and not in the mass,
    np.testing.assert_allclose(node, midpoint, rtol=0.5)  # and no better than midpoint differences
    assert np.all(row["DQVI, force (1,10,1)/12"] > 10.0)
    assert np.all(row["Simpson momentum"] > 1000.0)


@pytest.mark.slow
def test_with_the_papers_noise_ten_times_holds_for_no_body_as_a_whole():
    """Inertia and centre are better than with forward differences; the mass is about the same."""
    found = ekal_comparison.table(20)
    for case in ("main, noisy", "table1_1, noisy", "table1_2, noisy", "table1_3, noisy"):
        node = found[case]["DQVI, force at node"]
        assert np.all(node[:2] > 1.0)
        assert 0.7 < node[2] < 2.0
        assert np.min(node) < 10.0
    assert np.max(found["main, noisy"]["DQVI, force at node"]) > 10.0


CASES = [("burn", np.median, 0.002), ("grasp", np.median, 1.0), ("coast", np.max, 0.001)]


def test_a_grasp_is_tracked_within_a_second():
    found = ekal_tracking.study("grasp", [100])
    assert found["tracking"][0] <= 1.0 < found["exponential"][0]


def test_every_case_of_the_study_draws_its_own_time():
    for case in ekal_tracking.RULES:
        (first, at), (again, same), (_, other) = (
            ekal_tracking.scenario(case, seed) for seed in (1, 1, 2)
        )
        assert at == same != other
        assert first.resolved() == again.resolved()


@pytest.mark.slow
@pytest.mark.skipif(not COMPILED, reason="takes long without numba")
@pytest.mark.parametrize(("case", "reduce", "bound"), CASES)
def test_tracking_over_twenty_seeds(case, reduce, bound):
    """One setting an estimator; times of change, bodies, priors, motions and noise drawn anew."""
    found = ekal_tracking.study(case, range(ekal_tracking.FIRST, ekal_tracking.FIRST + 20))
    assert reduce(found["tracking"]) <= bound
    assert reduce(found["exponential"]) > bound
