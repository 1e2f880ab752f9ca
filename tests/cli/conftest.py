"""The command line in this process, in an empty folder of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from testbed.cli.main import main


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, which is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def cli(folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Run `testbed ARGUMENTS…`."""

    def run(*arguments: object) -> Outcome:
        code = main([str(a) for a in arguments])
        out, err = capsys.readouterr()
        # With a cold cache somebody who waits is told so: no part of what is asserted here.
        said = [x for x in err.splitlines(keepends=True) if not x.startswith("testbed: compiling ")]
        return Outcome(code, out, "".join(said))

    return run
