"""Loads of the papers, by name: `attach = { load = "kubus_o1" }`.

φ = [m, h, Ixx, Iyy, Izz, Ixy, Iyz, Ixz] about the origin of the sensor's frame, kg, kg·m, kg·m².
"""

from __future__ import annotations

import numpy as np

from testbed.core.signals import Array
from testbed.inertia import box

# Kubus et al. 2008, section V.A, in our order (the paper's is m, h, xx, xy, xz, yy, yz, zz), and
# half a unit of each number's last digit.
KUBUS_O1_PRINTED = np.array(
    [1.00, -43.5e-3, 28.5e-3, 22.5e-3, 2.21e-3, 3.74e-3, 4.95e-3, 1.22e-3, -0.63e-3, 0.96e-3]
)
KUBUS_O1_HALF_DIGIT = np.array([5e-3, *3 * [0.05e-3], *6 * [5e-6]])

# The printed vector is no possible body: rounding has left its pseudo-inertia with an eigenvalue
# of −6.65e-6 kg·m². This one rounds to the same digits and has +3.4e-6. It comes
# from an SDP, solved once: the largest smallest eigenvalue within 80 % of the rounding box, then
# cut to the digits here.
_O1 = np.array(
    [1.004, -0.04346, 0.02846, 0.02246, 2.214e-3, 3.744e-3, 4.946e-3, 1.22e-3, -0.629e-3, 0.96e-3]
)

# "o2 consists of two identical blocks that may be stacked or used separately", of steel, test
# loads "ranging from 1 kg to 1.6 kg" (section V.A and Fig. 5). No more is printed. Assumed: the
# stack is the heaviest load, so a block weighs 0.8 kg, and at 7850 kg/m³ it measures 63.7 × 40 ×
# 40 mm; blocks stand centred on the sensor's face, one upon the other along z.
_BLOCK_MASS, _BLOCK = 0.8, np.array([63.7e-3, 40e-3, 40e-3])
_STACK = _BLOCK * (1.0, 1.0, 2.0)

KNOWN_LOADS: dict[str, Array] = {
    "kubus_o1": _O1,
    "kubus_o2": box(_BLOCK_MASS, _BLOCK, com=np.array([0.0, 0.0, _BLOCK[2] / 2])),
    "kubus_o2_stacked": box(2 * _BLOCK_MASS, _STACK, com=np.array([0.0, 0.0, _STACK[2] / 2])),
}
for _phi in KNOWN_LOADS.values():
    _phi.flags.writeable = False
