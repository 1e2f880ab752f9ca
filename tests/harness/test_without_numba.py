"""The package works without numba, slower and to the last digits alike."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

RUN = """
import json, sys, testbed
from testbed.core.jit import COMPILED
card = testbed.run({"title": "t", "duration": float(sys.argv[2]), "plant": {"use": sys.argv[1],
    "truth_error": 0.1}, "prior": {"error": 0.1}, "estimator": [{"use": "rls"}]}).scorecard
print(json.dumps([COMPILED, card["estimators"]["rls"]["theta"], card["truth"]["residual_max"]]))
"""


def run(plant, duration, numba):
    done = subprocess.run(
        [sys.executable, "-c", RUN, plant, str(duration)],
        env={**os.environ, "TESTBED_NUMBA": numba, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("plant", "duration"),
    [("cheetah_leg", 0.2), ("staubli_arm", 0.2), ("free_flyer", 2.0), ("human_plate", 1.0)],
)
def test_estimates_are_the_same_with_and_without_compiled_kernels(plant, duration):
    compiled, fast, residual = run(plant, duration, "1")
    plain, slow, plain_residual = run(plant, duration, "0")
    assert (compiled, plain) == (True, False)
    assert max(residual, plain_residual) < 1e-10
    np.testing.assert_allclose(fast, slow, rtol=1e-8, atol=1e-10)
