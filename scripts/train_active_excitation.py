#!/usr/bin/env python
"""Learn to excite the arm: a policy that moves so as to learn most about its payload.

    pip install torch==2.13.0        # PyTorch's CPU build suffices, and is far smaller
    pip install -e ".[rl]"
    python scripts/train_active_excitation.py --out policy.npz

Proximal policy optimisation (stable-baselines3) on `testbed/ArmPayload-v0`: 50 setpoint offsets a
second for six joints, ±0.5 rad, 4 s an episode, each with another payload (10 % about CAD), another
prior and other noise. The policy sees the encoders (q and v) and a clock. It is compared on
payloads it never met with random actions, filtered random ones and pseudo-random binary sequences
within the same bounds; the latter two with the band or bit that did best on three other payloads.
The figure is the information gained an episode, in nats. `--policy FILE` compares a policy that was
trained before; such a file holds plain arrays.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import gymnasium
import numpy as np
from numpy.typing import NDArray

import testbed  # registers the environments
from testbed.core import registry
from testbed.plants.excitations.plan import Plan

Array = NDArray[np.float64]
Policy = Callable[[int, Array], Array]  # (step, observation) → action
ENV = "testbed/ArmPayload-v0"
HELD_OUT = 100_000  # first seed of the payloads that are kept for the comparison
SCALE = 0.5  # rad: setpoint offsets reach this far
ROUGHLY_KNOWN = {"prior.error": 0.1, "plant.truth_error": 0.1}  # payload and prior are near CAD
TRAINING = {"duration": 2.0, "rate": 250.0}  # shorter and coarser: four times as many episodes
TONES = (1.7, 2.3, 3.1)  # Hz, of the policy's clock
TYPICAL = np.repeat([0.3, 2.0], 6)  # rad, rad/s: what observations are divided by
BITS = (0.04, 0.08, 0.12, 0.2, 0.32)  # s
BANDS = (1.0, 2.0, 3.0, 5.0)  # Hz


class Features(gymnasium.Wrapper[Any, Any, Any, Any]):
    """What the policy sees: encoders about home, in typical sizes within ±5, and a clock.

    The clock is sines and cosines of the time: with it a motion can start from rest and keep its
    rhythm, and joints can have rhythms of their own.
    """

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.middle = np.concatenate([env.unwrapped.plant.home, np.zeros(6)])
        size = 12 + 2 * len(TONES)
        self.observation_space = gymnasium.spaces.Box(-5.0, 5.0, (size,), np.float32)

    def reset(self, **options: Any) -> Any:
        seen, info = self.env.reset(**options)
        return self._features(seen, 0.0), info

    def step(self, action: Any) -> Any:
        seen, reward, terminated, truncated, info = self.env.step(action)
        return self._features(seen, info["t"]), reward, terminated, truncated, info

    def _features(self, seen: Any, t: float) -> Any:
        motion = np.clip((seen - self.middle) / TYPICAL, -5, 5)
        angle = 2 * np.pi * t * np.array(TONES)
        return np.concatenate([motion, np.sin(angle), np.cos(angle)]).astype(np.float32)


def make_env(**settings: Any) -> Any:
    settings = {**ROUGHLY_KNOWN, **settings}
    env = gymnasium.make(
        ENV, observe=["q", "v"], scale=SCALE, settings=settings, disable_env_checker=True
    )
    return Features(env)


# ----- what a learned policy is compared with


def rest(env: Any, seed: int) -> Policy:
    return lambda k, seen: np.zeros(6)


def random(env: Any, seed: int) -> Policy:
    rng = np.random.default_rng(seed)
    return lambda k, seen: rng.uniform(-1.0, 1.0, 6)


def excitation(**table: Any) -> Callable[[Any, int], Policy]:
    """One of the package's excitations as actions: the same bounds, all of them used."""

    def make(env: Any, seed: int) -> Policy:
        raw, rng = env.unwrapped, np.random.default_rng(seed)
        one, free = np.ones(6), np.full(6, np.inf)
        plan = Plan(raw.action.names, 0 * one, -one, one, free, raw.session.duration, rng)
        full = {"amplitude": 1.0, "lead_in": 0.0, "lead_out": 0.0, **table}
        motion = registry.excitation.build(full, plan=plan)
        t = raw.control_dt * np.arange(round(raw.session.duration / raw.control_dt))
        actions = motion(t)[0]
        actions = actions / np.abs(actions).max(axis=0)
        return lambda k, seen: actions[k]

    return make


def information(env: Any, make: Callable[[Any, int], Policy], seeds: Sequence[int]) -> Array:
    """Nats gained in one episode a seed."""
    gained = []
    for seed in seeds:
        seen, _ = env.reset(seed=seed)
        policy, done, k, total = make(env, seed), False, 0, 0.0
        while not done:
            action = np.clip(policy(k, seen), -1, 1).astype(np.float32)
            seen, reward, terminated, truncated, _ = env.step(action)
            done, k, total = terminated or truncated, k + 1, total + reward
        gained.append(total)
    return np.array(gained)


# ----- learning


def train(steps: int, seed: int) -> list[Array]:
    """Weights of the mean action: a chain of tanh layers, W and b in turn."""
    try:
        import torch
        from stable_baselines3 import PPO
        from stable_baselines3.common.vec_env import DummyVecEnv
    except ImportError:
        refuse("training needs stable-baselines3: pip install 'inertia-testbed[rl]'")
    torch.set_num_threads(1)

    def one() -> Any:
        # The first samples tell several nats whatever the arm does: cut off, they do not drown
        # what the actions bring. The comparison uses rewards as they are.
        return gymnasium.wrappers.ClipReward(make_env(**TRAINING), 0.0, 1.0)

    envs = DummyVecEnv([one] * 8)
    model = PPO(
        "MlpPolicy", envs, seed=seed, device="cpu", n_steps=100, batch_size=200, n_epochs=10,
        learning_rate=lambda left: 1.5e-3 * left, gamma=0.98, gae_lambda=0.9, ent_coef=0.0,
        # Exploration that depends on the state, not white noise: the arm filters that away.
        use_sde=True, sde_sample_freq=50,
        policy_kwargs={"net_arch": [32, 32], "log_std_init": -1.0},
    )  # fmt: skip
    start = time.process_time()

    def tell(state: dict[str, Any], _: dict[str, Any]) -> bool:
        if state["self"].num_timesteps % 4000 == 0:
            print(
                f"{state['self'].num_timesteps:7d} of {steps} steps, "
                f"{time.process_time() - start:4.0f} s CPU, "
                f"{information(watch, mlp(weights(model)), range(500, 503)).mean():.1f} nats",
                file=sys.stderr, flush=True,
            )  # fmt: skip
        return True

    watch = make_env()
    model.learn(steps, callback=tell)
    return weights(model)


def weights(model: Any) -> list[Array]:
    layers = [*model.policy.mlp_extractor.policy_net, model.policy.action_net]
    found = [p.detach().numpy().astype(float) for m in layers for p in m.parameters()]
    return [x.copy() for x in found]


def mlp(layers: Sequence[Array]) -> Callable[[Any, int], Policy]:
    """The policy in plain NumPy."""

    def policy(k: int, seen: Array) -> Array:
        x = np.asarray(seen, dtype=float)
        for i in range(0, len(layers), 2):
            x = layers[i] @ x + layers[i + 1]
            x = np.tanh(x) if i < len(layers) - 2 else x
        return x

    return lambda env, seed: policy


def refuse(why: str) -> NoReturn:
    """Bad input: one line, exit code 2."""
    print(why, file=sys.stderr)
    sys.exit(2)


def stored_policy(path: Path) -> list[Array]:
    """The layers of a policy that was trained before, in plain arrays."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            layers = [np.asarray(stored[f"layer{i}"], float) for i in range(len(stored.files))]
    except OSError as error:
        refuse(f"--policy {path}: cannot be read: {error.strerror or 'no .npz file'}")
    except Exception:  # NumPy has many ways to say so
        refuse(f"--policy {path}: not a policy that --out has written")
    size = 12 + 2 * len(TONES)
    for W, b in zip(layers[::2], layers[1::2], strict=False):
        if W.ndim != 2 or b.shape != W.shape[:1] or W.shape[1] != size:
            break
        size = len(b)
    else:
        if layers and len(layers) % 2 == 0 and size == 6 and np.isfinite(layers[-1]).all():
            return layers
    refuse(f"--policy {path}: its layers do not lead from what the policy sees to six joints")


def positive(text: str) -> int:
    """A whole number from 1 on."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"a whole number from 1 on, not {text!r}")
    return int(text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--steps", type=positive, default=72_000, help="of training (default 72000)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of training (default 0)")
    parser.add_argument("--episodes", type=positive, default=20, help="held-out ones (default 20)")
    parser.add_argument("--out", type=Path, help="write the policy's arrays to this .npz")
    parser.add_argument("--policy", type=Path, help="compare this .npz instead of training")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    given = parser.parse_args()
    assert testbed.__version__
    start, cpu = time.perf_counter(), time.process_time()
    if given.out is not None and (given.out.is_dir() or not given.out.parent.is_dir()):
        refuse(f"--out {given.out}: name a file in a folder that exists")  # before the training
    if given.policy is not None:
        layers = stored_policy(given.policy)
    else:
        layers = train(given.steps, given.seed)
    if given.out is not None:
        np.savez(given.out, **{f"layer{i}": x for i, x in enumerate(layers)})
    env, tuning = make_env(), range(min(3, given.episodes))

    def best(tables: Sequence[dict[str, Any]]) -> dict[str, Any]:
        print("tuning", tables[0]["use"], file=sys.stderr, flush=True)
        return max(tables, key=lambda t: information(env, excitation(**t), tuning).mean())

    bits = best([{"use": "prbs", "bit": bit, "rise": 0.0} for bit in BITS])
    band = best([{"use": "filtered_random", "high_hz": hz} for hz in BANDS])
    makers = {
        "rest": rest,
        "random": random,
        f"filtered random, up to {band['high_hz']:g} Hz": excitation(**band),
        f"PRBS, {bits['bit']:g} s a bit": excitation(**bits),
        "learned": mlp(layers),
    }
    seeds = range(HELD_OUT, HELD_OUT + given.episodes)
    found = {}
    for name, make in makers.items():
        print(f"{given.episodes} episodes of {name}", file=sys.stderr, flush=True)
        found[name] = information(env, make, seeds)
    rows = {
        name: {
            "nats": float(x.mean()),
            "std": float(x.std(ddof=1)) if len(x) > 1 else 0.0,
            "over_random": float(x.mean() / found["random"].mean()),
            "learned_wins": float(np.mean(found["learned"] > x)),
        }
        for name, x in found.items()
    }
    spent = {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - cpu}
    if given.json:
        print(json.dumps({"episodes": given.episodes, "policies": rows, **spent}, indent=1))
    else:
        print(f"{'information gained, nats':32s} {'mean':>6s} {'std':>5s} × random  learned wins")
        for name, r in rows.items():
            wins = "" if name == "learned" else f"{100 * r['learned_wins']:11.0f} %"
            print(f"{name:32s} {r['nats']:6.2f} {r['std']:5.2f} {r['over_random']:8.2f} {wins}")
        print(f"{spent['seconds']:.0f} s, {spent['cpu_seconds']:.0f} s of CPU time")
    return 0


if __name__ == "__main__":
    sys.exit(main())
