"""A controller's action, looked at before the robot takes it: controllers may be plugins.

At the start of a run a controller that cannot work is bad input; later on it ends the run, and what
came before is kept.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from testbed.core.errors import BadInput, Diverged, TestbedError
from testbed.core.parameter_types import as_numbers, shown
from testbed.core.signals import Array


def checked_action(
    controller: Any, sizes: tuple[int, ...], t: float, clean: Array, reference: Array
) -> Array:
    """What the controller does from t on (d,), d one of `sizes`."""
    try:
        action = controller.action(t, clean, reference)
    except TestbedError:
        raise
    except (Exception, SystemExit) as error:  # a plugin may call exit()
        raise failure(controller, t, f"raised {type(error).__name__}: {error}") from error
    good = isinstance(action, np.ndarray) and action.ndim == 1 and action.size in sizes
    if not good or not math.isfinite(np.dot(action, action)):
        array = as_numbers(action)
        wanted = f"{sizes[0]} finite numbers"
        if array is None or array.ndim != 1 or array.size not in sizes:
            raise failure(controller, t, f"gave {shown(action)} as action, not {wanted}")
        if not np.all(np.isfinite(array)):
            raise failure(controller, t, f"gave an action that is not finite: {wanted} are needed")
        return array
    return action


def failure(controller: Any, t: float, why: str) -> TestbedError:
    """The error for a controller that does not do its part at time t (s)."""
    name = type(controller).__name__
    if t == 0.0:
        return BadInput(f"controller {name}: it {why}")
    return Diverged(f"the controller {name} {why}, at t = {t:g} s")
