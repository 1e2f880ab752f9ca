"""Run a scenario: the loop, its progress, and the result."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from testbed.core.errors import BadInput, Diverged
from testbed.harness.messages import located
from testbed.harness.result import SCHEMA, Result
from testbed.harness.scenario import Scenario
from testbed.harness.session import Session, layout_of
from testbed.harness.validation import validation_rows
from testbed.harness.watchdog import Watchdog
from testbed.logs import Recorder
from testbed.scores import evaluate

Progress = Callable[[int, int], None]


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
    """
    scene = as_scenario(scenario)
    seed = scene.model.seed if seed is None else seed
    if not isinstance(seed, int | np.integer) or isinstance(seed, bool) or seed < 0:
        raise BadInput(f"seed must be a whole number ≥ 0, got {seed!r}")
    seed = int(seed)
    scene = scene.for_seed(seed)
    model = scene.model
    if plugin_timeout is not None and not 0 < plugin_timeout < float("inf"):
        raise BadInput(f"plugin timeout must be positive, got {plugin_timeout}")
    made, inputs = scene.make_estimators(estimators, only, trust_plugins)
    scene.check_metrics(made)
    plant = scene.make_plant(trust_plugins)
    with Watchdog(plugin_timeout) as dog, located(scene.where):
        session = Session(
            plant,
            made,
            inputs=inputs,
            regressors={k: t.model_dump() for k, t in model.regressors.items()},
            prior_error=model.prior.error,
            truth_error=model.plant.truth_error,
            score_hz=model.score_hz,
            watchdog=dog,
        )
        about = {"scenario": scene.resolved(), "seed": seed, "versions": versions()}
        recorder = Recorder(session.rig, about) if (record or out is not None) else None
        if model.validation is not None:
            other = scene.for_validation().make_plant(trust_plugins)
            steps = steps_in(model.validation.duration, session.rig.dt)
            session.validation = validation_rows(other, seed, steps)
        steps = steps_in(model.duration, session.rig.dt)
        # A diverging simulation overflows before it is noticed: no warning a number. And one
        # thread: waking others for matrices this small costs more than the work, and times noise.
        with np.errstate(over="ignore", invalid="ignore"), threadpool_limits(1):
            stopped = _loop(session, seed, steps, recorder, progress)
    result = Result(_scorecard(scene, session, seed, stopped), _histories(session), recorder)
    if out is not None:
        result.save(Path(out))
    if recorder is not None and isinstance(record, str | Path):
        recorder.save(Path(record))
    if stopped == INTERRUPTED:  # only now: what was computed is saved
        raise KeyboardInterrupt
    return result


INTERRUPTED = "interrupted"
_MOST_SAMPLES = 20_000_000  # more would not fit into memory


def as_scenario(scenario: str | Path | Mapping[str, Any] | Scenario) -> Scenario:
    """A Scenario from whatever a user has."""
    if isinstance(scenario, Scenario):
        return scenario
    if isinstance(scenario, Mapping):
        return Scenario.from_dict(scenario)
    return Scenario.load(scenario)


def steps_in(duration: float, dt: float) -> int:
    """Samples after sample 0 that fit into the duration."""
    steps = duration / dt
    if steps > _MOST_SAMPLES:
        raise BadInput(
            f"duration = {duration:g} s at {1 / dt:g} samples a second are {steps:.0f} samples; "
            f"at most {_MOST_SAMPLES} fit into a run: lower one of them"
        )
    return max(1, int(np.floor(steps + 1e-9)))


def _loop(
    session: Session, seed: int, steps: int, recorder: Recorder | None, progress: Progress | None
) -> str | None:
    """Step through the run; the reason where it had to stop early."""
    stopped = None
    sample, truth = session.reset(seed)
    if recorder is not None:
        recorder.add(sample, truth)
    try:
        for k in range(steps):
            sample, truth = session.step()
            if recorder is not None:
                recorder.add(sample, truth)
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


def _histories(session: Session) -> dict[str, Any]:
    return {name: c.history for name, c in session.contenders.items()}


def _scorecard(scene: Scenario, session: Session, seed: int, stopped: str | None) -> dict[str, Any]:
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
            "changes": [{"at": change.at} for change in scene.model.change],
            "timing": {**c.history.timing(session.rig.dt), "solve_ms": c.solve_ms},
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
        "truth": {"residual_max": session.residual_max, "theta_final": truths[-1].tolist()},
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
    found = {"python": platform.python_version()}
    for name in ("inertia-testbed", "mujoco", "numpy", "scipy", "numba"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found
