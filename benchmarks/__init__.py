"""Speed claims, as ratios measured in one run. BLAS and solvers get one thread each."""

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # here, because it must be set before NumPy is imported
