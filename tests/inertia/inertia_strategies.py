"""Random possible bodies, frames and units for the laws, and how to compare bodies fairly."""

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from testbed.inertia import body_parameters, natural_basis

laws = settings(derandomize=True, deadline=None, max_examples=60)


def between(low, high):
    return st.floats(low, high, allow_nan=False, allow_subnormal=False)


def vectors(size, bound):
    return st.lists(between(-bound, bound), min_size=size, max_size=size).map(np.array)


def log_uniform(low, high):
    return between(np.log(low), np.log(high)).map(np.exp).map(float)


rotations = vectors(3, 2.0).map(lambda beta: Rotation.from_rotvec(beta).as_matrix())
frames = st.tuples(rotations, vectors(3, 0.5))
units = st.tuples(log_uniform(1e-3, 1e3), log_uniform(1e-3, 1e3))
log_cholesky_vectors = vectors(10, 1.5)


def body(mass, com, radii, R):
    """A body with given radii of gyration along the columns of R."""
    second = mass * (R * radii**2) @ R.T
    return body_parameters(mass, com, np.trace(second) * np.eye(3) - second)


bodies = st.builds(
    body,
    log_uniform(1e-2, 1e2),
    vectors(3, 0.5),
    st.lists(log_uniform(0.05, 0.5), min_size=3, max_size=3).map(np.array),
    rotations,
)


def random_bodies(n, seed=0):
    """n seeded bodies, (n, 10)."""
    rng = np.random.default_rng(seed)
    turns = Rotation.random(n, rng=rng).as_matrix()
    draws = zip(rng.uniform(-2, 2, n), rng.uniform(-0.5, 0.5, (n, 3)), turns, strict=True)
    return np.array(
        [body(10**m, c, 10 ** rng.uniform(-1.3, -0.3, 3), R) for m, c, R in draws],
    )


def natural_error(phi, reference):
    """Norm of the difference in natural coordinates of the reference: relative, frame-free."""
    B = natural_basis(reference)
    return np.linalg.norm(np.linalg.solve(B, (phi - reference)[..., np.newaxis]), axis=(-2, -1))


def derivative(f, x, h=1e-3):
    """Jacobian of f at x (n,), sixth-order central differences; last axis is x's."""
    columns = []
    for e in np.eye(x.size):
        s = [f(x + k * h * e) - f(x - k * h * e) for k in (1, 2, 3)]
        columns.append((45 * s[0] - 9 * s[1] + s[2]) / (60 * h))
    return np.stack(columns, axis=-1)
