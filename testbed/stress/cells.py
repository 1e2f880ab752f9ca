"""The grid: change × excitation × noise × plant. A cell is a scenario, drawn anew for every seed.

Every run has the same course: DURATION seconds, the (first) change drawn between 5 and 7 s, so that
no rule can be tuned to a moment.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from testbed.core.errors import BadInput, UnknownName
from testbed.stress.plants import ROBOTS, Robot, Table

CHANGES = (
    *("none", "grasp_small", "grasp_large", "release", "burn", "burn_stop"),
    *("double_step", "friction_drift", "offset_jump"),
)
EXCITATIONS = ("rich", "poor", "rest_at_change", "intermittent")
NOISES = ("clean", "nominal", "heavy", "biased", "outliers")
PLANTS = tuple(ROBOTS)
DURATION = 16.0  # s
_FIRST = (5.0, 7.0)  # s: when the change comes
_SECOND = (10.0, 11.5)  # s: the second one of a double step, and where a burn stops
_REST = (4.0, 8.0)  # s: of `rest_at_change`
_SCALES = {"clean": 0.02, "heavy": 4.0}  # of the nominal noise
_SPIKES = 0.5  # outliers a second and channel


@dataclass(frozen=True)
class StressCell:
    """One case."""

    change: str
    excitation: str
    noise: str
    plant: str

    @property
    def name(self) -> str:
        """What tables and the store call it."""
        return f"{self.plant} {self.change} {self.excitation} {self.noise}"

    @property
    def possible(self) -> bool:
        """Whether the plant can do it: only the leg estimates friction."""
        return self.change != "friction_drift" or ROBOTS[self.plant].friction

    def scenario(self) -> Table:
        """The case as data, without estimators."""
        robot = ROBOTS[self.plant]
        changes, vary = _changes(self.change, robot)
        validation = {"use": robot.motion["use"], **robot.motion}
        return {
            "title": self.name,
            "duration": DURATION,
            "rate": robot.rate,
            "plant": dict(robot.plant),
            "prior": {"from": "cad", "error": 0.2},
            "excitation": _excitation(self.excitation, robot),
            "validation": {"duration": 5.0, "excitation": validation},
            "sensors": _sensors(self.noise, robot),
            "noise": {"scale": _SCALES.get(self.noise, 1.0)},
            "change": changes,
            "vary": vary,
        }


def all_cells() -> Iterator[StressCell]:
    """The whole grid, less what cannot be."""
    for plant in PLANTS:
        for change in CHANGES:
            for excitation in EXCITATIONS:
                for noise in NOISES:
                    cell = StressCell(change, excitation, noise, plant)
                    if cell.possible:
                        yield cell


def select(cells: Sequence[StressCell], words: str) -> list[StressCell]:
    """Those whose name holds every one of these words, in any order."""
    wanted = words.replace(",", " ").split()
    known = (*PLANTS, *CHANGES, *EXCITATIONS, *NOISES)
    for word in wanted:
        if word not in known:
            raise UnknownName("word", word, known, "--cells: ")
    chosen = [cell for cell in cells if set(wanted) <= set(cell.name.split())]
    if not chosen:
        raise BadInput(f"--cells {words!r}: no cell has all of that; --full has more cells")
    return chosen


def curated_cells() -> list[StressCell]:
    """24 cells that meet every value of every axis; grasps, the commonest change, most often."""
    return [StressCell(*words.split()) for words in _CURATED]


_CURATED = (
    "none rich nominal arm",
    "none intermittent outliers leg",
    "none poor heavy arm",
    "none intermittent nominal flyer",
    "grasp_small rich nominal arm",
    "grasp_small rich clean leg",
    "grasp_small intermittent nominal flyer",
    "grasp_large rich nominal arm",
    "grasp_large rest_at_change nominal arm",
    "grasp_large poor nominal leg",
    "grasp_large rich nominal flyer",
    "grasp_large rest_at_change nominal flyer",
    "grasp_large rich outliers arm",
    "release rich biased arm",
    "release intermittent heavy flyer",
    "release rest_at_change nominal leg",
    "burn rich nominal flyer",
    "burn poor nominal arm",
    "burn_stop rich nominal leg",
    "burn_stop intermittent clean flyer",
    "double_step rich nominal leg",
    "double_step intermittent nominal arm",
    "friction_drift rich nominal leg",
    "offset_jump rich nominal arm",
)


def _sensors(noise: str, robot: Robot) -> Table:
    sensors: Table = {channel: dict(table) for channel, table in robot.sensors.items()}
    if noise == "biased":
        for channel, bias in robot.bias.items():
            sensors[channel]["bias"] = bias
    if noise == "outliers":
        for channel, size in robot.spikes.items():
            sensors[channel]["spikes"] = {"rate": _SPIKES, "size": size}
    return sensors


def _excitation(kind: str, robot: Robot) -> Table:
    rest = {"use": "rest"}
    if kind == "rich":
        return dict(robot.motion)
    if kind == "poor":  # all that there is to know has been told before it gets poor
        parts = [(robot.motion, _FIRST[0] - 1.0), (robot.poor, DURATION - _FIRST[0] + 1.0)]
    elif kind == "rest_at_change":
        parts = [
            (robot.motion, _REST[0]),
            (rest, _REST[1] - _REST[0]),
            (robot.motion, DURATION - _REST[1]),
        ]
    else:
        parts = [(robot.motion, 2.0), (rest, 2.0)] * 4
    return {"use": "sequence", "parts": [{**table, "seconds": s} for table, s in parts]}


def _changes(kind: str, robot: Robot) -> tuple[list[Table], dict[str, Any]]:
    """The changes, and what of them is drawn for every seed."""
    at, first, second = sum(_FIRST) / 2, {"uniform": list(_FIRST)}, {"uniform": list(_SECOND)}
    later = sum(_SECOND) / 2

    def grasp(mass: float, when: float) -> Table:
        load = {"name": "load", "mass": mass, **robot.load}
        return {"at": when, "body": robot.body, "attach": load}

    if kind == "none":
        return [], {}
    if kind in ("grasp_small", "grasp_large"):
        mass = robot.small if kind == "grasp_small" else robot.large
        drawn = {"uniform": [0.8 * mass, 1.2 * mass]}
        return [grasp(mass, at)], {"change.0.at": first, "change.0.attach.mass": drawn}
    if kind == "release":
        changes = [grasp(robot.large, 0.0), {"at": at, "release": "load"}]
        return changes, {"change.1.at": first}
    if kind == "double_step":
        changes = [grasp(robot.large, at), {"at": later, "release": "load"}]
        return changes, {"change.0.at": first, "change.1.at": second}
    if kind == "friction_drift":
        drift = {"at": at, "until": DURATION, "friction": {"scale": 3.0}}
        return [drift], {"change.0.at": first}
    if kind == "offset_jump":
        channel, offset = robot.offset
        return [{"at": at, "channel": channel, "offset": offset}], {"change.0.at": first}
    until = DURATION if kind == "burn" else later
    vary = {} if kind == "burn" else {"until": second}
    return _burn(robot, at, until, first, vary)


def _burn(
    robot: Robot, at: float, until: float, first: Table, vary: Table
) -> tuple[list[Table], dict[str, Any]]:
    """Mass that leaves steadily: fuel from a tank, or a load that drains."""
    if robot.tank is not None:
        burn = {"mass": 1.0, "tank": {"capacity": 1.0, **robot.tank}}
        changes = [{"at": at, "until": until, "body": robot.body, "burn": burn}]
    else:
        load = {"name": "load", "mass": robot.large, **robot.load}
        drain = {"mass": 0.1 * robot.large}
        changes = [
            {"at": 0.0, "body": robot.body, "attach": load},
            {"at": at, "until": until, "body": robot.body, "part": "load", "ramp": drain},
        ]
    i = len(changes) - 1
    return changes, {f"change.{i}.at": first, **{f"change.{i}.{k}": v for k, v in vary.items()}}
