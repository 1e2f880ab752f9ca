"""Which sensor limits the payload estimate: each channel's noise times ten, over ten seeds.

python scenarios/noise_study.py
"""

import copy

import numpy as np

import testbed

STD = {
    "wrench": [0.2, 0.2, 0.2, 0.02, 0.02, 0.02],
    "accel": 0.05,
    "gyro": 0.005,
    "angacc": 0.5,
}
SEEDS = range(10)
TABLES = {
    "title": "Arm carries an unknown payload",
    "duration": 2.0,
    "rate": 250,
    "plant": {"use": "staubli_arm", "truth_error": 0.5},
    "prior": {"error": 0.3},
    "excitation": {"use": "fourier", "base_hz": 0.5, "amplitude": 0.5, "lead_in": 0.5},
    "sensors": {channel: {"noise": "white", "std": std} for channel, std in STD.items()},
    "estimator": [{"use": "rls"}],
}


def errors(noisy: str | None) -> np.ndarray:
    """Inertia error over the seeds, with one channel ten times as noisy."""
    tables = copy.deepcopy(TABLES)
    if noisy is not None:
        tables["sensors"][noisy]["std"] = (10.0 * np.array(STD[noisy])).tolist()
    scenario = testbed.Scenario(**tables)
    runs = (testbed.run(scenario, seed=seed).scorecard for seed in SEEDS)
    return np.array([r["estimators"]["rls"]["metrics"]["inertia_rel_error_final"] for r in runs])


def main() -> None:
    """Print the median over the seeds for each case."""
    usual = np.median(errors(None))
    print(f"{'as declared':>14}: inertia error {100 * usual:5.1f} %")
    for channel in STD:
        worse = np.median(errors(channel))
        print(
            f"{channel + ' × 10':>14}: inertia error {100 * worse:5.1f} %  ({worse / usual:.1f} ×)"
        )


if __name__ == "__main__":
    main()
