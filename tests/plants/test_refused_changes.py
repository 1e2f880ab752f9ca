"""Changes that cannot happen are refused before the run, in one line that names the key."""

from __future__ import annotations

import numpy as np
import pytest

from testbed.core.errors import BadInput
from testbed.plants import Change, FreeFlyer, Setup

BOX = {"mass": 1.2, "com": [0.05, -0.1, 0.08], "box": [0.1, 0.2, 0.3]}


def change(kind, value, at=1.0, until=None, body="body", part=None):
    return Change(
        at=at, until=until, kind=kind, body=body, value=value, part=part, where="change.7"
    )


def sphere(**other):
    return {"mass": 1.0, "sphere": 0.1, **other}


BAD = {
    "negative mass": (lambda: change("attach", sphere(mass=-1.0)), r"attach\.mass.*positive"),
    "missing mass": (lambda: change("attach", {"sphere": 0.1}), r"attach\.mass.*None"),
    "infinite mass": (lambda: change("attach", sphere(mass=np.inf)), r"attach\.mass"),
    "no table": (lambda: change("attach", 1.2), r"attach.*table.*1\.2"),
    "impossible inertia": (
        lambda: change("attach", {"mass": 1.0, "inertia": [0.1, 0.1, 0.5, 0, 0, 0]}),
        r"attach.*inertia.*triangle",
    ),
    "no shape": (lambda: change("attach", {"mass": 1.0}), r"attach.*shape.*box.*got \[\]"),
    "two shapes": (
        lambda: change("attach", sphere(box=[1, 1, 1])),
        r"attach.*one shape.*'box', 'sphere'",
    ),
    "unknown key": (lambda: change("attach", sphere(comm=[0, 0, 0])), r"attach.*'comm'.*'com'"),
    "com of two": (lambda: change("attach", sphere(com=[0, 0])), r"attach\.com must be 3"),
    "velocity": (lambda: change("attach", sphere(velocity="rests")), r"velocity.*'rests'.*'rest'"),
    "velocity of two": (lambda: change("attach", sphere(velocity=[0, 0])), r"attach\.velocity"),
    "unknown body": (lambda: change("scale", 2.0, body="bdy"), r"body.*'bdy'.*did you mean 'body'"),
    "no body": (lambda: change("scale", 2.0, body=None), r"change\.7.*body"),
    "unknown kind": (lambda: change("atach", 2.0), r"'atach'.*did you mean 'attach'"),
    "after the end": (lambda: change("scale", 2.0, at=3.0), r"at = 3 s comes after the end"),
    "before the start": (lambda: change("scale", 2.0, at=-1.0), r"at must be a time"),
    "until before at": (lambda: change("scale", 2.0, until=0.5), r"until must come after at"),
    "until of attach": (lambda: change("attach", sphere(), until=2.0), r"attach.*until"),
    "burn without until": (lambda: change("burn", {"mass": 0.1}), r"burn.*until"),
    "scale by zero": (lambda: change("scale", 0.0), r"scale must be a positive number.*got 0"),
    "scale by text": (lambda: change("scale", "2"), r"scale must be a positive number.*got '2'"),
    "ramp to nothing": (lambda: change("ramp", {"mass": 0}), r"ramp\.mass must be a positive"),
    "ramp of a stranger": (lambda: change("ramp", 1.0, part="bx"), r"part of 'body'.*'bx'"),
    "scale of a stranger": (lambda: change("scale", 1.0, part="bx"), r"part of 'body'.*'bx'"),
    "tank too heavy": (lambda: burn(mass=60.0), r"'body' cannot hold 60 kg.*tank"),
    "tank too wide": (lambda: burn(tank={"radius": 5.0}), r"'body' cannot hold 0\.5 kg.*tank"),
    "tank overfull": (lambda: burn(tank={"capacity": 0.2}), r"burn\.mass 0\.5 is more.*0\.2"),
    "tank radius": (lambda: burn(tank={"radius": -1.0}), r"tank\.radius must be positive"),
    "tank key": (lambda: burn(tank={"radios": 0.1}), r"burn\.tank.*'radios'.*'radius'"),
    "tank no table": (lambda: burn(tank=3), r"burn\.tank must be a table"),
    "burn key": (lambda: burn(tnk={}), r"burn.*'tnk'.*'tank'"),
    "unknown load": (
        lambda: Change(at=2.0, kind="release", value="bix", where="change.7"),
        r"load to release.*'bix'.*did you mean 'box'",
    ),
    "same name": (lambda: change("attach", sphere(name="box")), r"'box' is already attached"),
}


def burn(mass=0.5, **other):
    return change("burn", {"mass": mass, **other}, until=2.0)


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_happen_is_refused_before_the_run_by_name(case):
    make_change, message = BAD[case]
    box = Change(at=0.5, kind="attach", body="body", value=BOX | {"name": "box"}, where="change.0")
    with pytest.raises(BadInput, match=message) as caught:
        FreeFlyer(Setup(duration=3.0, changes=[box, make_change()])).reset(0)
    assert str(caught.value).startswith("change.7")
    assert "\n" not in str(caught.value)
