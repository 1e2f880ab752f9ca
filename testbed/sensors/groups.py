"""Signal groups: the measured channels with some of them replaced by derived ones.

    [signals.kalman]
    v = { derive = "kalman", from = "q" }
    a = { derive = "kalman", from = "q" }
    gyro = { derive = "kinematics" }
    tau = { from_group = "reference" }

Channels that a table does not name are the measured ones. `[sensors]` may derive, too: then the
channel of `measured` itself is the derived one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from testbed.core.errors import BadInput, UnknownName
from testbed.core.parameter_types import is_number, shown
from testbed.core.signals import Array, Layout
from testbed.sensors.checks import LARGEST
from testbed.sensors.derive import Derived
from testbed.sensors.sensor import Sensor
from testbed.sensors.signal_group import NONE, SignalGroup, SiteMotion


class SignalGroups:
    """`measured` and every group of the scenario.

    Args:
        layout: Channels of `measured`.
        tables: Group → channel → `{derive = …}` or `{from_group = …}`.
        sensors: Channel → sensor (or its table): which are slow, which are derived.
        dt: Time between steps (s).
        site_motion: `(q, v, a) → [a − g, ω, α]` (9,) of the site that carries the inertial
            sensors; None where there is none.
        reference: Channels of the planned motion, or None.
        noise: Declared standard deviation of the measured channels.
    """

    def __init__(
        self,
        layout: Layout,
        tables: Mapping[str, Mapping[str, Any]],
        sensors: Mapping[str, Sensor | Mapping[str, Any]],
        dt: float,
        site_motion: SiteMotion | None = None,
        *,
        reference: Layout | None = None,
        noise: Mapping[str, Array] | None = None,
    ) -> None:
        specs = {
            name: s if isinstance(s, Sensor) else Sensor.from_table(s, f"sensors.{name}: ")
            for name, s in sensors.items()
        }
        derived = {name: s.derived for name, s in specs.items() if s.derived is not None}
        for name, spec in derived.items():
            if name not in layout:
                raise UnknownName("channel", name, layout, "sensors: ")
            if spec.source in derived:
                raise BadInput(
                    f"sensors.{name}.from: {spec.source} is derived itself; start from a channel "
                    "that is measured"
                )
        periods = {n: period for n, s in specs.items() if (period := _period(s)) is not None}
        periods |= {n: periods[s.source] for n, s in derived.items() if s.source in periods}
        common = (periods, dt)
        self._measured = (
            SignalGroup("measured", layout, derived, *common, noise or {}, site_motion)
            if derived
            else None
        )
        noise = noise or {} if self._measured is None else self._measured.declared_std()
        self._noise = noise
        behind = 0 if self._measured is None else self._measured.own_lag
        self._groups: dict[str, SignalGroup] = {}
        for name, table in _read_tables(tables, layout).items():
            self._groups[name] = SignalGroup(
                name, layout, table, *common, noise, site_motion, reference, behind
            )
        # How many steps ago the instant of each group's samples was.
        self.lag = {"measured": behind}
        self.lag |= {name: behind + group.own_lag for name, group in self._groups.items()}
        self.stale: dict[str, frozenset[str]] = {name: NONE for name in self.lag}

    @property
    def derives(self) -> bool:
        """Whether there is anything to work out besides what the sensors say."""
        return self._measured is not None or bool(self._groups)

    def __iter__(self) -> Iterator[str]:
        return iter(self.lag)

    def declared_std(self) -> dict[str, dict[str, Array]]:
        """Group → channel → standard deviation, as an estimator is told."""
        found = {name: group.declared_std() for name, group in self._groups.items()}
        return {"measured": dict(self._noise), **found}

    def reset(self) -> None:
        """Forget all samples."""
        for group in (self._measured, *self._groups.values()):
            if group is not None:
                group.reset()
        self.stale = {name: NONE for name in self.lag}

    def step(
        self,
        measured: Array,
        reference: Array | None = None,
        stale: frozenset[str] = NONE,
    ) -> dict[str, Array]:
        """Group → flat vector (n,), `measured` among them; afterwards `stale` names a group's own.

        Args:
            measured: What the sensor stage says (n,).
            reference: The planned motion at this instant, or None.
            stale: The stage's channels with nothing new.
        """
        if self._measured is not None:
            measured = self._measured.step(measured, None, stale)
            stale = self._measured.stale
        out = {"measured": measured}
        self.stale["measured"] = stale
        for name, group in self._groups.items():
            out[name] = group.step(measured, reference, stale)
            self.stale[name] = group.stale
        return out


def _read_tables(
    tables: Mapping[str, Mapping[str, Any]], layout: Layout
) -> dict[str, dict[str, Derived | str]]:
    """Names and shapes checked; values are checked where they are used."""
    groups: dict[str, dict[str, Derived | str]] = {}
    for name, table in tables.items():
        key = f"signals.{name}"
        if name in ("measured", "reference"):
            raise BadInput(f"{key}: this name is taken; choose another")
        if not isinstance(table, Mapping):
            raise BadInput(f"{key} must be a table of channels, got {shown(table)}")
        groups[name] = {}
        for channel, entry in table.items():
            if channel not in layout:
                raise UnknownName("channel", str(channel), layout, f"{key}: ")
            where = f"{key}.{channel}"
            if isinstance(entry, Mapping) and "derive" in entry:
                groups[name][channel] = Derived.from_table(entry, f"{where}: ")
            elif isinstance(entry, Mapping) and set(entry) == {"from_group"}:
                if entry["from_group"] not in ("measured", "reference"):
                    raise BadInput(
                        f'{where}.from_group must be "measured" or "reference", '
                        f"got {shown(entry['from_group'])}"
                    )
                groups[name][channel] = entry["from_group"]
            else:
                raise BadInput(
                    f'{where} must be {{derive = "…", from = "…"}} or '
                    f'{{from_group = "reference"}}, got {shown(entry)}'
                )
    return groups


def _period(sensor: Sensor) -> float | None:
    """Time between its samples (s), where it has a rate; a bad one is for the stage to refuse."""
    rate = sensor.rate
    return 1.0 / rate if rate is not None and is_number(rate) and 0 < rate < LARGEST else None
