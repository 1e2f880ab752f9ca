"""Do the signals of a log look like what they should be? A line for each that does not."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from testbed.core.signals import Array
from testbed.logs import inspect
from testbed.logs.mend import gaps
from testbed.replay.columns import SITE
from testbed.replay.robot import LogRobot


def as_they_stand(signals: dict[str, Array], joints: Sequence[str]) -> list[str]:
    """Checks on numbers as they stand in the file: channels (n, k)."""
    texts = []
    for channel in ("q", "v", "tau", "wrench"):
        if channel in signals:
            names = SITE.get(channel, joints)
            texts += inspect.stuck(signals[channel], names, channel)
            if channel != "q":
                texts += inspect.clipped(signals[channel], names, channel)
    return texts


def in_units(
    t: Array, signals: dict[str, Array], joints: Sequence[str], robot: LogRobot, step: float
) -> list[str]:
    """Checks on numbers in SI units.

    Args:
        t: Times (n,), s, rising.
        signals: Channel → numbers (n, k).
        joints: Of the log.
        robot: Whose joints they are.
        step: The usual time between samples (s).
    """
    lower, upper = robot.limits(joints)
    texts = inspect.wrong_units(signals.get("q"), signals.get("v"), joints, lower, upper)
    if "accel" in signals:
        odd = inspect.wrong_gravity(signals["accel"])
        texts += [odd] if odd else []
    if "q" not in signals or "v" not in signals:
        return texts
    # No difference is taken over a gap: it would be as large as the gap is long.
    bounds = [0, *(int(i) for i in gaps(t, step)), len(t)]
    pieces = [slice(a, b) for a, b in pairwise(bounds) if b - a >= 3]
    if not pieces:
        return texts
    dq = [np.gradient(signals["q"][p], t[p], axis=0) for p in pieces]
    v = [signals["v"][p] for p in pieces]
    texts += inspect.derivative_mismatch(np.vstack(v), np.vstack(dq), joints)
    longest = int(np.argmax([len(x) for x in v]))
    late = inspect.delay(v[longest], dq[longest], 50)
    if late is not None and abs(late) > 1.5:
        texts.append(f"v is {1e3 * late * step:.3g} ms later than the derivative of q")
    return texts
