"""Draws a model off-screen: a program of its own, run in a process of its own.

MuJoCo chooses how to draw when it is first imported, and a broken graphics driver may take its
process with it; so whoever wants a picture starts this file with the choice in MUJOCO_GL.

    python drawing.py JOB.npz

The job holds what to draw (see `Job`); progress goes to stdout as `done total` lines, what went
wrong to stderr.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np


def main(job: str) -> int:
    """Draw the job; 0 when all of it was."""
    with np.load(job, allow_pickle=False) as stored:
        about = json.loads(str(stored["about"]))
        arrays = {name: stored[name] for name in stored.files if name != "about"}
    import mujoco

    model = mujoco.MjModel.from_xml_path(about["look"])
    width, height = about["size"]
    model.vis.global_.offwidth, model.vis.global_.offheight = width, height
    model.vis.quality.shadowsize = about["shadows"]
    model.vis.quality.offsamples = about["samples"]
    with mujoco.Renderer(model, height, width) as renderer:
        frames = _frames(mujoco, model, renderer, arrays, about)
        if about["kind"] == "film":
            _film(frames, about, len(arrays["qpos"]))
        else:
            for k, frame in enumerate(frames):
                _save(frame, Path(about["out"]) / f"{k}.jpg")
    return 0


def _frames(mujoco: Any, model: Any, renderer: Any, arrays: Any, about: Any) -> Any:
    """RGB pictures (height, width, 3), one a pose."""
    data = mujoco.MjData(model)
    camera = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_CAMERA, "view")
    option = mujoco.MjvOption()
    if "shapes" in arrays:  # ellipsoids are inside the robot: let it shine through
        option.flags[mujoco.mjtVisFlag.mjVIS_TRANSPARENT] = True
        model.vis.map.alpha = 0.35
        ids = [mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, b) for b in about["bodies"]]
    for k, qpos in enumerate(arrays["qpos"]):
        data.qpos[:] = qpos
        mujoco.mj_forward(model, data)
        renderer.update_scene(data, camera, option)
        if "shapes" in arrays:
            for part, colour in zip(arrays["shapes"][k], about["colours"], strict=True):
                for body, shape in zip(ids, part, strict=True):
                    _add_ellipsoid(mujoco, renderer.scene, data, body, shape, colour)
        yield renderer.render()


def _add_ellipsoid(
    mujoco: Any, scene: Any, data: Any, body: int, shape: Any, colour: list[float]
) -> None:
    """One more geom: centre and semi-axes (12,) in the body's frame; NaN draws nothing."""
    if not np.all(np.isfinite(shape)) or scene.ngeom >= scene.maxgeom:
        return
    R, semi = data.xmat[body].reshape(3, 3), shape[3:].reshape(3, 3)
    size = np.linalg.norm(semi, axis=1)
    if size.min() <= 0 or size.max() > 10:  # it would fill the picture
        return
    axes = (semi / size[:, np.newaxis]).T
    if np.linalg.det(axes) < 0:
        axes[:, 2] *= -1
    mujoco.mjv_initGeom(
        scene.geoms[scene.ngeom],
        mujoco.mjtGeom.mjGEOM_ELLIPSOID,
        size,
        data.xpos[body] + R @ shape[:3],
        (R @ axes).ravel(),
        np.array(colour, dtype=np.float32),
    )
    scene.ngeom += 1


def _film(frames: Any, about: Any, total: int) -> None:
    import imageio_ffmpeg

    writer = imageio_ffmpeg.write_frames(
        about["out"], tuple(about["size"]), fps=about["fps"], codec="libx264",
        pix_fmt_out="yuv420p", quality=7, macro_block_size=2, ffmpeg_log_level="error",
        output_params=["-movflags", "+faststart", "-f", "mp4"],
    )  # fmt: skip
    writer.send(None)
    try:
        for k, frame in enumerate(frames):
            writer.send(_captioned(frame, about["captions"][k], about["legend"]).tobytes())
            print(k + 1, total, flush=True)
    finally:
        writer.close()


def _captioned(frame: Any, lines: list[str], legend: list[Any]) -> Any:
    """The frame with text in its corners."""
    from PIL import Image, ImageDraw, ImageFont

    image = Image.fromarray(frame)
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(size=image.height // 24)
    gap, y = image.height // 18, image.height // 40
    for line in lines:
        draw.text((gap // 2, y), line, "white", font, stroke_width=2, stroke_fill="#222")
        y += gap
    y = image.height - gap * len(legend) - gap // 3
    for text, colour in legend:
        draw.ellipse((gap // 2, y + gap // 5, gap, y + gap // 5 + gap // 2), colour, "white")
        draw.text((gap * 1.3, y), text, "white", font, stroke_width=2, stroke_fill="#222")
        y += gap
    return image


def _save(frame: Any, path: Path) -> None:
    from PIL import Image

    Image.fromarray(frame).save(path, quality=88, optimize=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
