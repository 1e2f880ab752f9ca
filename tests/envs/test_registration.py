"""`import testbed` registers the environments, and does not import Gymnasium."""

import subprocess
import sys

import gymnasium
import pytest

import testbed
from testbed.envs import ids


def output_of(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_importing_testbed_leaves_gymnasium_alone():
    assert output_of("import sys, testbed; print('gymnasium' in sys.modules)") == ["False"]
    assert output_of("import sys, testbed.envs; print('gymnasium' in sys.modules)") == ["False"]


@pytest.mark.parametrize("order", ["testbed, gymnasium", "gymnasium, testbed"])
def test_ids_are_there_in_either_order(order):
    ask = "print(*sorted(i for i in gymnasium.registry if i.startswith('testbed/')))"
    assert output_of(f"import {order}\n{ask}") == sorted(testbed.envs.IDS)


def test_the_hook_takes_itself_away():
    ask = "print(sum(type(f).__module__ == 'testbed.envs.ids' for f in sys.meta_path))"
    assert output_of(f"import sys, testbed\n{ask}\nimport gymnasium\n{ask}") == ["1", "0"]


def test_registering_again_changes_nothing():
    before = gymnasium.spec("testbed/ArmPayload-v0")
    ids.register_ids()
    assert gymnasium.spec("testbed/ArmPayload-v0") is before


def test_a_module_in_the_id_works():
    env = gymnasium.make("testbed:testbed/FreeFlyer-v0")
    assert env.action_space.shape == (6,)


def test_an_unknown_id_is_told():
    with pytest.raises(gymnasium.error.NameNotFound, match="ArmPayload"):
        gymnasium.make("testbed/ArmPayloat-v0")
