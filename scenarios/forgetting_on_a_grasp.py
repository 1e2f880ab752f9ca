"""How fast to forget: one grasp, five time constants, and what each costs in noise.

python scenarios/forgetting_on_a_grasp.py
"""

import numpy as np

import testbed

TAUS = (0.05, 0.1, 0.3, 1.0, 3.0)  # s

scenario = testbed.Scenario(
    title="Arm picks up 1.2 kg at t = 2 s",
    duration=4.0,
    rate=500,
    plant={"use": "staubli_arm", "truth_error": 0.2},
    prior={"error": 0.3},
    excitation={"use": "fourier", "base_hz": 0.4, "amplitude": 0.5},
    sensors={
        "wrench": {"std": [0.2, 0.2, 0.2, 0.02, 0.02, 0.02]},
        "accel": {"std": 0.05},
        "gyro": {"std": 0.005},
        "angacc": {"std": 0.5},
    },
    change=[
        {
            "at": 2.0,
            "body": "payload",
            "attach": {"mass": 1.2, "com": [0.05, 0.0, 0.12], "box": [0.1, 0.1, 0.1]},
        }
    ],
    estimator=[
        {"use": "rls", "name": f"{tau:g} s", "forgetting": {"use": "exponential", "tau": tau}}
        for tau in TAUS
    ],
)


def main() -> None:
    """Run it and print a line a time constant."""
    result = testbed.run(scenario, seed=1)
    print("time constant   mass within 5 % after   spread of the mass at the end")
    for tau in TAUS:
        history = result.history(f"{tau:g} s")
        after = history.t > 2.0
        error = np.abs(history.theta[after, 0] / history.truth[after, 0] - 1.0)
        late = np.flatnonzero(error > 0.05)
        settled = (late[-1] + 1) / 500 if late.size and late[-1] + 1 < error.size else None
        shown = "never" if settled is None else f"{settled:.2f} s"
        spread = np.std(history.theta[history.t > 3.5, 0])
        print(f"{tau:9g} s {shown:>20} {1e3 * spread:20.1f} g")


if __name__ == "__main__":
    main()
