"""The example that learns to excite the arm."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "train_active_excitation.py"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("train_active_excitation", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_what_is_compared_keeps_the_same_bounds_and_uses_them(script):
    env = script.make_env()
    env.reset(seed=0)
    for table in ({"use": "prbs", "bit": 0.12, "rise": 0.0}, {"use": "filtered_random"}):
        policy = script.excitation(**table)(env, 3)
        actions = np.array([policy(k, None) for k in range(200)])
        assert np.abs(actions).max(axis=0) == pytest.approx(np.ones(6))
    policy = script.random(env, 3)
    assert np.abs([policy(k, None) for k in range(200)]).max() <= 1.0


def test_the_policy_in_plain_arrays(script):
    rng = np.random.default_rng(0)
    layers = [rng.normal(size=s) for s in ((4, 12), (4,), (6, 4), (6,))]
    seen = rng.normal(size=12)
    wanted = layers[2] @ np.tanh(layers[0] @ seen + layers[1]) + layers[3]
    assert np.allclose(script.mlp(layers)(None, 0)(0, seen), wanted)


def test_moving_by_prbs_tells_more_than_resting(script):
    env = script.make_env()
    prbs = script.excitation(use="prbs", bit=0.12, rise=0.0)
    (moved,), (rested,) = (script.information(env, m, [5]) for m in (prbs, script.rest))
    assert moved > rested + 5.0


def test_bad_arguments_are_one_line_before_training(script, tmp_path, monkeypatch, capsys):
    junk, wrong = tmp_path / "junk.npz", tmp_path / "wrong.npz"
    junk.write_bytes(b"no archive")
    np.savez(wrong, layer0=np.zeros((4, 7)), layer1=np.zeros(4))
    for arguments, says in (
        (["--policy", str(tmp_path / "none.npz")], "cannot be read"),
        (["--policy", str(junk)], "not a policy"),
        (["--policy", str(wrong)], "six joints"),
        (["--out", str(tmp_path / "no" / "such" / "x.npz")], "folder that exists"),
        (["--episodes", "0"], "a whole number from 1 on"),
    ):
        monkeypatch.setattr(sys, "argv", ["train", *arguments])
        with pytest.raises(SystemExit) as stop:
            script.main()
        assert stop.value.code == 2
        assert says in capsys.readouterr().err.strip().splitlines()[-1]


def test_without_its_extra_it_says_what_is_missing(script, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(SystemExit) as stop:
        script.train(1, 0)
    assert stop.value.code == 2
    assert "pip install" in capsys.readouterr().err


@pytest.mark.slow
def test_it_trains_and_compares(tmp_path):
    pytest.importorskip("stable_baselines3", reason="needs the extra rl: stable-baselines3")
    out = tmp_path / "policy.npz"
    short = [sys.executable, str(SCRIPT), "--episodes", "1", "--json"]
    first = subprocess.run(
        [*short, "--steps", "800", "--out", str(out)], capture_output=True, text=True, check=True
    )
    found = json.loads(first.stdout)
    assert [*found["policies"]][-1] == "learned"
    assert found["policies"]["random"]["over_random"] == 1.0
    again = subprocess.run(
        [*short, "--policy", str(out)], capture_output=True, text=True, check=True
    )
    assert json.loads(again.stdout)["policies"] == found["policies"]
