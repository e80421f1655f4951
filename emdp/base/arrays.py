"""Types of numpy's arrays that most rooms use."""

import numpy as np
import numpy.typing as npt

__all__ = ["Floats", "Integers"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
