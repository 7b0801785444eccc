"""Types of arrays by what they hold, for annotations."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
FloatRows: TypeAlias = NDArray[np.float64]
FloatCube: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
IntRows: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]
