"""Makes docs/images/overview.png: a robot, its payload as ellipsoids, and how estimates converge.

    python scripts/overview_picture.py [FILE]     # needs the extra `plots` and off-screen graphics

All of it is one run of the scenario arm_grasp.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib
import numpy as np
from PIL import Image

import testbed
from testbed.report.ellipsoids import shapes
from testbed.report.offscreen import Drawing

matplotlib.use("agg")
import matplotlib.pyplot as plt

OUT = Path(__file__).parents[1] / "docs" / "images" / "overview.png"
MOMENTS = (3.6, 3.744, 3.95)  # s: before the grasp, just after it, settled
TRUTH, ESTIMATE = (0.35, 0.75, 0.45, 0.35), (0.95, 0.45, 0.1, 0.8)
HAND = (380, 230, 1230, 930)  # where the arm is in a picture of 1600 × 1200
STYLE = {
    "rls-never-forgets": ("#777777", "rls, never forgets"),
    "rls-forgetting": ("#2b7bba", "rls, forgets with τ = 0.3 s"),
    "recommended": ("#f2731a", "recommended: rls_logdet, notices the change"),
}


def main(out: Path) -> int:
    """One run, three pictures of the arm, one figure."""
    poses, look, t, truth = [], [], [], []

    def watch(sample, true, session):
        t.append(sample.t)
        truth.append(true.theta[:10].copy())
        if len(poses) < len(MOMENTS) and sample.t >= MOMENTS[len(poses)] - 1e-9:
            theta = session.contenders["recommended"].theta[:10].copy()
            poses.append((true.clean["q"].copy(), true.theta[:10].copy(), theta))
            look[:] = [session.source.look]

    result = testbed.run("arm_grasp", seed=7, watch=[watch])
    pictures = draw(Path(look[0]), poses)
    figure = plt.figure(figsize=(12.0, 6.6), dpi=110)
    grid = figure.add_gridspec(2, 3, height_ratios=[1.2, 0.8], hspace=0.24, wspace=0.04)
    grasp = t[int(np.argmax(np.diff(np.array(truth)[:, 0]))) + 1]
    titles = ("before the grasp", *(f"{1e3 * (at - grasp):.0f} ms after it" for at in MOMENTS[1:]))
    for k, (picture, title) in enumerate(zip(pictures, titles, strict=True)):
        axes = figure.add_subplot(grid[0, k])
        axes.imshow(picture)
        axes.set_title(f"{title} (t = {MOMENTS[k]:g} s)", fontsize=11)
        axes.set_axis_off()
    figure.text(
        0.5, 0.435, "green: the true payload; orange: the recommended estimate, each as the "
        "ellipsoid with the same ten parameters", ha="center", fontsize=10, color="#333333",
    )  # fmt: skip
    masses(figure.add_subplot(grid[1, :]), result, np.array(t), np.array(truth))
    figure.savefig(out, bbox_inches="tight", metadata={"Software": ""})
    print(out)
    return 0


def draw(look: Path, poses: list) -> list:
    """The arm with both ellipsoids, cut to where its hand is."""
    bodies = np.array([[[true], [estimate]] for _, true, estimate in poses])  # (m, 2, 1, 10)
    about = {
        "kind": "stills", "size": [1600, 1200], "shadows": 2048, "samples": 4,
        "bodies": ["payload"], "colours": [TRUTH, ESTIMATE],
    }  # fmt: skip
    with Drawing(look, np.array([q for q, _, _ in poses]), about, shapes=shapes(bodies)) as drawn:
        problem = drawn.wait()
        if problem:
            raise SystemExit(f"the arm cannot be drawn: {problem}")
        return [Image.open(drawn.folder / f"{k}.jpg").crop(HAND) for k in range(len(poses))]


def masses(axes, result, t: np.ndarray, truth: np.ndarray) -> None:
    """Mass of the payload over time, truth and estimates."""
    axes.plot(t, truth[:, 0], color="black", lw=1.6, label="truth")
    for name, (colour, label) in STYLE.items():
        history = result.history(name)
        axes.plot(history.t, history.theta[:, 0], color=colour, lw=1.3, label=label)
    for at in MOMENTS:
        axes.axvline(at, color="#bbbbbb", lw=0.8, ls=":", zorder=0)
    top = float(truth[:, 0].max())
    axes.set(xlabel="time (s)", ylabel="mass at the wrist (kg)", xlim=(0, t[-1]))
    axes.set_ylim(-0.15 * top, 1.3 * top)
    axes.legend(frameon=False, ncols=4, loc="upper left")
    axes.spines[["top", "right"]].set_visible(False)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else OUT))
