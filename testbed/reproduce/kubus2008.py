"""Kubus, Kröger & Wahl 2008 over many seeds: `python -m testbed.reproduce.kubus2008 --out DIR`.

Each seed is another motion and other noise. The load is o1; the sensor's own distal part is
estimated once without a load and subtracted, as in section V.A. Errors are those of eq. 37, the
mean over the ten parameters unless a figure shows each. No estimator is told anything but what its
sensors and declared noise say.
"""

from __future__ import annotations

import argparse
import copy
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from testbed.core.errors import TestbedError
from testbed.core.signals import Array
from testbed.harness import Scenario, run
from testbed.plants.known_loads import KNOWN_LOADS

METHODS = ("rls", "riv", "rtls")
SOURCES = ("sensor", "mixed", "kalman", "setpoint")
_GROUPS = {"sensor": "measured", "mixed": "mixed", "kalman": "kalman", "setpoint": "plan"}
LATE = 0.003  # s
_PRIOR_STD = 10.0  # vague: the data decide

Tables = dict[str, Any]
Edit = Callable[[Tables], None]


def nothing(tables: Tables) -> None:
    """The scenario as it is."""


def weak(tables: Tables) -> None:
    """A third of the motion, and of the vibration where there is some."""
    tables["excitation"]["amplitude"] *= 0.3
    vibration = (tables.get("controller") or {}).get("vibration")
    if vibration:
        vibration["amplitude"] *= 0.3


def misaligned(tables: Tables) -> None:
    """The accelerometer comes late, and nobody is told."""
    tables["plant"]["mismatch"] = {"time_shift": {"accel": LATE}}


CASES: Mapping[str, Edit] = {"as it is": nothing, "amplitude × 0.3": weak, "3 ms late": misaligned}


def scenario(name: str, edit: Edit = nothing, sources: Sequence[str] = ("sensor",)) -> Scenario:
    """A shipped scenario with the three methods on each of the acceleration sources.

    `rtls_raw-sensor` is total least squares even where it cannot be trusted.
    """
    tables = copy.deepcopy(Scenario.load(name).resolved())
    edit(tables)
    tables["accept"] = []
    tables["sensors"]["q"] = {"bits": 17}
    tables["signals"] = signals(tables)
    tables["estimator"] = [_table(method, s) for s in sources for method in METHODS]
    raw = {**_table("rtls", "sensor"), "name": "rtls_raw-sensor", "fallback": False}
    tables["estimator"].append(raw)
    return Scenario.from_dict(tables)


def signals(tables: Tables) -> Tables:
    """The groups of Fig. 9: encoders through a Kalman filter, alone or beside the accelerometer."""
    snap = snap_density(tables)
    kalman = {c: {"derive": "kalman", "from": "q", "snap": snap} for c in ("v", "a")}
    turning = {c: {"derive": "kinematics"} for c in ("gyro", "angacc")}
    site = ("accel", "gyro", "angacc")
    return {
        "mixed": {**kalman, **turning},
        "kalman": {**kalman, **turning, "accel": {"derive": "kinematics"}},
        "plan": {c: {"from_group": "reference"} for c in site},
    }


def snap_density(tables: Tables) -> float:
    """What the filter is told of the motion (unit²/s⁷): 0.05 s·(a (2πf)²)², from what is planned.

    a is the rms acceleration of a joint up to f Hz, of the setpoints or of the vibration, whichever
    asks for more; both are known to who designs the experiment.
    """
    motion = tables["excitation"]
    fastest = motion["base_hz"] * motion["harmonics"]
    kinds = [(motion["amplitude"], fastest)]
    vibration = (tables.get("controller") or {}).get("vibration")
    if vibration:
        kinds.append((vibration["amplitude"], vibration["hz"][1]))
    return max(0.05 * (size * (2 * np.pi * hz) ** 4) ** 2 for size, hz in kinds)


def _table(method: str, source: str) -> Tables:
    ports = {"eq": f"@{_GROUPS[source]}"}
    if method != "rls":
        ports["instrument" if method == "riv" else "instrument?"] = "@reference"
    return {
        "use": method,
        "name": f"{method}-{source}",
        "prior_std": _PRIOR_STD,
        "inputs": ports,
    }


def distal_part(motions: int = 3, seconds: float = 10.0, seed: int = 1000) -> Array:
    """φ (10,) of what the sensor carries without a load, by instrumental variables.

    A calibration that is done once and in peace: the mean over several long, slow motions, with
    angular accelerations from the encoders.
    """
    tables = copy.deepcopy(Scenario.load("arm_payload").resolved())
    tables.update(accept=[], change=[], duration=seconds, vary={})
    tables["sensors"]["q"] = {"bits": 17}
    tables["signals"] = signals(tables)
    tables["estimator"] = [_table("riv", "mixed")]
    scene = Scenario.from_dict(tables)
    cards = [run(scene, seed=seed + i).scorecard for i in range(motions)]
    return np.mean([card["estimators"]["riv-mixed"]["theta"] for card in cards], axis=0)


def study(
    scene: Scenario, seeds: Iterable[int], distal: Array, label: str = ""
) -> tuple[dict[str, Array], dict[str, list[Tables]]]:
    """Estimator → relative errors (seeds, 10) of the load, and what it said with its last estimate.

    Args:
        scene: From `scenario`.
        seeds: One run each.
        distal: φ (10,) to subtract.
        label: Of the progress on stderr; empty shows none.
    """
    truth = KNOWN_LOADS["kubus_o1"]
    errors: dict[str, list[Array]] = {}
    said: dict[str, list[Tables]] = {}
    for seed in seeds:
        if label:
            print(f"\r{label}: seed {seed} ", end="", file=sys.stderr, flush=True)
        for name, row in run(scene, seed=seed).scorecard["estimators"].items():
            if row["failed"]:
                raise TestbedError(f"{name} failed with seed {seed}: {row['failed']}")
            load = np.array(row["theta"])[:10] - distal
            errors.setdefault(name, []).append(np.abs(load / truth - 1.0))
            said.setdefault(name, []).append(row["info"].get("last", {}))
    if label:
        print(file=sys.stderr)
    return {name: np.array(rows) for name, rows in errors.items()}, said


def means(errors: Mapping[str, Array]) -> dict[str, float]:
    """Mean relative error over seeds and parameters."""
    return {name: float(rows.mean()) for name, rows in errors.items()}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all of it, print the tables, and draw the figures where a folder is given."""
    parser = argparse.ArgumentParser(prog="python -m testbed.reproduce.kubus2008")
    parser.add_argument("--seeds", type=int, default=30, help="how many runs of each case")
    parser.add_argument("--out", type=Path, help="folder for figures and errors.json")
    given = parser.parse_args(arguments)
    if given.seeds < 1:
        parser.error("--seeds must be at least 1")
    seeds, distal = range(given.seeds), distal_part()
    found: dict[str, dict[str, Array]] = {}
    print(f"mean relative error of load o1 over {given.seeds} seeds, distal part subtracted")
    for name in ("arm_vibration", "arm_payload"):
        errors, said = study(scenario(name, nothing, SOURCES), seeds, distal, name)
        found[name] = errors
        _print_sources(name, errors, said)
        for case, edit in list(CASES.items())[1:]:
            other, said = study(scenario(name, edit), seeds, distal, f"{name}, {case}")
            _print_case(f"{name}, {case}", other, said)
    if given.out is not None:
        from testbed.reproduce.kubus2008_plots import draw

        draw(found, given.out)
        table = {n: {e: rows.tolist() for e, rows in errors.items()} for n, errors in found.items()}
        (given.out / "errors.json").write_text(json.dumps(table))
        print(f"figures and errors.json are in {given.out}")
    return 0


def _print_sources(
    name: str, errors: Mapping[str, Array], said: Mapping[str, list[Tables]]
) -> None:
    print(f"\n{name:22}" + "".join(f"{m:>9}" for m in METHODS) + "   rtls trusted")
    raw = f"without its fallback {100 * errors['rtls_raw-sensor'].mean():.2f}%"
    mean = means(errors)
    for source in SOURCES:
        row = "".join(f"{100 * mean[f'{m}-{source}']:8.2f}%" for m in METHODS)
        more = f", {raw}" if source == "sensor" else ""
        print(f"  {source:20}{row}   {_trusted(said[f'rtls-{source}'])}{more}")


def _print_case(title: str, errors: Mapping[str, Array], said: Mapping[str, list[Tables]]) -> None:
    mean, last = means(errors), said["rtls-sensor"]
    best = min(mean["rls-sensor"], mean["riv-sensor"])
    row = "".join(f"{100 * mean[f'{m}-sensor']:8.2f}%" for m in METHODS)
    named = sorted({signal for info in last for signal in info.get("time_shift", {})})
    print(
        f"  {title:30}{row}   trusted {_trusted(last)}, {mean['rtls-sensor'] / best:.2f} × the best"
        f" of rls and riv; late: {', '.join(named) or 'nothing'}"
    )


def _trusted(said: Sequence[Tables]) -> str:
    return f"{sum(bool(info.get('trusted')) for info in said)}/{len(said)}"


if __name__ == "__main__":
    sys.exit(main())
