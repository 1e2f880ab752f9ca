"""Imported once by the server that workers are forked from: they start ready to run.

Loading the compiled kernels takes longer than a short run, so a tiny one is done here. Whatever
goes wrong with it is left to the runs themselves to report.
"""

from __future__ import annotations

from contextlib import suppress

from testbed.harness import run
from testbed.sweep import job

_TINY = {
    "title": "warm",
    "duration": 0.05,
    "plant": {"use": "staubli_arm", "truth_error": 0.1},
    "sensors": {"wrench": {"noise": "white", "std": 0.1}},
    "estimator": [{"use": "rls"}],
}

with suppress(Exception):
    run(_TINY, plugin_timeout=None)
    job.code_digest()
    job.named_files({}, None)  # looks through the installed plugins, which takes its time once
