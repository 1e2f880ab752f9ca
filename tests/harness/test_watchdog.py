"""A plugin that hangs is broken; one whose kernels are being compiled is not."""

from __future__ import annotations

import importlib.util
import os
import time

import numpy as np
import pytest

from testbed import Session
from testbed.core import jit
from testbed.harness.watchdog import PluginTimeout, Watchdog
from tests.harness.harness_runs import Watcher, advance, noisy

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX systems only")


def test_a_call_that_takes_too_long_is_broken():
    with Watchdog(0.2) as dog:
        dog.arm()
        with pytest.raises(PluginTimeout):
            time.sleep(5.0)


@pytest.mark.skipif(not jit.COMPILED, reason="needs numba, switched on")
def test_time_in_which_kernels_are_compiled_does_not_count():
    from numba.core import event

    with Watchdog(0.2) as dog:
        dog.arm()
        with event.trigger_event("numba:compiler_lock"):  # as numba compiles, and loads
            time.sleep(0.8)
        dog.disarm()
        dog.arm()
        with pytest.raises(PluginTimeout), event.trigger_event("numba:run_pass"):
            time.sleep(5.0)


@pytest.mark.skipif(not jit.COMPILED, reason="needs numba, switched on")
@pytest.mark.parametrize("seconds", [None, 60.0])
def test_an_update_in_which_kernels_are_compiled_is_not_timed(seconds):
    import numba

    class Compiling(Watcher):
        def update(self, **ports):
            if len(self.heard) == 3:
                numba.njit(lambda x: x + 1.0)(1.0)
            return super().update(**ports)

    with Watchdog(seconds) as dog:
        s = Session(noisy("free_flyer"), {"slow": Compiling(eq="")}, watchdog=dog)
        advance(s, steps=6)
    contender = s.contenders["slow"]
    assert contender.info["updates"] == 7
    assert np.count_nonzero(contender.history.wall_us) == 6
    assert contender.history.wall_us[3] == 0.0
    assert contender.timing(None)["wall_us_max"] == contender.history.wall_us.max()


@pytest.mark.skipif(not jit.COMPILED, reason="needs numba, switched on")
def test_fetching_a_kernel_from_the_cache_does_not_count_either(tmp_path):
    """Every process does that once: milliseconds that are none of the estimator's."""
    file = tmp_path / "cached.py"
    file.write_text("import numba\n@numba.njit(cache=True)\ndef f(x):\n    return x + 1.0\n")
    told = []
    for turn in range(2):  # compiled at first; the second module finds it on disk
        spec = importlib.util.spec_from_file_location("cached", file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        with Watchdog(None) as dog:
            dog.arm()
            module.f(1.0)
            told.append((dog.compiled, sum(module.f.stats.cache_hits.values())))
            dog.arm()
            module.f(1.0)
            assert not dog.compiled, turn
    assert told == [(True, 0), (True, 1)]
