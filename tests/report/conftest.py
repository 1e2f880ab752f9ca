"""One short run for all tests of the reports, plain and with every score; nobody writes into it."""

from __future__ import annotations

import shutil

import pytest

from tests.report.run_folders import Quitter, make_run, strip


@pytest.fixture(scope="session")
def rich(tmp_path_factory):
    """A run of four estimators, one of which fails half-way."""
    return make_run(tmp_path_factory.mktemp("runs") / "rich", estimators=[Quitter()])


@pytest.fixture(scope="session")
def grasp(rich):
    """The same with the least that a run may have."""
    folder = rich.parent / "grasp"
    shutil.copytree(rich, folder)
    return strip(folder)


@pytest.fixture
def no_picture(monkeypatch):
    """Draw no robot: quicker, and the same on every machine."""
    monkeypatch.setattr("testbed.report.page._start_picture", lambda robot, stack: None)


@pytest.fixture
def copy_of(tmp_path):
    """A copy of a run's folder that a test may spoil."""

    def copy(folder):
        return shutil.copytree(folder, tmp_path / folder.name)

    return copy
