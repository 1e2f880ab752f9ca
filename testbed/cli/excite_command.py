"""`testbed excite PLANT`: designs an excitation and writes it to a file."""

from __future__ import annotations

import json as json_module
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from testbed.cli.console import complain, stderr

_PATIENCE = 2.0  # s


def excite(
    plant: Annotated[
        str,
        typer.Argument(
            help="A robot with driven joints: a name, or NAME:key=value,… "
            "(staubli_arm:measure=joint_torque, mjcf:model=my.xml)."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            help='TOML file to write; a scenario uses it with excitation = { use = "fourier", '
            'file = "…" }.'
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Same seed, same trajectory.")] = 0,
    criterion: Annotated[
        str, typer.Option(help="kappa (condition number of AᵀA) or logdet (of AᵀA).")
    ] = "kappa",
    duration: Annotated[
        float, typer.Option(help="Seconds of the active part, a whole number of periods.")
    ] = 1.5,
    base_hz: Annotated[
        float | None, typer.Option(help="Base frequency (Hz); default: one period.")
    ] = None,
    harmonics: Annotated[
        int | None, typer.Option(help="Multiples of it; default: up to 2 Hz, at least 3.")
    ] = None,
    lead_in: Annotated[float, typer.Option(help="Seconds from standstill to it.")] = 1.0,
    lead_out: Annotated[float, typer.Option(help="Seconds back to standstill.")] = 1.0,
    candidates: Annotated[int, typer.Option(help="Random trajectories to start from.")] = 1000,
    budget: Annotated[float, typer.Option(help="Seconds after which the search stops.")] = 60.0,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> int:
    """Design an excitation that shows a robot's parameters well, within all its limits."""
    from testbed.plants.excitations.design import design

    _check_place(out)
    with _progress(f"excitation of {plant}") as show:
        found = design(
            plant,
            seed=seed,
            criterion=criterion,
            duration=duration,
            base_hz=base_hz,
            harmonics=harmonics,
            lead_in=lead_in,
            lead_out=lead_out,
            candidates=candidates,
            budget=budget,
            progress=show,
        )
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(found.trajectory.text(), encoding="utf-8")
    if json:
        typer.echo(json_module.dumps(_document(found, out), ensure_ascii=False, indent=1))
    else:
        _show(found, out)
    if not found.finished:
        complain(
            f"the budget of {budget:g} s ended the search early: the trajectory depends on this "
            "machine's speed; a larger --budget makes it repeatable"
        )
    if not found.limits_ok:
        kind = max(found.excess, key=lambda k: found.excess[k])
        complain(f"the trajectory breaks the {kind} limit by {100 * found.excess[kind]:.3g} %")
    return 0 if found.limits_ok else 1


def _document(found: Any, out: Path | None) -> dict[str, Any]:
    made = found.trajectory
    return {
        "kappa_initial": found.kappa_initial,
        "kappa": found.kappa,
        "seconds": found.seconds,
        "limits_ok": found.limits_ok,
        "logdet": found.logdet,
        "excess": dict(found.excess),
        "finished": found.finished,
        "plant": made.plant,
        "criterion": made.design["criterion"],
        "seed": made.design["seed"],
        "file": None if out is None else str(out),
    }


def _show(found: Any, out: Path | None) -> None:
    made = found.trajectory
    echo = typer.echo
    echo(f"{made.plant}: {made.seconds:g} s, {len(made.sine)} harmonics of {made.base_hz:.4g} Hz")
    echo(f"κ of AᵀA: {found.kappa_initial:.3g} at best at random, {found.kappa:.3g} designed")
    free = ", ".join(f"{kind} {-100 * x:.0f} %" for kind, x in found.excess.items() if x > -1)
    echo(f"limits {'kept' if found.limits_ok else 'BROKEN'}, left free at the worst: {free}")
    echo(f"took {found.seconds:.1f} s")
    if out is None:
        echo("Not written: name a file with --out trajectory.toml")
    else:
        echo(f'Written to {out}: excitation = {{ use = "fourier", file = "{out.name}" }}')


def _check_place(out: Path | None) -> None:
    """Refuse before the search what could not be written after it."""
    from testbed.core.errors import BadInput

    if out is None:
        return
    if out.suffix.lower() != ".toml" or out.is_dir():
        raise BadInput(f"--out {str(out)!r}: name a TOML file, e.g. trajectory.toml")
    there = next(p for p in out.absolute().parents if p.exists())
    blocked = out.exists() and not os.access(out, os.W_OK)
    if blocked or not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        raise BadInput(f"--out: cannot write to {str(out)!r}")


@contextmanager
def _progress(title: str) -> Iterator[Callable[[str, int, int], None]]:
    """A line on stderr that says what goes on, kept up to date; on a pipe every few seconds."""
    from testbed.core.jit import is_cold

    # The first run compiles its kernels: say so while nothing moves yet.
    first = "compiling kernels, only the first time (15 to 30 s)" if is_cold() else ""
    if sys.stderr.isatty():
        with stderr().status(first or f"{title}: preparing") as status:
            yield lambda stage, done, total: status.update(f"{title}: {stage}, {done} of {total}")
        return
    if first:
        print(f"testbed: {first}", file=sys.stderr)
    last = time.monotonic()

    def line(stage: str, done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last > _PATIENCE:
            last = time.monotonic()
            print(f"testbed: {title}: {stage}, {done} of {total}", file=sys.stderr)

    yield line
