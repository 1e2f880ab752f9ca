"""Draws poses as they come: a program of its own, run in a process of its own.

    python painter.py MODEL WIDTH HEIGHT

It reads poses (nq doubles each) from stdin and answers each with a picture (height × width × 3
bytes) on stdout; one byte comes first, when all is ready, and nq in four more. As
`testbed.report.drawing`, it is apart because MuJoCo chooses its graphics when it is first imported,
and a broken driver may take its process with it.
"""

from __future__ import annotations

import sys

import numpy as np

READY = b"!"
COUNT = 4  # bytes of nq, least first


def main(look: str, width: int, height: int) -> int:
    """Until stdin ends."""
    import mujoco

    model = mujoco.MjModel.from_xml_path(look)
    model.vis.global_.offwidth, model.vis.global_.offheight = width, height
    model.vis.quality.shadowsize, model.vis.quality.offsamples = 1024, 4
    data = mujoco.MjData(model)
    camera = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_CAMERA, "view")
    answer, poses = sys.stdout.buffer, sys.stdin.buffer
    with mujoco.Renderer(model, height, width) as renderer:
        answer.write(READY + int(model.nq).to_bytes(COUNT, "little"))
        answer.flush()
        while len(pose := poses.read(8 * model.nq)) == 8 * model.nq:
            data.qpos[:] = np.frombuffer(pose)
            mujoco.mj_forward(model, data)
            renderer.update_scene(data, camera)
            answer.write(renderer.render().tobytes())
            answer.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
