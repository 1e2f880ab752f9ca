"""A class or a parameter that a file does not have is refused without running the file."""

from __future__ import annotations

import pytest

from testbed import BadInput
from testbed.sweep.declared import check_declared

FILE = """
raise SystemExit("it ran")

from dataclasses import dataclass
from elsewhere import Other

class Plain:
    inputs = {}

class Mine:
    def __init__(self, gain=1.0, *, mode="a"): ...

class Open:
    def __init__(self, gain, **others): ...

class Child(Mine):
    pass

@dataclass
class Data:
    gain: float = 1.0

def make(gain): ...

Alias = Mine
if gain := 1:
    class Late: ...
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "plugin.py"
    path.write_text(FILE)
    return path


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("Plain", []), ("Mine", ["gain", "mode"]), ("Open", ["any"]), ("Child", ["any"]),
        ("Data", ["gain"]), ("make", ["gain"]), ("Alias", ["any"]), ("Late", []), ("Other", ["x"]),
    ],
)  # fmt: skip
def test_what_may_be_there_is_not_refused(file, name, params):
    check_declared(f"{file}:{name}", params)


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("Mina", [], "unknown class 'Mina': did you mean 'Mine'"),
        ("Mine", ["gian"], "'gian': did you mean 'gain'"),
        ("Plain", ["gain"], "'gain' \\(there are none\\)"),
        ("make", ["gian"], "'gian': did you mean 'gain'"),
    ],
)
def test_what_is_not_there_is_refused(file, name, params, message):
    with pytest.raises(BadInput, match=message):
        check_declared(f"{file}:{name}", params)


def test_names_made_at_run_time_are_left_to_the_run(file):
    for line in ("globals()['Made'] = Mine", "from elsewhere import *", "def __getattr__(n): ..."):
        file.write_text(f"{FILE}\n{line}\n")
        check_declared(f"{file}:Made", ["any"])


def test_a_file_that_is_no_python_is_refused(file):
    file.write_text("class Mine(:\n")
    with pytest.raises(BadInput, match="cannot be imported: SyntaxError"):
        check_declared(f"{file}:Mine", [])
