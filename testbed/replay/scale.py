"""Numbers of a log in SI units at the joints: units, signs, torque constants, gears, offsets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from testbed.core.errors import BadInput
from testbed.core.signals import Array
from testbed.replay.columns import SITE
from testbed.replay.recipe import UNITS, Recipe, by_joint, gear_matrix

_LIMITS = {
    "q": 1e4, "v": 1e4, "a": 1e6, "tau": 1e6,
    "wrench": 1e6, "accel": 1e5, "gyro": 1e4, "angacc": 1e6, "log": 1e12,
}  # fmt: skip
_FEW = 0.01  # share of rows beyond the limits up to which these are dropped


def scaled(
    signals: dict[str, Array], recipe: Recipe, joints: Sequence[str], effort: str | None
) -> dict[str, Array]:
    """SI units at the joints: units, signs, gears, torque constants, offsets."""
    out = dict(signals)
    for channel, unit in recipe.units.items():
        if channel in out:
            out[channel] = out[channel] * UNITS[channel][unit]
    for channel, value in recipe.signs.items():
        if channel in out:
            names = SITE.get(channel, joints)
            out[channel] = out[channel] * by_joint(value, names, 1.0, f"signs.{channel}")
    _refuse_currents(recipe, effort)
    if effort == "current" and "tau" in out:
        if recipe.torque_constant is None:
            if recipe.gear is None:
                raise BadInput(
                    'effort = "current" needs torque_constant (N·m per A, one a joint), or '
                    "gear.matrix with currents that stand for motor torques"
                )
        else:
            constants = by_joint(recipe.torque_constant, joints, 1.0, "torque_constant")
            out["tau"] = out["tau"] * constants
    if recipe.gear is not None:
        R = gear_matrix(recipe.gear, joints)
        for channel in recipe.gear.signals:
            if channel in out:
                turn = R if channel == "tau" else np.linalg.inv(R).T
                out[channel] = out[channel] @ turn
    for channel, value in recipe.offsets.items():
        if channel in out:
            names = SITE.get(channel, joints)
            out[channel] = out[channel] + by_joint(value, names, 0.0, f"offsets.{channel}")
    return out


def _refuse_currents(recipe: Recipe, effort: str | None) -> None:
    """Currents must be called so: taken for torques they give a wrong model without a sign."""
    if effort == "current":
        return
    unit = recipe.units.get("tau")
    if unit in ("A", "mA"):
        raise BadInput(f'units.tau = "{unit}" is a current: say effort = "current"')
    if recipe.torque_constant is not None:
        raise BadInput(f'torque_constant is for effort = "current", and effort is {effort!r}')


def beyond(signals: dict[str, Array], name: str) -> tuple[NDArray[np.bool_], list[str]]:
    """Rows (n,) with numbers that no robot has, and what to say of them.

    Args:
        signals: Channel → numbers (n, k), in SI units.
        name: The log, for messages.
    """
    wild = np.zeros(len(next(iter(signals.values()))), dtype=bool)
    texts = []
    for channel, limit in _LIMITS.items():
        if channel not in signals:
            continue
        y = np.abs(signals[channel])
        rows = np.any(y > limit, axis=1)
        if rows.mean() > _FEW:
            raise BadInput(
                f"{name}: {channel} reaches {y.max():.3g}, in {rows.sum()} of {len(rows)} rows "
                f"beyond the {limit:g} of any robot: say units, gear.matrix or other columns"
            )
        if np.any(rows):
            texts.append(
                f"{rows.sum()} rows with numbers that no robot has ({channel} up to {y.max():.3g}) "
                "are dropped"
            )
            wild |= rows
    return wild, texts
