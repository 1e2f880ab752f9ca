"""MuJoCo with manners: models that load or say why, and warnings that reach us, not a file.

By itself MuJoCo appends its warnings to MUJOCO_LOG.TXT in the user's current folder.
"""

from __future__ import annotations

import re
from pathlib import Path

import mujoco

from testbed.core.errors import BadInput

_heard: list[str] = []


def _listen(message: object) -> None:
    _heard.append(message.decode() if isinstance(message, bytes) else str(message))


def listen() -> None:
    """Route MuJoCo's warnings to `warnings_heard` instead of a file. Called on import."""
    mujoco.set_mju_user_warning(_listen)


def warnings_heard() -> list[str]:
    """MuJoCo's warnings since the last call."""
    heard = list(_heard)
    _heard.clear()
    return heard


def load_spec(path: Path) -> mujoco.MjSpec:
    """The editable model of an MJCF or URDF file.

    A URDF keeps its fixed links: MuJoCo would fuse them, and a tool or a welded payload would
    vanish into the last moving link. Geometry whose mesh files are missing is left out, as a
    robot can be identified without its looks.
    """
    if not path.is_file():
        raise BadInput(f"the model file {str(path)!r} does not exist")
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"the model file {str(path)!r} cannot be read: {error}") from error
    try:
        if is_urdf(text):
            spec = mujoco.MjSpec.from_string(_strip_meshes(text))
            spec.compiler.fusestatic = False
            return spec
        return mujoco.MjSpec.from_file(str(path))
    except Exception as error:  # MuJoCo raises ValueError and others
        raise BadInput(f"{path}: MuJoCo cannot read this model: {one_line(error)}") from error


def is_urdf(text: str) -> bool:
    """Whether a model file is a URDF; what comments say does not count."""
    return re.search(r"<robot[\s>]", re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)) is not None


def compile_spec(spec: mujoco.MjSpec, path: Path | str) -> mujoco.MjModel:
    """Compile, or one line that names the file and what MuJoCo says."""
    try:
        model = spec.compile()
    except Exception as error:
        raise BadInput(f"{path}: MuJoCo cannot compile this model: {one_line(error)}") from error
    warnings_heard()
    return model


def one_line(error: object) -> str:
    """An error's text without line breaks."""
    return " ".join(str(error).split())


def _strip_meshes(text: str) -> str:
    """A URDF without its visual and collision elements."""
    for tag in ("visual", "collision"):
        text = re.sub(rf"<{tag}\b[^>]*/>|<{tag}\b.*?</{tag}>", "", text, flags=re.DOTALL)
    return text


listen()
