"""The report: one HTML file that opens anywhere, with nothing fetched from anywhere."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from html import escape
from pathlib import Path
from typing import Any

from testbed.core.errors import BadInput
from testbed.harness.result import write_whole
from testbed.report import sections
from testbed.report.curves import estimator_curves, run_curves
from testbed.report.ellipsoids import ellipsoid_scene
from testbed.report.folder import RunFolder, read_folders
from testbed.report.offscreen import NO_GRAPHICS, Drawing, picture
from testbed.report.palette import COLOURS
from testbed.report.robot import Robot, robot_of
from testbed.report.template import asset, embedded, fill, policy, version
from testbed.report.words import describe_changes

# Of the runs of a comparison; dotted lines are changes.
DASHES = (("solid", "none"), ("dash", "7 3"), ("dashdot", "7 3 2 3"), ("longdash", "12 3"))
_MOST = 4  # runs in one page: more lines than that nobody tells apart
Progress = Callable[[str], None]


def write_report(
    folders: Sequence[str | Path], out: str | Path | None = None, progress: Progress | None = None
) -> Path:
    """Write a page about one run, or one that compares several.

    Args:
        folders: What `testbed run … --out DIR` wrote.
        out: The HTML file; None is `report.html` in the folder, of several `comparison.html` in
            the first.
        progress: Called with what is being done.
    """
    if not 1 <= len(folders) <= _MOST:
        raise BadInput(f"a report is about 1 to {_MOST} runs, got {len(folders)}")
    name = "report.html" if len(folders) == 1 else "comparison.html"
    out = Path(folders[0]) / name if out is None else Path(out)
    say = progress or (lambda _: None)
    say("reading")
    runs = read_folders(folders)
    text = page_of(runs, say)
    say("writing")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        write_whole(out, text.encode())
    except OSError as error:
        raise BadInput(f"cannot write the report {str(out)!r}: {error.strerror}") from None
    return out


def page_of(runs: Sequence[RunFolder], say: Progress = lambda _: None) -> str:
    """The whole page as text."""
    with ExitStack() as stack:
        robots = [robot_of(run) for run in runs]
        say("drawing the robot")
        drawings = [_start_picture(robot, stack) for robot, _ in robots]
        series = series_of(runs)
        say("thinning curves")
        data = {"runs": [], "series": []}  # type: dict[str, list[Any]]
        for run, (robot, _) in zip(runs, robots, strict=True):
            data["runs"].append(_run_data(run, robot))
        for s in series:
            curves = estimator_curves(runs[s["run"]], s["name"])
            failed = runs[s["run"]].estimators[s["name"]].get("failed")
            calibration = runs[s["run"]].estimators[s["name"]].get("calibration")
            data["series"].append(
                {**s, "failed": failed, "curves": curves, "calibration": calibration}
            )
        say("waiting for the picture")
        shown, why = [], []
        for drawing, (_, problem) in zip(drawings, robots, strict=True):
            image, trouble = _finish_picture(drawing, problem)
            shown.append(image)
            why.append(trouble)
    return fill(asset("page.html"), _parts(runs, series, data, shown, why))


def series_of(runs: Sequence[RunFolder]) -> list[dict[str, Any]]:
    """Every estimator of every run, with its colour (its name's) and line (its run's)."""
    names = list(dict.fromkeys(name for run in runs for name in run.estimators))
    rows = []
    for r, run in enumerate(runs):
        for name in run.estimators:
            dash, pattern = DASHES[r % len(DASHES)]
            rows.append(
                {
                    "run": r,
                    "name": name,
                    "label": f"{name} · {run.label}" if len(runs) > 1 else name,
                    "colour": COLOURS[names.index(name) % len(COLOURS)],
                    "dash": dash,
                    "pattern": pattern,
                }
            )
    return rows


def _run_data(run: RunFolder, robot: Robot | None) -> dict[str, Any]:
    return {
        "label": run.label,
        "start": float(run.t[0]),
        "end": float(run.t[-1]),
        "dt": run.dt,
        "bodies": run.bodies,
        "extra": run.extra,
        "changes": describe_changes(run.scenario),
        "curves": run_curves(run),
        "scene": ellipsoid_scene(run, robot),
    }


def _start_picture(robot: Robot | None, stack: ExitStack) -> Drawing | None:
    if robot is None:
        return None
    import mujoco

    if robot.qpos is not None:
        pose = robot.qpos[len(robot.qpos) // 2]
    else:
        try:
            pose = mujoco.MjModel.from_xml_path(str(robot.look)).qpos0
        except ValueError:  # a mesh is missing, say
            return None
    return stack.enter_context(picture(robot.look, pose))


def _finish_picture(drawing: Drawing | None, problem: str) -> tuple[str, str]:
    """The picture as a data address, or "" and why there is none."""
    if drawing is None:
        return "", problem or "The robot's model file cannot be drawn."
    trouble = drawing.wait()
    if trouble:
        return "", f"No picture of the robot: {NO_GRAPHICS}. What was said: {trouble}"
    content = base64.b64encode((drawing.folder / "0.jpg").read_bytes()).decode("ascii")
    return f"data:image/jpeg;base64,{content}", ""


def _parts(
    runs: Sequence[RunFolder],
    series: Sequence[Mapping[str, Any]],
    data: Mapping[str, Any],
    pictures: Sequence[str],
    why: Sequence[str],
) -> dict[str, str]:
    from plotly.offline import get_plotlyjs

    plotly, script = get_plotlyjs(), asset("report.js")
    title = (
        str(runs[0].scenario.get("title", "A run"))
        if len(runs) == 1
        else "Comparison of " + " and ".join(run.label for run in runs)
    )
    heading = "" if len(runs) == 1 else f"<h1>{escape(title)}</h1>"
    bounds = [run.card.get("bound") for run in runs]
    no_bound = [str(b["why"]) for b in bounds if isinstance(b, Mapping) and b.get("why")]
    return {
        "title": escape(title),
        "policy": policy(plotly, script),
        "style": asset("report.css"),
        "opening": heading + sections.headings(runs, pictures, why),
        "scores": sections.score_table(runs, series),
        "efficiency": sections.sentences(runs, "efficiency"),
        "calibration": sections.sentences(runs, "calibration"),
        "excitation": sections.excitation(runs),
        "no_bound": escape(" ".join(dict.fromkeys(no_bound))),
        "changes": sections.change_table(runs, series),
        "provenance": sections.provenance(runs),
        "version": escape(version()),
        "data": embedded(data),
        "plotly": plotly,
        "script": script,
    }
