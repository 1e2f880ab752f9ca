"""The C++ estimator of docs/your_estimator.md: compiled, bound, and run as the page says."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.test_docs import BLOCKS, COMPILED, ROOT, write_files

COMPILE = next(
    line
    for block in BLOCKS
    if block["page"] == "your_estimator.md" and block["kind"] == "sh"
    for line in block["text"].splitlines()
    if line.startswith("c++ ")
)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("c++") is None, reason="needs a C++ compiler")
@pytest.mark.skipif(importlib.util.find_spec("pybind11") is None, reason="needs pybind11")
def test_the_estimator_in_cpp_compiles_and_runs(tmp_path):
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        pytest.skip("needs Python's header files")
    write_files(tmp_path, "your_estimator.md")
    bin_ = tmp_path / "bin"  # `python` of the page is the one that runs the tests
    bin_.mkdir()
    (bin_ / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (bin_ / "python").chmod(0o755)
    env = {**os.environ, "PATH": f"{bin_}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    subprocess.run(["sh", "-c", COMPILE], cwd=tmp_path, env=env, check=True, timeout=300)

    command = ["-m", *COMPILED.split(), "--only", "--json", "--estimator", "rls"]
    done = subprocess.run(
        [sys.executable, *command],
        cwd=tmp_path, env=env, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["estimators"]
    assert rows["fast"]["failed"] is None
    ours, theirs = (rows[n]["metrics"]["mass_rel_error_final"] for n in ("rls", "fast"))
    assert theirs < max(2 * ours, 1e-3), "it gives about what least squares gives"
