"""Figures 2 and 3 of Ekal & Ventura 2020: what a free body keeps under three integrators.

    python -m testbed.reproduce.ekal_figures [--out DIR]     # needs matplotlib: the extra "plots"

A free body, h = 0.05 s: the dual-quaternion variational integrator, Runge–Kutta 4 and forward
differences at the same step; the reference is Runge–Kutta at a twentieth of it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from testbed.core.errors import BadInput
from testbed.core.signals import Array
from testbed.kinematics import dual_quaternion as dq
from testbed.plants.free_flyer import BODIES
from testbed.reproduce.rigid_body import (
    Body,
    State,
    at_rest,
    finite_difference_step,
    integrate,
    rk4_step,
)
from testbed.reproduce.variational_integrator import integrate_variational

H, SECONDS = 0.05, 100.0  # s
SPIN, VELOCITY = np.array([0.5, -0.3, 0.4]), np.array([0.1, 0.0, -0.1])  # rad/s, m/s
NAMES = {"variational": "variational", "rk4": "Runge–Kutta 4", "fd": "finite differences"}


def free(t: float) -> Array:
    """No wrench."""
    return np.zeros(6)


def curves(seconds: float = SECONDS, h: float = H) -> dict[str, dict[str, Array]]:
    """Integrator → t, relative change of energy and momentum, errors of attitude and position."""
    m, r, J = BODIES["main"]
    body = Body(np.array([m, *(m * x for x in r), *J]))
    start, n = at_rest()._replace(omega=SPIN, v=VELOCITY), round(seconds / h)
    poses, chi = integrate_variational(body, start, free, h, n)
    states = {
        "variational": State(*dq.to_pose(poses), chi[:, :3], chi[:, 3:]),
        "rk4": integrate(body, start, free, h, n, rk4_step),
        "fd": integrate(body, start, free, h, n, finite_difference_step),
    }
    exact = integrate(body, start, free, h, n, rk4_step, substeps=20)
    energy, momentum = float(body.energy(start)), body.world_momentum(start)
    out = {}
    for name, state in states.items():
        off = dq.multiply(dq.conjugate(exact.quaternion), state.quaternion)  # as in Fig. 3
        kept = np.linalg.norm(body.world_momentum(state) - momentum, axis=1)
        out[name] = {
            "t": h * np.arange(n + 1),
            "energy": np.abs(body.energy(state) / energy - 1.0),
            "momentum": kept / np.linalg.norm(momentum),
            "attitude": 2.0 * np.arcsin(np.minimum(np.linalg.norm(off[:, 1:], axis=1), 1.0)),
            "position": np.linalg.norm(state.position - exact.position, axis=1),
        }
    return out


def draw(folder: Path) -> Path:
    """One picture of four panels, as PNG."""
    try:
        import matplotlib
    except ImportError:
        raise BadInput("figures need matplotlib: pip install 'inertia-testbed[plots]'") from None
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    panels = {
        "energy": "|ΔE| / E",
        "momentum": "|Δ momentum| / momentum",
        "attitude": "attitude error (rad)",
        "position": "position error (m)",
    }
    colours = {"variational": "#0072b2", "rk4": "#009e73", "fd": "#d55e00"}
    figure, axes = plt.subplots(2, 2, figsize=(10, 6.5), sharex=True, layout="constrained")
    found = curves()
    for axis, (key, label) in zip(axes.flat, panels.items(), strict=True):
        for name, curve in found.items():
            shown = np.maximum(curve[key][1:], 1e-17)
            axis.semilogy(curve["t"][1:], shown, color=colours[name], label=NAMES[name], lw=1.3)
        axis.set_ylabel(label)
        axis.grid(alpha=0.3)
    for axis in axes[1]:
        axis.set_xlabel("time (s)")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, frameon=False)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "ekal_integrators.png"
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return path


def main() -> int:
    """Draw, and print the largest change of each quantity."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("figures"))
    try:
        path = draw(parser.parse_args().out)
    except (BadInput, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for name, curve in curves().items():
        worst = ", ".join(f"{key} {curve[key].max():.1e}" for key in curve if key != "t")
        print(f"{NAMES[name]}: largest change or error in {SECONDS:g} s: {worst}")
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
