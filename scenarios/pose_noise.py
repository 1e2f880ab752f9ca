"""How noisy may poses be? Inertia error of the free flyer against pose noise and stride.

Pose noise comes into the variational rows as 1/h², h = stride·dt; too long a stride misses motion.

python scenarios/pose_noise.py
"""

import numpy as np

import testbed

NOISES = (0.0, 1e-5, 1e-4, 1e-3)  # m, and rad of each half-angle
STRIDES = (1, 2, 4, 8, 16)
SEEDS = range(2)


def scenario(noise: float) -> testbed.Scenario:
    """The main body of Ekal & Ventura 2020 at their 20 Hz, one estimator a stride."""
    sensors = {"wrench": {"noise": "white", "density": 1e-3}}
    if noise:
        sensors |= {c: {"noise": "white", "std": noise} for c in ("position", "quaternion")}
    return testbed.Scenario(
        title="Free flyer with noisy poses",
        duration=30.0,
        rate=20,
        plant={"use": "free_flyer", "truth_error": 0.1},
        prior={"error": 0.3},
        excitation={"use": "multisine", "base_hz": 0.1, "harmonics": 4, "amplitude": 0.3},
        sensors=sensors,
        regressors={f"stride{s}": {"use": "variational", "stride": s} for s in STRIDES},
        estimator=[
            {"use": "qr_sdp", "name": f"{s}", "inputs": {"eq": f"stride{s}"}} for s in STRIDES
        ],
    )


def main() -> None:
    """Print a line a noise, a column a stride: median inertia error over the seeds."""
    print("pose noise   " + "".join(f"stride {s:<6}" for s in STRIDES))
    for noise in NOISES:
        found = []
        for seed in SEEDS:
            card = testbed.run(scenario(noise), seed=seed).scorecard["estimators"]
            found.append([card[f"{s}"]["metrics"]["inertia_rel_error_final"] for s in STRIDES])
        errors = 100 * np.median(found, axis=0)
        print(f"{noise:8g}     " + "".join(f"{e:7.2f} %    " for e in errors), flush=True)


if __name__ == "__main__":
    main()
