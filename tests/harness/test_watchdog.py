"""A plugin that hangs is broken; one whose kernels are being compiled is not."""

from __future__ import annotations

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
        with event.trigger_event("numba:compile"):  # as numba's compiler does
            time.sleep(0.8)
        dog.disarm()
        dog.arm()
        with pytest.raises(PluginTimeout), event.trigger_event("numba:run_pass"):
            time.sleep(5.0)


@pytest.mark.skipif(not jit.COMPILED, reason="needs numba, switched on")
@pytest.mark.parametrize("seconds", [None, 60.0])
def test_an_update_in_which_kernels_are_compiled_is_not_timed(seconds):
    from numba.core import event

    class Compiling(Watcher):
        def update(self, **ports):
            if len(self.heard) == 3:
                with event.trigger_event("numba:compile"):
                    time.sleep(0.05)
            return super().update(**ports)

    with Watchdog(seconds) as dog:
        s = Session(noisy("free_flyer"), {"slow": Compiling(eq="")}, watchdog=dog)
        advance(s, steps=6)
    contender = s.contenders["slow"]
    assert contender.info["updates"] == 7
    assert np.count_nonzero(contender.history.wall_us) == 6
    assert contender.history.wall_us[3] == 0.0
    assert contender.timing(None)["wall_us_max"] == contender.history.wall_us.max()
