"""Figs. 4 and 5 of Lee & Park 2018: persons as equivalent ellipsoids; needs the extra `plots`.

Each link is drawn as the uniform ellipsoid with its inertial parameters, at its place in a person
who stands with arms spread, from the front and from the side. Fill colours show the mass over the
prior's; a link that has collapsed is drawn as what is left of it, in red.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from testbed.core.errors import BadInput
from testbed.core.signals import Array
from testbed.inertia import pseudo_inertia
from testbed.reproduce.lee2018 import DEGENERATE, EQ19, LMI, REMARK3, identify
from testbed.reproduce.lee2018_person import Recording, record, relative_eigenvalues
from testbed.reproduce.lee2018_projection import clearest, project_both

VIEWS = {"front": (1, 2), "side": (0, 2)}  # world axes to the right and up
_ARMS = 0.6  # rad, so that arms do not hide the trunk


def draw(folder: Path, seed: int = 0) -> list[Path]:
    """PNG files fig4 and fig5 of one person."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise BadInput(
            'figures need matplotlib: pip install "inertia-testbed[plots]", or leave out --out'
        ) from None
    folder.mkdir(parents=True, exist_ok=True)
    recording = record(seed)
    both = project_both(recording, clearest(recording))
    found = identify(recording)
    prior = recording.problem.prior
    pages = {
        "fig4": (
            "Fig. 4: the prior projected onto one equation m_x = b",
            {"prior": prior, "natural": both.natural, "Euclidean + LMI": both.euclidean},
        ),
        "fig5": (
            "Fig. 5: identified from 300 rows f_z, m_x, m_y",
            {
                "prior": prior,
                "geometric (eq. 19)": found[EQ19],
                "geometric_direct (Remark 3)": found[REMARK3],
                "least squares + LMI": found[LMI],
                "truth": recording.truth,
            },
        ),
    }
    written = []
    for name, (title, persons) in pages.items():
        figure = Figure(figsize=(3.1 * len(persons), 8.4), layout="constrained")
        panels: Any = figure.subplots(2, len(persons), squeeze=False)
        _fill(panels, persons, recording, figure)
        figure.suptitle(title, fontsize=12)
        path = folder / f"{name}.png"
        figure.savefig(path, dpi=110)
        written.append(path)
    return written


def _fill(panels: Any, persons: Mapping[str, Array], recording: Recording, figure: Any) -> None:
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import TwoSlopeNorm
    from matplotlib.patches import Ellipse

    poses = link_poses(recording)
    prior = recording.problem.prior
    scale, colours = TwoSlopeNorm(0.0, -1.0, 1.0), colormaps["RdBu_r"]
    for column, (label, theta) in enumerate(persons.items()):
        smallest = np.nan_to_num(relative_eigenvalues(theta, prior))
        flat = int(np.count_nonzero(smallest < DEGENERATE))
        ratio = np.log2(np.maximum(theta[::10] / prior[::10], 1e-3))
        for row, (view, axes) in enumerate(VIEWS.items()):
            panel = panels[row, column]
            for link, phi in enumerate(theta.reshape(-1, 10)):
                centre, width, height, angle = shadow(phi, *poses[link], axes)
                collapsed = smallest[link] < DEGENERATE
                panel.add_patch(
                    Ellipse(
                        (centre[0], centre[1]),
                        max(width, 0.006),
                        max(height, 0.006),
                        angle=angle,
                        facecolor=colours(scale(np.clip(ratio[link], -1.0, 1.0))),
                        edgecolor="#c00000" if collapsed else "#303030",
                        linewidth=1.6 if collapsed else 0.8,
                        alpha=0.85,
                    )
                )
            panel.set(xlim=(-0.85, 0.85), ylim=(-0.05, 1.95), aspect="equal")
            panel.axhline(0.0, color="#a0a0a0", linewidth=0.8)
            panel.set_xticks([])
            panel.set_yticks([])
            if column == 0:
                panel.set_ylabel(view)
        head = f"{flat} of {len(smallest)} links flat" if flat else "no link flat"
        panels[0, column].set_title(f"{label}\n{head}", fontsize=10)
    bar = figure.colorbar(
        ScalarMappable(scale, colours), ax=panels, location="bottom", shrink=0.5, pad=0.02
    )
    bar.set_ticks([-1.0, 0.0, 1.0], labels=["half", "as the prior", "twice"])
    bar.set_label("mass of a link (red edge: smallest relative eigenvalue below 1e-3)", fontsize=9)


def link_poses(recording: Recording) -> list[tuple[Array, Array]]:
    """Rotation (3, 3) and origin (3,) of every link of a person who stands with arms spread."""
    model = recording.model
    data = mujoco.MjData(model)
    for side, sign in (("left", 1.0), ("right", -1.0)):
        data.qpos[model.joint(f"{side}_shoulder_roll").qposadr[0]] = sign * _ARMS
    mujoco.mj_kinematics(model, data)
    plate = data.site("plate").xpos if model.nsite else np.zeros(3)
    return [
        (data.body(name).xmat.reshape(3, 3).copy(), data.body(name).xpos - plate)
        for name in recording.problem.bodies
    ]


def shadow(
    phi: Array, R: Array, origin: Array, axes: tuple[int, int]
) -> tuple[list[float], float, float, float]:
    """Centre, width, height and angle (degrees) of the outline that an ellipsoid throws.

    The outline of {x : xᵀS⁻¹x ≤ 1} along an axis is the ellipse of the other two rows of S.
    """
    J = pseudo_inertia(phi)
    m, h = J[3, 3], J[:3, 3]
    S = 5.0 * (J[:3, :3] / m - np.outer(h, h) / m**2)  # of semi-axes squared
    S, centre = R @ S @ R.T, R @ (h / m) + origin
    values, V = np.linalg.eigh(S[np.ix_(axes, axes)])
    width, height = 2.0 * np.sqrt(np.maximum(values, 0.0))
    angle = float(np.degrees(np.arctan2(V[1, 0], V[0, 0])))
    return centre[list(axes)].tolist(), float(width), float(height), angle
