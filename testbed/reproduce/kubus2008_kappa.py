"""Kubus 2008, Table I: condition numbers of designed trajectories, from setpoints and from sensors.

κ is that of Υ = ΣAᵀA in SI units (eqs. 12 and 13) over the active part of the trajectory. The arm
is the vibrating one; its sensor's noise is that of `arm_payload`.
"""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np

from testbed.harness import Scenario
from testbed.plants.excitations.criteria import kappa
from testbed.plants.excitations.design import design
from testbed.regressors import wrench_regressor
from testbed.reproduce.findings import Say

LOADS = {"o1": "kubus_o1", "o2": "kubus_o2"}
_ACTIVE_S, _LEAD_S = 1.5, 0.2
_SIGNALS = ("accel", "angacc", "gyro")


class Condition(NamedTuple):
    """A row of Table I.

    Args:
        trajectory: "tr1" or "tr2".
        load: "o1" or "o2".
        setpoints: κ_set.
        sensors: κ_sens.
        finished: False where the time budget ended the design: another machine may differ.
    """

    trajectory: str
    load: str
    setpoints: float
    sensors: float
    finished: bool


def table_i(candidates: int, budget: float, say: Say = lambda _: None) -> list[Condition]:
    """κ of two designed trajectories with both loads.

    Args:
        candidates: Random trajectories that each design starts from.
        budget: Seconds after which a design stops with what it has.
        say: Told what goes on.
    """
    rows = []
    for seed in range(2):
        name = f"tr{seed + 1}"
        say(f"designing {name}")
        made = design(
            "staubli_arm", seed=seed, candidates=candidates, budget=budget,
            duration=_ACTIVE_S, lead_in=_LEAD_S, lead_out=_LEAD_S,
        )  # fmt: skip
        for load, known in LOADS.items():
            kappas = condition(made.table, known, seed)
            rows.append(Condition(name, load, *kappas, made.finished))
    return rows


def condition(excitation: dict[str, Any], load: str, seed: int) -> tuple[float, float]:
    """κ from setpoints and from sensors of one run.

    Args:
        excitation: The trajectory as a scenario has it.
        load: Name of a known load.
        seed: Of vibration and noise.
    """
    tables = copy.deepcopy(Scenario.load("arm_vibration").resolved())
    tables |= {"excitation": excitation, "duration": _ACTIVE_S + 2 * _LEAD_S, "accept": []}
    tables["change"][0]["attach"] = {"name": "load", "load": load}
    plant = Scenario.from_dict(tables).make_plant()
    plant.reset(seed)
    rate = float(tables["rate"])
    rows: dict[str, list[Any]] = {"reference": [], "measured": []}
    for _ in range(round((_LEAD_S + _ACTIVE_S) * rate)):
        sample, _ = plant.step()
        for group, seen in rows.items():
            seen.append([sample[group][channel] for channel in _SIGNALS])
    active = slice(round(_LEAD_S * rate), None)
    planned, sensed = (np.array(seen)[active] for seen in rows.values())  # (n, 3, 3)
    return _kappa(planned), _kappa(sensed)


def _kappa(signals: Any) -> float:
    return float(kappa(wrench_regressor(*np.moveaxis(signals, 1, 0))))
