"""A plugin that hangs is broken; one whose kernels are being compiled is not."""

from __future__ import annotations

import os
import time

import pytest

from testbed.core import jit
from testbed.harness.watchdog import PluginTimeout, Watchdog

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
