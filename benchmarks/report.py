"""How long a report takes and how large it is: a 28 s, 1 kHz run of the leg with four estimators.

    python -m benchmarks.report [--json]

Bounds: written within 10 s of wall time (also with a picture drawn by software), at most 12 MB.
The reference is the CPU time of the run itself.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from benchmarks.timing import Row, report
from testbed import run
from testbed.report import write_report

SECONDS, MEGABYTES = 10.0, 12.0
SCENARIO = {
    "title": "Leg with a payload, four estimators, 28 s at 1 kHz",
    "duration": 28.0,
    "rate": 1000,
    "plant": {"use": "cheetah_leg", "truth_error": 0.1},
    "prior": {"from": "cad", "error": 0.1},
    "sensors": {"tau": {"noise": "white", "std": 1.0}},
    "validation": {"duration": 2.0},
    "change": [{"at": 10.0, "body": "knee_link", "attach": {"mass": 0.5, "sphere": 0.04}}],
    "estimator": [
        {"use": "rls"},
        {"use": "rls", "name": "forgets", "forgetting": {"use": "exponential", "tau": 1.0}},
        {"use": "rls_logdet", "every": 10},
        {"use": "rls", "name": "vague", "prior_std": 10.0},
    ],
}


def measure(folder: Path) -> tuple[float, float, float]:
    """Seconds of wall and of CPU time of this process, and megabytes."""
    start, cpu = time.perf_counter(), time.process_time()
    file = write_report([folder])
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    return seconds, cpu, file.stat().st_size / 1e6


def main(arguments: list[str]) -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(SCENARIO | {"duration": 11.0}, out=folder)  # compiled and warm
        start = time.process_time()
        run(SCENARIO, out=folder)
        reference = time.process_time() - start
        seconds, cpu, size = measure(folder)
    broken = [f"report: {seconds:.1f} s of wall time, at most {SECONDS:g}"] * (seconds > SECONDS)
    broken += [f"report: {size:.1f} MB, at most {MEGABYTES:g}"] * (size > MEGABYTES)
    rows: dict[str, Row] = {
        "report of 28 s at 1 kHz": (cpu / reference, 1e6 * cpu, 1e6 * reference, "its run", None)
    }
    print(f"{seconds:.1f} s of wall time, {size:.1f} MB", file=sys.stderr)
    return report(rows, "--json" in arguments, broken)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
