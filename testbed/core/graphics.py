"""Which off-screen graphics to try, and what to say where none works."""

from __future__ import annotations

import os
import sys

NO_GRAPHICS = (
    "no off-screen graphics works here (on Debian and Ubuntu: apt install libegl1 or libosmesa6; "
    "MUJOCO_GL=egl or osmesa chooses one)"
)


def ways_to_draw() -> list[dict[str, str]]:
    """Settings of MUJOCO_GL to try, the user's own first and only."""
    if os.environ.get("MUJOCO_GL"):
        return [{}]
    if sys.platform == "linux":
        return [{"MUJOCO_GL": "egl"}, {"MUJOCO_GL": "osmesa"}]
    return [{}]
