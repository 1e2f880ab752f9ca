"""A sweep against two processes on their own: `python -m benchmarks.sweep_throughput --memory`.

| figure | bound |
|---|---|
| `throughput_ratio_median_of_blocks`, over 200 runs of at least 0.5 s | at least 0.9 |
| `cpu_overhead_ms`, of a run, on top of the run itself | at most 20 |
| `growth_mb`, of parent and workers over 2 000 runs (--memory) | at most 20 |

The same runs (at least 0.5 s each) are done by a sweep and by two processes that call
`testbed.run` in a loop, in blocks that alternate, so that a busy machine slows both alike. What a
run costs on top is taken from CPU times of all processes involved, parent included. With --memory,
also 2 000 short runs: resident memory of parent and workers after 200 of them and at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

import psutil

from benchmarks.timing import Row, report
from testbed import run
from testbed.sweep.drive import Progress, drive
from testbed.sweep.executors import open_pool
from testbed.sweep.plan import make_plan
from testbed.sweep.store import open_store

WORKERS = 2
ARM: dict[str, Any] = {
    "title": "half a second of work",
    "duration": 5.0,
    "rate": 1000,
    "plant": {"use": "staubli_arm", "truth_error": 0.2},
    "prior": {"error": 0.3},
    "sensors": {"wrench": {"noise": "white", "std": 0.1}, "gyro": {"noise": "white", "std": 0.005}},
    "estimator": [{"use": "rls"}],
}
SHORT = {**ARM, "title": "short", "duration": 0.02}
LEAST = 0.5  # s that a run of the comparison takes, at least
BOUNDS = {  # (group, figure): what is measured, smallest, largest
    ("throughput", "throughput_ratio_median_of_blocks"): ("of the speed of two loops", 0.9, None),
    ("throughput", "cpu_overhead_ms"): ("ms of CPU time more a run", None, 20.0),
    ("memory", "growth_mb"): ("MB more memory over the runs", None, 20.0),
}
INDEPENDENT = """
import json, sys
from testbed import run
scenario = json.loads(sys.argv[1])
print("ready", flush=True)
for line in sys.stdin:
    first, last = map(int, line.split())
    for seed in range(first, last):
        run(scenario, seed=seed)
    print("done", flush=True)
"""


def throughput(runs: int, block: int, scenario: dict[str, Any] = ARM) -> dict[str, float]:
    """Ratio of throughputs, and CPU time of a run both ways."""
    loops = [independent(scenario) for _ in range(WORKERS)]
    wall: dict[str, list[float]] = {"sweep": [], "independent": []}
    cpu = {"sweep": 0.0, "independent": 0.0}
    with tempfile.TemporaryDirectory() as folder, open_store(folder, write=True) as store:
        with open_pool("process", WORKERS) as pool:

            def sweep(first: int) -> None:
                drive(make_plan([scenario], range(first, first + block)), store, pool)

            def alone(first: int) -> None:
                share = block // WORKERS
                for i, process in enumerate(loops):
                    start = first + i * share
                    ask(process, start, start + share)
                for process in loops:
                    answer(process)

            sweep(10**6), alone(10**6)  # started, compiled and warm
            own = [os.getpid(), *pool.pids()]
            others = [p.pid for p in loops]
            for first in range(0, runs, block):
                for name, work, pids in (("sweep", sweep, own), ("independent", alone, others)):
                    before, start = cpu_of(pids), time.perf_counter()
                    work(first)
                    wall[name].append(time.perf_counter() - start)
                    cpu[name] += cpu_of(pids) - before
    for process in loops:
        process.kill()
        process.communicate()
    ratios = [b / a for a, b in zip(wall["sweep"], wall["independent"], strict=True)]
    return {
        "runs": runs,
        "throughput_ratio": sum(wall["independent"]) / sum(wall["sweep"]),
        "throughput_ratio_median_of_blocks": statistics.median(ratios),
        "cpu_ms_of_a_run_alone": 1e3 * cpu["independent"] / runs,
        "cpu_overhead_ms": 1e3 * (cpu["sweep"] - cpu["independent"]) / runs,
        "wall_s_of_a_run": sum(wall["independent"]) * WORKERS / runs,
    }


def long_enough(scenario: dict[str, Any], least: float = LEAST) -> dict[str, Any]:
    """The scenario, made longer where one run of it takes less CPU time than `least` here."""
    run(scenario)  # compiled and warm
    start = time.process_time()
    run(scenario)
    factor = max(1.0, 1.2 * least / (time.process_time() - start))
    return {**scenario, "duration": round(factor * scenario["duration"], 3)}


def independent(scenario: dict[str, Any]) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", INDEPENDENT, json.dumps(scenario)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    answer(process)
    return process


def ask(process: subprocess.Popen[str], first: int, last: int) -> None:
    assert process.stdin is not None
    process.stdin.write(f"{first} {last}\n")
    process.stdin.flush()


def answer(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    assert process.stdout.readline(), "an independent process ended"


def cpu_of(pids: list[int]) -> float:
    times = [psutil.Process(pid).cpu_times() for pid in pids]
    return sum(t.user + t.system for t in times)


def memory(runs: int, early: int) -> dict[str, float]:
    """Resident memory (MB) of parent and workers, early on and at the end."""
    seen: dict[int, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder, open_store(folder, write=True) as store:
        with open_pool("process", WORKERS) as pool:

            def look(progress: Progress) -> None:
                workers = [psutil.Process(p).memory_info().rss / 1e6 for p in pool.pids()]
                if len(workers) == WORKERS:
                    own = psutil.Process().memory_info().rss / 1e6
                    seen[progress.done] = {"parent": own, "workers": max(workers)}

            drive(make_plan([SHORT], range(runs)), store, pool, look)
    first = min(n for n in seen if n >= early)
    last = max(seen)
    return {
        "runs": last,
        **{f"{who}_mb_after_{first}": seen[first][who] for who in ("parent", "workers")},
        **{f"{who}_mb_at_the_end": seen[last][who] for who in ("parent", "workers")},
        "growth_mb": max(seen[last][who] - seen[first][who] for who in ("parent", "workers")),
    }


def main() -> int:
    """Print both; 1 where a bound is broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--block", type=int, default=20)
    parser.add_argument("--memory", action="store_true", help="Also 2 000 short runs.")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    scenario = long_enough(ARM)
    found: dict[str, Any] = {"throughput": throughput(options.runs, options.block, scenario)}
    if options.memory:
        found["memory"] = memory(2000, 200)
    if options.json:
        alone = 1e3 * found["throughput"]["cpu_ms_of_a_run_alone"]
        own = alone + 1e3 * found["throughput"]["cpu_overhead_ms"]
        rows: dict[str, Row] = {
            "a run of half a second in a sweep": (own / alone, own, alone, "two loops", None)
        }
        return report(rows, True, broken(found), found)
    else:
        for group, figures in found.items():
            for name, value in figures.items():
                print(f"{name:40} {value:10.3f}{limits(group, name)}")
    for sentence in broken(found):
        print(f"broken: {sentence}", file=sys.stderr)
    return 1 if broken(found) else 0


def broken(found: dict[str, Any]) -> list[str]:
    """The bounds that do not hold, in words."""
    sentences = []
    for (group, name), (what, least, most) in BOUNDS.items():
        value = found.get(group, {}).get(name)
        fine = value is None or (
            (least is None or value >= least) and (most is None or value <= most)
        )
        if not fine:
            sentences.append(f"sweep: {value:.2f} {what}{limits(group, name)}")
    return sentences


def limits(group: str, name: str) -> str:
    """The bound of a figure in words, if it has one."""
    _, least, most = BOUNDS.get((group, name), ("", None, None))
    return "".join(
        f", {word} {bound:g}"
        for word, bound in (("at least", least), ("at most", most))
        if bound is not None
    )


if __name__ == "__main__":
    sys.exit(main())
