"""Thousands of damaged scenarios: each runs, or is refused in one line. Nothing else happens."""

from __future__ import annotations

import copy
import os
import random
import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from testbed.core.resources import scenario_names, scenarios_dir

DEFAULTS = {
    "arm_grasp": ("wrench", "payload"),
    "cheetah_swing": ("joint_torque", "knee_link"),
    "free_flyer_fuel_burn": ("free_body", "body"),
    "free_flyer_id": ("free_body", "body"),
    "human_plate": ("force_plate", "thorax"),
}
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e-?\d+)?(?![\w.])")


def short(name: str) -> dict[str, Any]:
    """A shipped scenario squeezed into 0.02 s, with parts that it does not have itself."""
    data = tomllib.loads((scenarios_dir() / f"{name}.toml").read_text(encoding="utf-8"))
    data["duration"], data["rate"] = 0.02, 250
    data.pop("vary", None)  # its draws are meant for the whole length
    if "model" not in data.get("controller", {}):
        data.pop("controller", None)  # an elastic joint needs the scenario's own rate
    if data.get("excitation", {}).get("use") == "moves":
        data.pop("excitation")  # there is no time for one
    if "validation" in data:
        data["validation"]["duration"] = 0.02
    for i, change in enumerate(data.get("change", [])):
        change["at"] = 0.004 + 0.002 * i
        if "until" in change:
            change["until"] = 0.018
    if name in DEFAULTS:
        regressor, body = DEFAULTS[name]
        data["regressors"] = {"mine": {"use": regressor}}
        scale = {"at": 0.01, "until": 0.015, "body": body, "scale": 1.5}
        data.setdefault("change", []).append(scale)
    return data


def toml(value: Any) -> str:
    """A value as TOML, tables inline."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{quoted(k)} = {toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(toml(v) for v in value) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return quoted(value) if isinstance(value, str) else str(value)


def quoted(text: str) -> str:
    plain = "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in escape(text))
    return f'"{plain}"'


def escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def document(data: dict[str, Any]) -> str:
    return "".join(f"{quoted(key)} = {toml(value)}\n" for key, value in data.items())


def places(data: Any) -> Iterator[tuple[Any, Any]]:
    """Every (container, key) of nested data."""
    for key in list(data) if isinstance(data, dict) else range(len(data)):
        yield data, key
        if isinstance(data[key], dict | list):
            yield from places(data[key])


def deep(rng: random.Random) -> Any:
    value: Any = 1
    for _ in range(rng.choice([2, 5, 11, 13, 40, 120])):
        value = [value] if rng.random() < 0.5 else {"a": value}
    return value


STRANGE: list[Callable[[random.Random], Any]] = [
    lambda rng: rng.choice([0, -1, 1, 2, 10, 1.5, -0.0, 1e-300, 5e-324, 1e300, -1e300, 1e9, 2**62]),
    lambda rng: rng.choice([float("nan"), float("inf"), float("-inf")]),
    lambda rng: 10 ** rng.randrange(20, 400),
    lambda rng: rng.choice([True, False]),
    lambda rng: rng.choice(["", " ", "x", "0.1", "nan", "\n", "\x1b[2J", "a\x00b", "../..", "ω"]),
    lambda rng: rng.choice(
        ["rls", "payload", "white", "body", "rest", "match", "x.py:A", "@", ":"]
    ),
    lambda rng: "long" * rng.randrange(1, 3000),
    lambda rng: rng.choice(
        [[], [[]], [1], [1, 2, 3], [1.0, "a"], [[1], [2, 3]], [float("nan")] * 3]
    ),
    lambda rng: [rng.uniform(-1, 1) for _ in range(rng.randrange(10))],
    lambda rng: rng.choice([{}, {"use": "rls"}, {"use": 3}, {"a": {"b": {}}}, {"mass": -1}]),
    deep,
]


def typo(text: str, rng: random.Random) -> str:
    i = rng.randrange(len(text) + 1)
    return rng.choice(
        [
            text[:i] + text[i + 1 :],
            text[:i] + rng.choice("axz_ .\n\"'") + text[i:],
            text.upper(),
            "",
        ]
    )


def damage_data(data: dict[str, Any], rng: random.Random) -> None:
    """One change of the data: a value, a key, something dropped, doubled or moved."""
    container, key = rng.choice(list(places(data)))
    if (container, key) == (data, "duration"):
        return  # must stay cheap
    how = rng.choice(["value", "value", "key", "drop", "double", "move", "scale", "scale", "scale"])
    if how == "drop":
        del container[key]
    elif how == "key" and isinstance(container, dict):
        container[typo(key, rng)] = container.pop(key)
    elif how == "double" and isinstance(container, list):
        container.append(copy.deepcopy(container[key]))
    elif how == "move":
        other, place = rng.choice(list(places(data)))
        if (other, place) != (data, "duration"):
            other[place] = copy.deepcopy(container[key])
    elif how == "scale" and type(container[key]) is float:
        container[key] *= 10.0 ** rng.uniform(-12, 12)
    elif isinstance(container[key], str) and rng.random() < 0.5:
        container[key] = typo(container[key], rng)
    else:
        container[key] = rng.choice(STRANGE)(rng)


def damage_text(text: str, rng: random.Random) -> bytes:
    """One change of the file as text: cut, doubled lines, strange bytes."""
    how = rng.choice(["cut", "line", "bytes", "swap", "number"])
    i = rng.randrange(len(text) + 1)
    lines = text.splitlines(keepends=True)
    if how == "cut":
        return text[:i].encode()
    if how == "line":
        line = rng.choice(lines)
        return (text[: text.find("\n") + 1] + line + text[text.find("\n") + 1 :]).encode()
    if how == "swap":
        a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
        lines[a], lines[b] = lines[b], lines[a]
        return "".join(lines).encode()
    if how == "number":
        numbers = list(NUMBER.finditer(text, text.find("plant")))
        hit = rng.choice(numbers) if numbers else None
        if hit is not None:
            value = toml(rng.choice(STRANGE)(rng))
            return (text[: hit.start()] + value + text[hit.end() :]).encode()
    noise = bytes(rng.randrange(256) for _ in range(rng.randrange(1, 6)))
    return text[:i].encode() + noise + text[i:].encode()


def damaged(seed: int) -> bytes:
    """The scenario file number `seed`."""
    rng = random.Random(seed)
    data = short(rng.choice(scenario_names()))
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        damage_data(data, rng)
    text = document(data)
    return damage_text(text, rng) if rng.random() < 0.25 else text.encode()


def check(seed: int, cli: Callable[..., Any], folder: Path) -> int:
    """Run it: exit code 0 or 1, or 2 with one line that names the file."""
    (folder / "s.toml").write_bytes(damaged(seed))
    try:
        outcome = cli("run", "s.toml", "--json")
    except BaseException as error:
        raise AssertionError(f"scenario {seed}: {type(error).__name__}: {error}") from error
    assert outcome.code in (0, 1, 2), f"scenario {seed}: {outcome}"
    assert "Traceback" not in outcome.err, f"scenario {seed}: {outcome.err}"
    if outcome.code == 2:
        assert outcome.out == "", f"scenario {seed}"
        one_line = re.fullmatch(r"testbed: s\.toml: [^\n]{5,}\n", outcome.err)
        assert one_line, f"scenario {seed}: {outcome}"
        assert "cannot be made" not in outcome.err, f"scenario {seed}: unclear: {outcome.err}"
    return int(outcome.code)


def run_all(seeds: range, cli: Callable[..., Any], folder: Path) -> None:
    codes = [check(seed, cli, folder) for seed in seeds]
    assert {p.name for p in folder.iterdir()} == {"s.toml"}, "nothing else is left behind"
    refused = codes.count(2) / len(codes)
    assert 0.2 < refused < 0.97, "the damage is neither harmless nor always the same"


@pytest.mark.parametrize("name", scenario_names())
def test_what_is_damaged_was_whole_before(name, cli, folder: Path):
    (folder / "s.toml").write_text(document(short(name)))
    outcome = cli("run", "s.toml", "--json")
    assert outcome.code in (0, 1), outcome.err  # too short for the rules, else sound


@pytest.mark.parametrize("part", range(3))
def test_damaged_scenarios_run_or_are_refused(part, cli, folder: Path):
    run_all(range(100 * part, 100 * part + 100), cli, folder)


# Two thousand in CI, where people wait; FUZZ_PARTS=20 runs ten thousand.
PARTS = int(os.environ.get("FUZZ_PARTS", "4"))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_many_more_damaged_scenarios_run_or_are_refused(part, cli, folder: Path):
    run_all(range(1000 + 500 * part, 1500 + 500 * part), cli, folder)
