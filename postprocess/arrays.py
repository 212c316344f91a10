"""One set of names for the types of arrays; docstrings say the shapes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Image = NDArray[np.uint8]
"""``(height, width, 3)`` uint8 in BGR order, as OpenCV and Paddle have it."""
Gray = NDArray[np.uint8]
"""``(height, width)`` uint8."""
