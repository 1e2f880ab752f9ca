"""What a scenario says of one channel's sensor: plain data, checked when the stage is built."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from testbed.core import registry
from testbed.core.errors import BadInput, UnknownName
from testbed.sensors.derive import Derived


@dataclass(frozen=True)
class Sensor:
    """One channel as its sensor gives it.

    In the order in which they act on the true value: the instant (rate, delay, jitter); the
    transducer (misalignment, crosstalk, scale_error); what is added (bias, bias_std, noise,
    spikes); the converter (bits, limit); failures (stuck, dropout). Numbers that are said to be
    one a component may also be a single one. Random constants are drawn once a run.

    Args:
        noise: Name of the noise; `params` are its own parameters (std, walk, …).
        params: Parameters of the noise.
        delay: Seconds between the instant and its sample; between samples it interpolates.
        bias: Constant offset, one a component.
        limit: Saturation |value| ≤ limit, one a component; None keeps the channel's default.
        rate: Samples a second, at most the loop's; None for the loop's own. The n-th sample is
            taken at n/rate and shown at the first step from then on, where it is fresh.
        jitter: Standard deviation (s) of the instant that is sampled, around t − delay. No sensor
            looks ahead: instants later than now are taken now, so a delay of three `jitter`
            or more makes the spread symmetric.
        bias_std: Standard deviation of a random constant offset, one a component.
        scale_error: Standard deviation of the relative error of the gain, one a component.
        misalignment: Standard deviation (rad) of a random small rotation vector; for channels
            with a frame: of three components, or six that turn together (force and torque).
        crosstalk: X of y = (1 + X) x: a matrix with zeros on its diagonal, X[i][j] the share of
            component j that shows in i; or a number, the standard deviation of random ones.
        bits: Bits of the converter; rounds to the nearest of 2^bits steps.
        range: Full span that they cover; default one turn where the unit is rad.
        resolution: The step itself, instead of bits.
        spikes: `{rate, size}`: now and then (`rate` a second) one random component is off by
            ±size.
        dropout: `{probability, mode}`: a sample is lost with this probability. "missing" (the
            default) gives NaN and is marked stale; "held" repeats the last value and tells nobody.
        stuck: `{at, until}`: from `at` on (s) the last value is repeated; `until` may be left out.
        derived: The channel is not measured at all but worked out from another one.
    """

    noise: str = "none"
    params: Mapping[str, Any] = field(default_factory=dict)
    delay: float = 0.0
    bias: Any = 0.0
    limit: Any = None
    rate: float | None = None
    jitter: float = 0.0
    bias_std: Any = 0.0
    scale_error: Any = 0.0
    misalignment: float = 0.0
    crosstalk: Any = None
    bits: int | None = None
    range: Any = None
    resolution: Any = None
    spikes: Mapping[str, Any] | None = None
    dropout: Mapping[str, Any] | None = None
    stuck: Mapping[str, Any] | None = None
    derived: Derived | None = None

    @classmethod
    def from_table(cls, table: Mapping[str, Any], where: str = "") -> Sensor:
        """From a scenario's table, e.g. `{noise = "white", std = 0.2, delay = 0.002}`.

        Args:
            table: As above, or `{derive = "savgol", from = "gyro"}`.
            where: Opens every message, "sensors.gyro: ".
        """
        if not isinstance(table, Mapping):
            raise BadInput(f"{where}a sensor is a table, e.g. {{std = 0.1}}, got {table!r}")
        if "derive" in table:
            return cls(derived=Derived.from_table(table, where))
        own = OWN_KEYS
        white = "std" in table or "density" in table
        name = table.get("noise", "white" if white else "none")
        if not isinstance(name, str):
            raise BadInput(f"{where}noise must be the name of a noise, got {name!r}")
        entry = registry.noise.find(name)
        params = {k: v for k, v in table.items() if k not in own | {"noise"}}
        try:
            parameters = inspect.signature(entry.make).parameters
        except (TypeError, ValueError):  # a compiled class may hide its own
            parameters = {}  # type: ignore[assignment]
        anything = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
        for key in params:
            if key not in parameters and not anything:
                raise UnknownName(
                    "key", str(key), own | set(parameters) | {"noise", "derive"}, where
                )
        return cls(noise=name, params=params, **{k: table[k] for k in own if k in table})


OWN_KEYS = {f.name for f in fields(Sensor)} - {"noise", "params", "derived"}
