"""How far a sweep is, who leads, and what becomes of jobs that are lost."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from testbed import TestbedError
from testbed.sweep import drive as module
from testbed.sweep.drive import Progress, _outcome
from testbed.sweep.executors import open_pool


@pytest.fixture
def clock(monkeypatch):
    """Seconds as the test says."""
    now = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    return now


def test_rate_and_time_left_do_not_count_the_start(clock):
    progress = Progress(total=105, skipped=5, started=clock[0])
    assert progress.left is None
    clock[0] += 30.0  # until the first run is done
    progress.count("a", None, {})
    progress.mark()
    assert progress.left is None  # how long starting took says nothing about the rest
    clock[0] += 4.0
    for _ in range(8):
        progress.count("a", None, {})
    progress.mark()
    assert progress.rate == pytest.approx(2.0)
    assert progress.left == pytest.approx((100 - 9) / 2.0)
    assert progress.seconds == pytest.approx(34.0)


def test_nothing_is_left_of_what_was_all_there():
    assert Progress(total=5, skipped=5).left == 0.0


@pytest.mark.parametrize(
    ("metric", "leaders"),
    [
        ("mass_rel_error_final", [("low", 0.2), ("high", 0.9)]),
        ("consistent_fraction", [("high", 0.9), ("low", 0.2)]),
        ("coverage_95", [("high", 0.05), ("low", 0.75)]),
    ],
)
def test_the_leaders_are_the_best_whichever_way_that_is(metric, leaders):
    progress = Progress(9, 0, metric=metric)
    for value in (0.1, 0.2, 0.3):
        progress.count("low", None, {metric: value})
        progress.count("high", None, {metric: value + 0.7})
        progress.count("fails", "boom", {metric: 0.2})
    assert [name for name, _ in progress.leaders(2)] == [name for name, _ in leaders]
    assert dict(progress.leaders(2)) == pytest.approx(dict(leaders))
    assert progress.faults == {("fails", "boom"): 3}


class Lost(Exception):
    pass


def test_a_job_that_took_its_workers_with_it_counts_as_killed():
    future: Future = Future()
    future.set_exception(Lost("four workers\ndied"))
    outcome = _outcome(future, (Lost,))
    assert (outcome.kind, outcome.reason) == ("killed", "four workers died")


def test_a_scheduler_that_goes_away_is_one_clear_message(monkeypatch):
    distributed = pytest.importorskip("distributed")
    answers = [{"worker": 1}, {"worker": 3}]

    class Client:
        def __init__(self, address, **_):
            self.executor = ThreadPoolExecutor(1)

        def nthreads(self):
            if not answers:
                raise distributed.comm.core.CommClosedError("in <TCP (closed)>")
            return answers.pop(0)

        def get_executor(self, **_):
            return self.executor

        def close(self):
            self.executor.shutdown()

    monkeypatch.setattr(distributed, "Client", Client)
    with open_pool("dask=tcp://host:8786") as pool:
        assert pool.lost == (distributed.KilledWorker,)
        assert pool.at_hand() == 6
        with pytest.raises(TestbedError, match="the scheduler at tcp://host:8786 is gone"):
            pool.at_hand()
