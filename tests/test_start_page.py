"""docs/start.md word by word: its commands in order, in one folder, with the file it shows."""

from __future__ import annotations

import re
import shlex

import pytest

from testbed.cli.main import main
from tests.test_docs import BLOCKS, ROOT, commands_of, write_files

PAGE = [block for block in BLOCKS if block["page"] == "start.md"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path


def lines(text):
    """Without the spaces that line columns up."""
    return {re.sub(r"\s+", " ", line).strip() for line in text.splitlines()}


def test_the_start_page_works_word_by_word(folder, capfd):
    printed, complained, commands = "", "", 0
    for block in PAGE:
        if block["file"]:
            write_files(folder, "start.md")  # the reader writes it where the page says so
        if block["kind"] != "console":
            continue
        for command in commands_of(block):
            program, *arguments = shlex.split(command)
            assert program == "testbed"
            code = main(arguments)
            out, err = capfd.readouterr()
            assert code == (2 if "fails" in block["words"] else 0), (command, err)
            printed, complained, commands = printed + out, complained + err, commands + 1
    assert commands >= 7
    assert (folder / "results" / "first" / "report.html").stat().st_size > 100_000

    shown = (ROOT / "docs" / "start.md").read_text(encoding="utf-8")
    told = {line for line in lines(shown) if line.startswith(("mass error", "best possible at"))}
    assert len(told) == 3
    assert told <= lines(printed), "what the page shows is what is printed"
    for word in re.findall(r"did you mean '\w+'", shown):
        assert word in complained
    assert "Traceback" not in complained


def test_the_start_page_installs_what_there_is():
    (install,) = (block["text"] for block in PAGE if block["kind"] == "sh")
    for path in re.findall(r"-c (\S+)", install):
        assert (ROOT / path).is_file()
    assert "pip install -c constraints.txt ." in install
