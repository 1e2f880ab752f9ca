"""Replay logs through the same loop as a run: `Session.step`, the same scores, the same result."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from testbed.core.errors import BadInput
from testbed.harness import Result, Scenario, Session
from testbed.harness.messages import located
from testbed.harness.run import (
    INTERRUPTED,
    Progress,
    histories,
    loop,
    scorecard,
    scored_arrays,
    steps_in,
)
from testbed.harness.validation import validation_rows
from testbed.harness.watchdog import Watchdog
from testbed.logs import Table, read_log
from testbed.logs.recorder import other_robot
from testbed.logs.source import as_recorded
from testbed.replay.loaded import Import, Loaded
from testbed.replay.whole import in_order

DEFAULT_ESTIMATOR = "rls"


def replay(
    logs: str | Path | Sequence[str | Path],
    *,
    plant: str | None = None,
    model: str | Path | None = None,
    estimators: Sequence[Any] = (),
    config: str | Path | None = None,
    out: str | Path | None = None,
    strict: bool = False,
    seed: int | None = None,
    trust_plugins: bool = False,
    plugin_timeout: float | None = 60.0,
    progress: Progress | None = None,
    command: str | None = None,
) -> Result:
    """Replay one or several logs, as one stream, and score estimators on it.

    Args:
        logs: Files; several follow one another, with a change between them.
        plant: The simulated plant that the logs are of.
        model: Or the robot's own MJCF or URDF file.
        estimators: SPEC strings, tables or objects; none: those of the recorded scenario, or `rls`.
        config: TOML file that says what the columns are and how they are prepared.
        out: Folder for result.json and history.npz.
        strict: Refuse logs of which anything had to be mended.
        seed: Of the estimators' random streams and the prior; default: the recorded one, or 0.
        trust_plugins: Let plugin files named inside a recorded scenario run.
        plugin_timeout: Seconds after which a plugin call counts as hung; None waits for ever.
        progress: Called with (samples done, samples in all) now and then.
        command: The command line that asked for the replay, for the result.
    """
    files = [logs] if isinstance(logs, str | Path) else list(logs)
    if not files:
        raise BadInput("replay needs at least one log")
    if (plant is None) == (model is None):
        raise BadInput("say which robot the logs are of: either --plant NAME or --model FILE")
    if plugin_timeout is not None and not 0 < plugin_timeout < float("inf"):
        raise BadInput(f"plugin timeout must be positive, got {plugin_timeout}")
    if seed is not None and seed < 0:
        raise BadInput(f"seed must be a whole number ≥ 0, got {seed!r}")
    tables = [read_log(path) for path in files]
    loaded = load(tables, files, plant, model, config, seed, trust_plugins)
    loaded.done.enforce(strict)
    made, inputs = loaded.scene.make_estimators(estimators, bool(estimators), trust_plugins)
    if not made:
        made, inputs = loaded.scene.make_estimators([DEFAULT_ESTIMATOR], True, trust_plugins)
    scene = loaded.scene
    scene.check_metrics(made)
    with Watchdog(plugin_timeout) as dog, located(scene.where):
        session = Session(
            loaded.source,
            made,
            inputs=inputs,
            regressors={k: t.model_dump() for k, t in scene.model.regressors.items()},
            prior_error=loaded.prior_error,
            truth_error=loaded.truth_error,
            score_hz=scene.model.score_hz,
            duration=scene.model.duration,
            watchdog=dog,
        )
        if scene.model.validation is not None:
            other = scene.for_validation().make_plant(trust_plugins)
            steps = steps_in(scene.model.validation.duration, session.rig.dt)
            session.validation = validation_rows(other, loaded.seed, steps)
        with np.errstate(over="ignore", invalid="ignore"), threadpool_limits(1):
            stopped = loop(session, loaded.seed, len(loaded.source) - 1, None, progress)
    card = scorecard(scene, session, loaded.seed, stopped) | {"command": command}
    card["import"] = loaded.done.as_dict()
    if loaded.changes:
        within = [change.at for change in scene.model.change]
        for name, row in card["estimators"].items():
            row["changes"] = loaded.changes_of(session.contenders[name], within)
    result = Result(card, histories(session), None, scored_arrays(session))
    if out is not None:
        result.save(Path(out))
    if stopped == INTERRUPTED:
        raise KeyboardInterrupt
    return result


def load(
    tables: Sequence[Table],
    files: Sequence[str | Path],
    plant: str | None,
    model: str | Path | None,
    config: str | Path | None,
    seed: int | None,
    trust: bool = False,
) -> Loaded:
    """A source from logs: as they were recorded, or prepared as a configuration says."""
    if config is None and _recorded_by(tables, plant or "mjcf"):
        return _as_recorded(tables, model, seed, trust)
    from testbed.replay.prepared import load_prepared

    return load_prepared(tables, files, plant, model, config, 0 if seed is None else seed)


def _recorded_by(tables: Sequence[Table], plant: str) -> bool:
    """Whether all logs were recorded from this plant."""
    return all(
        t.ours and t.header.get("plant") == plant and isinstance(t.header.get("scenario"), dict)
        for t in tables
    )


def _as_recorded(
    tables: Sequence[Table], model: str | Path | None, seed: int | None, trust: bool
) -> Loaded:
    """Every sample as it was; the plant gives what is known of it, never what is true."""
    head = tables[0].header
    data = dict(head["scenario"])
    if model is not None:
        own = data.get("plant")
        data["plant"] = {
            **(own if isinstance(own, dict) else {}),
            "model": str(Path(model).resolve()),
        }
    with located(f"{tables[0].name}: scenario"):
        scene = Scenario.from_dict(data)
        recorded = head.get("seed", 0)
        if not isinstance(recorded, int) or recorded < 0:
            raise BadInput(f"seed must be a whole number ≥ 0, got {recorded!r}")
        seed = recorded if seed is None else seed
        robot = scene.make_plant(trust)
        robot.reset(recorded)  # what regressors believe is drawn anew for every seed
    done = Import()
    kept = [in_order(table, robot.rig.layout, robot.rig.dt, done) for table in tables]
    for table in tables:
        other = other_robot(table.header, robot.rig)
        if other is not None:
            done.warnings.append(f"{table.name}: {other}")
    source = as_recorded(kept, robot.rig, robot.rigid_truth)
    if len(kept) > 1:
        scene = Scenario.from_dict({**data, "duration": min(float(source.t[-1]), 1e5)})
    loaded = Loaded(
        source, scene, seed, done, scene.model.plant.truth_error, scene.model.prior.error
    )
    loaded.know_shifts(robot.shifts(), [int(k) - 1 for k in np.cumsum([len(t) for t in kept])[:-1]])
    return loaded
