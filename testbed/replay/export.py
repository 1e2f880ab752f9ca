"""Write what was identified: into the robot's own file, or as parameters with their uncertainty."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.signals import Array
from testbed.harness.result import plain, write_whole
from testbed.inertia import is_consistent
from testbed.kinematics import compile_spec, from_mujoco, load_spec
from testbed.kinematics.engine import is_urdf
from testbed.plants.model_file import mend_inertias
from testbed.replay.identify import Identified
from testbed.replay.model_text import edit_mjcf, edit_urdf

MODELS = (".urdf", ".xml", ".mjcf")
PARAMETERS = (".json", ".yaml", ".yml")
_SAME = 1e-7  # relative to the body's own size: what a file and back may change


def export(found: Identified, path: str | Path, model: str | Path) -> str:
    """Write a file, by its suffix; a line that says what it holds.

    Args:
        found: What was identified.
        path: A model (.urdf, .xml, .mjcf) or parameters (.json, .yaml).
        model: The robot's own file, which is the pattern of the new one.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix in PARAMETERS:
        data = plain(found.as_dict())
        text = json.dumps(data, indent=1, ensure_ascii=False) if suffix == ".json" else yaml(data)
        _write(path, text.encode())
        return f"parameters with their uncertainty: {path}"
    if suffix not in MODELS:
        raise BadInput(
            f"--export {str(path)!r}: unknown kind {suffix!r}; written are models "
            f"({', '.join(MODELS)}) and parameters ({', '.join(PARAMETERS)})"
        )
    bodies = exported_bodies(found)
    wrong = [name for name, phi in bodies.items() if not is_consistent(phi)]
    if wrong:
        raise BadInput(
            f"--export: the bodies {', '.join(wrong)} cannot exist (least squares does not care): "
            'identify with the method "logdet" or "sdp"'
        )
    write_model(Path(model), path, bodies)
    carried = " and the load" if found.payload is not None else ""
    return f"the model with {len(bodies)} identified bodies{carried}: {path}"


def exported_bodies(found: Identified) -> dict[str, Array]:
    """Parameters (10,) of every identified body; the load is added to the body that holds it."""
    rig = found.rig
    bodies = {b: found.theta[10 * i : 10 * i + 10] for i, b in enumerate(rig.bodies)}
    if found.stream.channel == "wrench":
        raise BadInput(
            "--export of a model is for joint torques: what a wrist sensor carries is given as "
            "parameters (.json, .yaml)"
        )
    load = found.payload
    if load is not None:
        own = bodies.get(load.body)
        if own is None:
            own = rig.known.get(list(rig.tree.names).index(load.body), np.zeros(10))
        bodies[load.body] = own + load.possible
    return bodies


def write_model(source: Path, target: Path, bodies: Mapping[str, Array]) -> None:
    """The model with other inertials; it is loaded again and compared before it counts."""
    try:
        text = source.read_bytes()
    except OSError as error:
        raise BadInput(f"the model file {str(source)!r} cannot be read: {error.strerror}") from None
    urdf = is_urdf(text.decode("utf-8", "replace"))
    edited = (edit_urdf if urdf else edit_mjcf)(text, bodies, source.name)
    again = _load_at(target, edited, source)
    for name, phi in bodies.items():
        there = from_mujoco(again, name)
        if not np.allclose(there, phi, rtol=0, atol=_SAME * float(np.abs(phi).max())):
            raise BadInput(
                f"{source.name}: the body {name!r} did not take its new inertia: does the file's "
                "compiler change inertias (inertiafromgeom, balanceinertia, settotalmass)?"
            )
    _write(target, edited)


def check_place(path: Path, model: Path) -> None:
    """Refuse before the work what could not be written after it.

    Args:
        path: A file to be exported.
        model: The robot's own file.
    """
    suffix = path.suffix.lower()
    if suffix not in (*MODELS, *PARAMETERS):
        raise BadInput(f"--export {str(path)!r}: say .urdf, .xml, .json or .yaml")
    if path.is_dir():
        raise BadInput(f"--export {str(path)!r} is a folder: name a file")
    if model.exists() and path.exists() and path.samefile(model):
        raise BadInput(f"--export {str(path)!r} would overwrite the model: name another file")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"cannot write {str(path)!r}: {error.strerror}") from None
    if not os.access(path.parent, os.W_OK):
        raise BadInput(f"cannot write {str(path)!r}: its folder may not be written to")
    if suffix in MODELS and model.is_file():
        text = model.read_bytes()
        if suffix == ".urdf" and not is_urdf(text.decode("utf-8", "replace")):
            raise BadInput(f"--export {str(path)!r}: the model is an MJCF file: say .xml")
        _load_at(model, text, model)  # where it is, it must load in any case
        _load_at(path, text, model)


def _load_at(target: Path, text: bytes, source: Path) -> Any:
    """The model compiled where it is going to be: MuJoCo looks for meshes beside a model."""
    trial = target.with_name(f".{target.stem}.testbed{source.suffix}")
    try:
        trial.parent.mkdir(parents=True, exist_ok=True)
        trial.write_bytes(text)
        spec = load_spec(trial)
        mend_inertias(spec)  # of bodies that were not identified
        return compile_spec(spec, source.name)
    except OSError as error:
        raise BadInput(f"cannot write {str(target)!r}: {error.strerror}") from None
    except BadInput as error:
        if target.parent.resolve() == source.parent.resolve():
            raise
        raise BadInput(
            f"--export {str(target)!r}: the model does not load in that folder, as its meshes or "
            f"included files lie beside {source.name}: export it beside them ({error})"
        ) from None
    finally:
        trial.unlink(missing_ok=True)


def _write(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content)
    except OSError as error:
        raise BadInput(f"cannot write {str(path)!r}: {error.strerror}") from None


def yaml(data: Any, depth: int = 0) -> str:
    """Plain data as YAML in blocks: tables, lists, texts, numbers."""
    space = "  " * depth
    if isinstance(data, Mapping) and data:
        lines = []
        for key, value in data.items():
            nested = isinstance(value, Mapping | list) and value
            lines.append(
                f"{space}{_scalar(str(key))}:"
                + ("\n" + yaml(value, depth + 1) if nested else " " + _scalar(value) + "\n")
            )
        return "".join(lines)
    if isinstance(data, Sequence) and not isinstance(data, str) and data:
        lines = []
        for value in data:
            nested = isinstance(value, Mapping | list) and value
            text = yaml(value, depth + 1).lstrip() if nested else _scalar(value) + "\n"
            lines.append(f"{space}- {text}")
        return "".join(lines)
    return f"{space}{_scalar(data)}\n"


def _scalar(value: Any) -> str:
    if isinstance(value, float):
        # YAML 1.1 takes 1e-05 for a text: a number with an exponent needs a dot.
        if not math.isfinite(value):
            return "null"
        text = repr(value)
        mantissa, e, power = text.partition("e")
        return f"{mantissa}.0e{power}" if e and "." not in mantissa else text
    return json.dumps(value, ensure_ascii=False)
