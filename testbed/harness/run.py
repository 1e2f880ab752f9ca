"""Run a scenario: the loop, its progress, and the result."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from testbed.core.errors import BadInput, Diverged
from testbed.core.types import Sample, Truth
from testbed.harness.closed_loop import OwnLaw, Turn, compare, logged, merge, plan_turns
from testbed.harness.messages import located
from testbed.harness.result import SCHEMA, Result
from testbed.harness.scenario import Scenario
from testbed.harness.session import Session, layout_of
from testbed.harness.validation import validation_rows
from testbed.harness.watchdog import Watchdog
from testbed.logs import Recorder
from testbed.scores import bound_summary, evaluate, excitation_summary

Progress = Callable[[int, int], None]
Watcher = Callable[[Sample, Truth | None, Session], None]


def run(
    scenario: str | Path | Mapping[str, Any] | Scenario,
    *,
    seed: int | None = None,
    estimators: Sequence[Any] = (),
    only: bool = False,
    out: str | Path | None = None,
    record: str | Path | bool | None = None,
    trust_plugins: bool = False,
    plugin_timeout: float | None = 60.0,
    progress: Progress | None = None,
    watch: Sequence[Watcher] = (),
    command: str | None = None,
) -> Result:
    """Run a scenario and score its estimators.

    Args:
        scenario: A shipped scenario's name, a TOML file, plain data, or a `Scenario`.
        seed: Overrides the scenario's.
        estimators: Further estimators: SPEC strings, tables or objects.
        only: Leave out the scenario's own estimators.
        out: Folder for result.json, history.npz and log.npz.
        record: Where to write the log; True keeps it in the result only.
        trust_plugins: Let plugin files named inside the scenario run.
        plugin_timeout: Seconds after which a plugin call counts as hung; None waits for ever.
        progress: Called with (samples done, samples in all) now and then.
        watch: Each is called after every sample with it, its truth and the session.
        command: The command line that asked for the run, for the result.
    """
    scene = as_scenario(scenario)
    seed = checked_seed(scene, seed)
    scene = scene.for_seed(seed)
    model = scene.model
    if plugin_timeout is not None and not 0 < plugin_timeout < float("inf"):
        raise BadInput(f"plugin timeout must be positive, got {plugin_timeout}")
    made, inputs = scene.make_estimators(estimators, only, trust_plugins)
    turns = plan_turns(scene, made, trust_plugins)
    scene.check_metrics({**made, **{t.law: t for t in turns if t.law is not None}})
    runs: list[_Turned] = []
    with Watchdog(plugin_timeout) as dog, located(scene.where):
        # A diverging simulation overflows before it is noticed: no warning a number. And one
        # thread: waking others for matrices this small costs more than the work, and times noise.
        with np.errstate(over="ignore", invalid="ignore"), threadpool_limits(1):
            for i, turn in enumerate(turns):
                session = make_session(scene, turn, made, inputs, trust_plugins, dog)
                about = {"scenario": logged(scene, turn), "seed": seed, "versions": versions()}
                keep = record or out is not None
                recorder = Recorder(session.rig, about) if keep else None
                if model.validation is not None:
                    if runs:
                        session.validation = runs[0].session.validation
                    else:
                        other = scene.for_validation().make_plant(trust_plugins)
                        steps = steps_in(model.validation.duration, session.rig.dt)
                        session.validation = validation_rows(other, seed, steps)
                steps = steps_in(model.duration, session.rig.dt)
                show = _share(progress, i, len(turns))
                look = watch if i == 0 else ()  # a film or a live view shows one motion
                stopped = loop(session, seed, steps, recorder, show, look)
                runs.append(_Turned(session, recorder, stopped))
                if stopped == INTERRUPTED:
                    break
    card = _merged_card(scene, runs, seed)
    recorders = {
        turn.driver or "": done.recorder
        for turn, done in zip(turns, runs, strict=False)
        if done.recorder is not None
    }
    result = Result(
        card | {"command": command},
        {name: h for done in runs for name, h in histories(done.session).items()},
        runs[0].recorder,
        _all_arrays([done.session for done in runs]),
        {name: r for name, r in recorders.items() if r is not runs[0].recorder},
    )
    if out is not None:
        result.save(Path(out))
    if isinstance(record, str | Path):
        result.save_logs(Path(record))
    stopped = runs[-1].stopped
    if stopped == INTERRUPTED:  # only now: what was computed is saved
        raise KeyboardInterrupt
    return result


@dataclass
class _Turned:
    """A session that has run."""

    session: Session
    recorder: Recorder | None
    stopped: str | None


def make_session(
    scene: Scenario,
    turn: Turn,
    made: Mapping[str, Any],
    inputs: Mapping[str, Any],
    trust: bool = False,
    dog: Watchdog | None = None,
) -> Session:
    """One session of a scenario, not reset yet.

    Args:
        scene: The scenario of one seed.
        turn: Who drives, and which of the estimators take part.
        made: The estimators by name.
        inputs: Ports that the scenario overrides, by estimator.
        trust: Let its plugin files run.
        dog: Breaks plugins that hang; None waits for ever.
    """
    model = scene.model
    plant = scene.make_plant(trust, turn.law)
    estimators = {n: OwnLaw(plant) if n == turn.law else made[n] for n in turn.names}
    return Session(
        plant,
        estimators,
        inputs={name: ports for name, ports in inputs.items() if name in estimators},
        regressors={k: t.model_dump() for k, t in model.regressors.items()},
        prior_error=model.prior.error,
        truth_error=model.plant.truth_error,
        score_hz=model.score_hz,
        duration=model.duration,
        watchdog=dog,
        driver=turn.driver,
    )


def _share(progress: Progress | None, i: int, n: int) -> Progress | None:
    """Progress of the i-th of n sessions, as a part of the whole."""
    if progress is None or n == 1:
        return progress
    return lambda done, steps: progress(i * steps + done, n * steps)


def _merged_card(scene: Scenario, runs: Sequence[_Turned], seed: int) -> dict[str, Any]:
    sessions = [done.session for done in runs]
    compare(sessions)
    cards = [scorecard(scene, done.session, seed, done.stopped) for done in runs]
    card = merge(cards, sessions)
    card["accept"] = _accept(scene, card["estimators"])
    return card


def _all_arrays(sessions: Sequence[Session]) -> dict[str, Any]:
    """What goes into history.npz besides estimates; shared blocks are the first session's."""
    arrays: dict[str, Any] = {}
    for session in sessions:
        for key, array in scored_arrays(session).items():
            arrays.setdefault(key, array)
        if session.driver is not None:
            for key, array in session.driver.loop.arrays().items():
                arrays[f"loop/{session.driver.name}/{key}"] = array
    return arrays


INTERRUPTED = "interrupted"
_MOST_SAMPLES = 20_000_000  # more would not fit into memory


def as_scenario(scenario: str | Path | Mapping[str, Any] | Scenario) -> Scenario:
    """A Scenario from whatever a user has."""
    if isinstance(scenario, Scenario):
        return scenario
    if isinstance(scenario, Mapping):
        return Scenario.from_dict(scenario)
    return Scenario.load(scenario)


def checked_seed(scene: Scenario, seed: Any) -> int:
    """The seed of a run: this one, or the scenario's own where it is None."""
    seed = scene.model.seed if seed is None else seed
    if not isinstance(seed, int | np.integer) or isinstance(seed, bool) or seed < 0:
        raise BadInput(f"seed must be a whole number ≥ 0, got {seed!r}")
    return int(seed)


def steps_in(duration: float, dt: float) -> int:
    """Samples after sample 0 that fit into the duration."""
    steps = duration / dt
    if steps > _MOST_SAMPLES:
        raise BadInput(
            f"duration = {duration:g} s at {1 / dt:g} samples a second are {steps:.0f} samples; "
            f"at most {_MOST_SAMPLES} fit into a run: lower one of them"
        )
    return max(1, int(np.floor(steps + 1e-9)))


def loop(
    session: Session,
    seed: int,
    steps: int,
    recorder: Recorder | None,
    progress: Progress | None,
    watch: Sequence[Watcher] = (),
) -> str | None:
    """Step through the run; the reason where it had to stop early."""
    stopped = None
    sample, truth = session.reset(seed)
    if recorder is not None:
        recorder.add(sample, truth)
    for look in watch:
        look(sample, truth, session)
    try:
        for k in range(steps):
            sample, truth = session.step()
            if recorder is not None:
                recorder.add(sample, truth)
            for look in watch:
                look(sample, truth, session)
            if progress is not None and k % 64 == 0:
                progress(k, steps)
    except Diverged as error:
        stopped = str(error)
    except KeyboardInterrupt:  # wherever in the loop it comes: what was done is kept
        stopped = INTERRUPTED
    session.finish()
    if progress is not None:
        progress(steps, steps)
    return stopped


def histories(session: Session) -> dict[str, Any]:
    """Estimator → what it estimated when."""
    return {name: c.history for name, c in session.contenders.items()}


def scored_arrays(session: Session) -> dict[str, Any]:
    """What was worked out at score_hz, for history.npz."""
    arrays: dict[str, Any] = dict(session.course.arrays())
    for name, c in session.contenders.items():
        for key, column in c.tally.scored.items():
            arrays[f"{name}/score_{key}"] = np.array(column, dtype=float)
    return arrays


def scorecard(scene: Scenario, session: Session, seed: int, stopped: str | None) -> dict[str, Any]:
    """The result of one session as plain data."""
    estimators: dict[str, Any] = {}
    problems: list[str] = []
    if scene.model.grid:
        problems.append("grid is for sweeps: this run took the values as they stand")
    names = scene.model.metrics
    if names is not None:
        names = [*names, *(rule.metric for rule in scene.model.accept)]
    for name, c in session.contenders.items():
        estimators[name] = {
            "failed": c.failed,
            "theta": c.theta.tolist(),
            "metrics": evaluate(c.tally, names, problems),
            "changes": c.changes([change.at for change in scene.model.change]),
            "efficiency": c.efficiency(session.default_key),
            "calibration": c.tally.calibration.summary(session.rig.size),
            "timing": c.timing(session.course.reference.us),
            "info": c.summary(),
        }
    truths = session.truth_history.array()
    return {
        "schema": SCHEMA,
        "scenario": scene.resolved(),
        "seed": seed,
        "steps": session.steps,
        "stopped": stopped,
        "versions": versions(),
        "layout": layout_of(session.rig),
        "unit": session.unit,
        "truth": {"residual_max": session.residual_max, "theta_final": truths[-1].tolist()},
        "bound": bound_summary(session.course, truths[-1]),
        "excitation": excitation_summary(session.course),
        "skipped_equations": session.skipped_equations,
        "warnings": problems,
        "estimators": estimators,
        "accept": _accept(scene, estimators),
    }


def _accept(scene: Scenario, estimators: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Each rule with its value; a value that is not there fails."""
    rules = []
    for rule in scene.model.accept:
        row = estimators.get(rule.estimator)
        if row is None:
            continue  # left out by --only
        value = None if row["failed"] else row["metrics"][rule.metric]
        passed = (
            value is not None
            and (rule.max is None or value <= rule.max)
            and (rule.min is None or value >= rule.min)
        )
        table = rule.model_dump(exclude_none=True)
        rules.append({"rule": table, "value": value, "passed": passed})
    return rules


def versions() -> dict[str, str]:
    """Versions of what the numbers depend on."""
    return dict(_versions())


@cache
def _versions() -> dict[str, str]:
    # Reading them takes as long as a short run, and sweeps are thousands of runs.
    found = {"python": platform.python_version()}
    for name in ("inertia-testbed", "mujoco", "numpy", "scipy", "numba"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found
