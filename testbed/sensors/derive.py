"""Derived signals: a channel worked out from another one instead of being measured.

    a = { derive = "kalman", from = "q", order = 2 }

| derive | keys | lag |
|---|---|---|
| `finite_difference` | | |
| `savgol` | window (samples: 21, or 101 for a second derivative), degree (3) | |
| `butterworth` | hz (0.015 of the rate), poles (2) | |
| `kalman` | std, resolution, or bits and range (default: the sensor's own); snap | |
| `savgol_centred` | window, degree | half a window |
| `kalman_smoother` | as kalman; lag | lag |
| `kinematics` | (no `from`): accel, gyro or angacc of a site from the group's q, v, a | |

`savgol_centred` and `kalman_smoother` are not causal: what they say belongs to `lag` samples ago.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from testbed.core.errors import BadInput, UnknownName
from testbed.core.parameter_types import shown
from testbed.core.signals import Channel
from testbed.sensors.checks import lsb, one_number
from testbed.sensors.filters import Deriver, butterworth, finite_difference, savgol
from testbed.sensors.kalman import DEFAULT_SNAP, KalmanSmoother, kalman

_NOISE = ("std", "resolution", "bits", "range", "snap")
KEYS: dict[str, tuple[str, ...]] = {
    "finite_difference": (),
    "savgol": ("window", "degree"),
    "savgol_centred": ("window", "degree"),
    "butterworth": ("hz", "poles"),
    "kalman": _NOISE,
    "kalman_smoother": (*_NOISE, "lag"),
    "kinematics": (),
}
NOT_CAUSAL = ("savgol_centred", "kalman_smoother")


@dataclass(frozen=True)
class Derived:
    """How a channel is worked out.

    Args:
        how: One of `KEYS`.
        source: The channel it comes from ("" for kinematics).
        order: Which derivative; None: what the units of the two channels say, else the first.
        params: Keys of this way.
        key: Where the table stands, for messages: "sensors.angacc".
    """

    how: str
    source: str = ""
    order: int | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    key: str = ""

    @classmethod
    def from_table(cls, table: Mapping[str, Any], where: str = "") -> Derived:
        """From `{derive = "savgol", from = "gyro", window = 15}`; `where` opens messages."""
        how = table["derive"]
        if not isinstance(how, str):
            raise BadInput(f"{where}derive must be one of {', '.join(KEYS)}, got {shown(how)}")
        if how not in KEYS:
            raise UnknownName("way to derive", how, KEYS, where)
        common = ("derive",) if how == "kinematics" else ("derive", "from", "order")
        for key in table:
            if key not in (*common, *KEYS[how]):
                raise UnknownName("key", str(key), (*common, *KEYS[how]), where)
        source = table.get("from", "")
        if how != "kinematics" and not (isinstance(source, str) and source):
            raise BadInput(f'{where}derive = "{how}" needs from = "…", the channel it starts from')
        params = {k: v for k, v in table.items() if k in KEYS[how]}
        return cls(how, source, table.get("order"), params, where.rstrip(": "))

    def order_between(self, source: Channel, target: Channel) -> int:
        """Which derivative is asked for: as said, or as the units of the two channels tell."""
        if self.order is not None:
            low = 1 if self.how == "finite_difference" else 0
            return _whole(self.order, f"{self.key}.order", low, 2)
        difference = _seconds(target.unit) - _seconds(source.unit)
        return difference if 1 <= difference <= 2 else 1


def _seconds(unit: str) -> int:
    """How often a unit is divided by time: rad/s² → 2."""
    return 2 if unit.endswith("/s²") else 1 if unit.endswith("/s") else 0


def make_deriver(
    spec: Derived, size: int, dt: float, std: float | None = None, order: int | None = None
) -> Deriver:
    """The streaming form of a spec.

    Args:
        spec: What is asked for.
        size: Number of components.
        dt: Time between the samples of the source (s).
        std: Declared standard deviation of the source, for filters that are not told their own.
        order: Which derivative; None: the spec's, or the first.
    """
    key, p = spec.key or spec.how, spec.params
    if order is None:
        order = 1 if spec.order is None else _whole(spec.order, f"{key}.order", 0, 2)
    if spec.how == "finite_difference":
        return finite_difference(order, dt, size)
    if spec.how in ("savgol", "savgol_centred"):
        # A second derivative needs far more samples for the same accuracy.
        usual = 21 if order < 2 else 101
        window = _whole(p.get("window", usual), f"{key}.window", 2, 10_001)
        degree = _whole(p.get("degree", min(3, window - 1)), f"{key}.degree", 0, 6)
        centred = spec.how == "savgol_centred"
        if centred and window % 2 == 0:
            raise BadInput(f"{key}.window must be odd to have a middle, got {window}")
        if not order <= degree < window:
            raise BadInput(
                f"{key}.degree must be at least the derivative ({order}) and less than the window "
                f"({window}), got {degree}"
            )
        return savgol(order, dt, size, window, degree, centred)
    if spec.how == "butterworth":
        # Below a ten-thousandth of the rate the filter would take minutes to settle.
        hz = one_number(p.get("hz", 0.015 / dt), f"{key}.hz", 1e-4 / dt, 0.499 / dt, "Hz")
        return butterworth(order, dt, size, hz, _whole(p.get("poles", 2), f"{key}.poles", 1, 8))
    if spec.how in ("kalman", "kalman_smoother"):
        noise = _kalman_noise(p, std, key)
        snap = one_number(p.get("snap", DEFAULT_SNAP), f"{key}.snap", 1e-12, 1e18)
        try:
            if spec.how == "kalman":
                return kalman(order, dt, size, noise, snap)
            lag = p.get("lag")
            lag = None if lag is None else _whole(lag, f"{key}.lag", 1, 5000)
            return KalmanSmoother(order, dt, size, noise, snap, lag)
        except BadInput as error:
            raise BadInput(f"{key}: {error}") from error
    raise BadInput(f"{key}: {spec.how} is worked out by a whole signal group, not by one channel")


def _kalman_noise(p: Mapping[str, Any], declared: float | None, key: str) -> float:
    """√R of the filter: what its table says, else what the source's sensor declares."""
    step = lsb(p.get("bits"), p.get("range"), p.get("resolution"), 2 * np.pi, 1, key)
    std = None if "std" not in p else one_number(p["std"], f"{key}.std", 1e-12, 1e6)
    if step is None and std is None:
        # A source that declares no noise is taken as good to a millionth of its unit.
        return max(declared or 0.0, 1e-6)
    return float(np.hypot(0.0 if step is None else step[0] / np.sqrt(12.0), std or 0.0))


def _whole(value: Any, key: str, low: int, high: int) -> int:
    number = one_number(value, key, low, high)
    if number != int(number):
        raise BadInput(f"{key} must be a whole number, got {shown(value)}")
    return int(number)
