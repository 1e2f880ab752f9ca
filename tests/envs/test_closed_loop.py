"""Controllers with a model in environments: who drives is as in a run."""

import numpy as np
import pytest

import testbed
from testbed.core.errors import BadInput
from testbed.envs import DomainRandomization, EstimatorWrapper, NoiseWrapper
from tests.envs.episodes import make
from tests.harness.test_closed_loop import flyer, scenario


def still(env, seed=5):
    """An episode without any action of the agent's: the last info."""
    env.reset(seed=seed)
    done = False
    while not done:
        _, _, terminated, truncated, info = env.step(np.zeros(env.action_space.shape))
        done = terminated or truncated
    return info


def loop(model, use="computed_torque", **more):
    return make("Scenario", scenario=scenario(model, use, **more), control_hz=None)


@pytest.mark.parametrize("model", ["prior", "truth", "a", "b"])
def test_a_seed_is_that_of_a_run_whoever_drives(model):
    env = loop(model)
    info, card = still(env), testbed.run(scenario(model), seed=5).scorecard
    assert env.session.driver.name == model
    for name in "ab":
        assert info["estimates"][name].tolist() == card["estimators"][name]["theta"]


def test_other_models_move_the_robot_otherwise():
    moved = {m: still(loop(m))["truth"]["clean"] for m in ("prior", "truth", "a", "b")}
    assert len({tuple(x) for x in moved.values()}) == 4


def test_of_several_models_the_first_drives_and_all_estimators_are_there():
    env = loop("each")
    assert env.session.driver.name == "a"
    info, alone = still(env), still(loop("a"))
    assert [*info["estimates"]] == ["a", "b"]
    assert np.array_equal(info["truth"]["clean"], alone["truth"]["clean"])


def test_a_law_of_the_controller_adapts_and_is_an_estimate():
    env = loop(["natural", "a"], "slotine_li")
    first = env.reset(seed=5)[1]["estimates"]["natural"]
    assert np.any(still(env)["estimates"]["natural"] != first)


def test_an_estimator_that_rides_along_is_seen_as_itself():
    env = EstimatorWrapper(loop("b"), "rls_l2")
    env.reset(seed=1)
    assert env.step(np.zeros(6))[4]["estimator"]["name"] == "rls_l2"
    assert [*env.base.session.contenders] == ["a", "b", "rls_l2"]


def test_a_model_that_does_not_exist_is_told():
    with pytest.raises(BadInput, match="unknown model 'nonsense'"):
        loop("nonsense")


VARIED = flyer("prior") | {
    "vary": {
        "prior.error": {"uniform": [0.15, 0.3]},
        "sensors.wrench.std": {"uniform": [0.01, 0.02]},
    }
}


def test_what_a_user_sets_is_not_varied():
    def made(**options):
        return make("Scenario", scenario=VARIED, control_hz=None, **options)

    env = made()
    errors = {env.reset(seed=s) and env.session.prior_error for s in range(3)}
    assert len(errors) == 3
    env = made(settings={"prior.error": 1.5})
    env.reset(seed=0)
    assert env.session.prior_error == 1.5
    env = NoiseWrapper(
        DomainRandomization(made(), 0.0, prior_error=0.7), sensors={"wrench": {"std": 0.5}}
    )
    env.reset(seed=0)
    assert env.base.session.prior_error == 0.7
    assert np.all(env.base.session.rig.std("wrench") == 0.5)
