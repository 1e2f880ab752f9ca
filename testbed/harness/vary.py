"""`[vary]`: numbers drawn anew for every seed, so that a hundred seeds are a hundred cases.

    [vary]
    "change.0.attach.mass" = { uniform = [0.5, 2.0] }
    "change.0.at"          = { uniform = [3.0, 5.0] }
    "prior.error"          = { log_uniform = [0.05, 0.5] }
    "change.0.attach"      = { body = 0.3 }             # a whole body, on the manifold

Each number has a random stream of its own: varying one more leaves the others as they are. What
somebody sets (`--set`, an environment's settings and wrappers) is not varied any more.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np

from testbed.core.errors import BadInput, UnknownName
from testbed.core.seeding import Streams
from testbed.core.signals import Array
from testbed.harness.paths import find_element, get_at, set_at, split_path, step_into
from testbed.inertia import mass_com_inertia, sample_around
from testbed.plants.loads import load_parameters

KINDS = ("uniform", "log_uniform", "normal", "choice", "body")
_NOT_VARIED = ("vary", "grid", "seed", "title", "accept", "metrics")


def draw_varied(data: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """The scenario's data with every varied value drawn for this seed."""
    drawn = copy.deepcopy(dict(data))
    streams = Streams(seed)
    for path, rule in (data.get("vary") or {}).items():
        value = draw(drawn, path, rule, streams(f"vary/{path}"))
        set_at(drawn, path, value)
    return drawn


def fix_at(data: dict[str, Any], path: str, value: Any) -> None:
    """Set the value at a path, in place, to stay: what [vary] says of it, or below it, is dropped.

    A path above it stays varied: a body is then drawn about the value that was set.
    """
    set_at(data, path, value)
    if isinstance(data.get("vary"), Mapping):  # what else it may be is refused later
        fixed = _by_number(data, path)
        data["vary"] = {
            other: rule
            for other, rule in data["vary"].items()
            if _by_number(data, other)[: len(fixed)] != fixed
        }


def _by_number(data: Any, path: str) -> list[str]:
    """The steps of a path, elements of lists by number; as they stand from where nothing is."""
    steps = split_path(path)
    for i, step in enumerate(steps):
        try:
            if isinstance(data, list):
                steps[i] = str(find_element(data, step, path))
            data = step_into(data, step, path)
        except BadInput:
            break
    return steps


def draw(data: Mapping[str, Any], path: str, rule: Any, rng: np.random.Generator) -> Any:
    """One value for one path."""
    where = f"vary.{path!r}"
    if split_path(path)[0] in _NOT_VARIED:
        raise BadInput(f"{where}: {split_path(path)[0]} cannot be varied")
    if not isinstance(rule, Mapping) or len(rule) != 1:
        raise BadInput(f"{where} needs exactly one of {', '.join(KINDS)}, got {rule!r}")
    kind, value = next(iter(rule.items()))
    if kind not in KINDS:
        raise UnknownName("distribution", kind, KINDS, f"{where}: ")
    if kind == "body":
        return _draw_body(data, path, value, rng, where)
    current = _present(data, path)
    number = isinstance(current, int | float) and not isinstance(current, bool)
    if kind != "choice" and current is not None and not number:
        raise BadInput(f"{where}: there is no number at this path, but {current!r}")
    if kind == "choice":
        if not isinstance(value, list) or not value:
            raise BadInput(f"{where}.choice needs a list of values, got {value!r}")
        return value[int(rng.integers(len(value)))]
    a, b = _two_numbers(value, f"{where}.{kind}")
    if kind == "normal":
        if b < 0:
            raise BadInput(f"{where}.normal is [mean, std] with std ≥ 0, got {value!r}")
        return float(rng.normal(a, b))
    if not a <= b or (kind == "log_uniform" and a <= 0):
        order = "0 < low ≤ high" if kind == "log_uniform" else "low ≤ high"
        raise BadInput(f"{where}.{kind} is [low, high] with {order}, got {value!r}")
    if kind == "uniform":
        return float(rng.uniform(a, b))
    return float(np.exp(rng.uniform(np.log(a), np.log(b))))


def _present(data: Any, path: str) -> Any:
    """The value at the path now; None where the scenario leaves it to its default."""
    try:
        return get_at(data, path)
    except UnknownName:
        # The last step may be a key with a default; what leads there must exist.
        *way, _ = split_path(path)
        if way:
            get_at(data, ".".join(f'"{step}"' for step in way))
        return None


def _two_numbers(value: Any, where: str) -> tuple[float, float]:
    good = (
        isinstance(value, list)
        and len(value) == 2
        and all(isinstance(x, int | float) and not isinstance(x, bool) for x in value)
        and all(np.isfinite(value))
    )
    if not good:
        raise BadInput(f"{where} needs two finite numbers, got {value!r}")
    return float(value[0]), float(value[1])


def _draw_body(
    data: Mapping[str, Any], path: str, error: Any, rng: np.random.Generator, where: str
) -> dict[str, Any]:
    """A load near the one that the scenario describes, never an impossible one."""
    if isinstance(error, bool) or not isinstance(error, int | float) or not 0 <= error <= 2:
        raise BadInput(f"{where}.body is the relative error of the draw, in [0, 2], got {error!r}")
    table = get_at(data, path)
    if not isinstance(table, Mapping):
        raise BadInput(f"{where}: there is no body at this path, but {table!r}")
    _, shape = split_load(table)
    phi = sample_around(load_parameters(shape, path), float(error), rng)
    return load_table(table, phi)


def split_load(table: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a load is called and how it moves, and what it is."""
    kept = {k: table[k] for k in ("name", "velocity") if k in table}
    return kept, {k: v for k, v in table.items() if k not in kept}


def load_table(table: Mapping[str, Any], phi: Array) -> dict[str, Any]:
    """The same load with another body: φ (10,) as mass, centre and inertia about it."""
    kept, _ = split_load(table)
    mass, com, inertia = mass_com_inertia(phi)
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = inertia.tolist()
    return {
        **kept,
        "mass": float(mass),
        "com": com.tolist(),
        "inertia": [xx, yy, zz, xy, yz, xz],
    }
