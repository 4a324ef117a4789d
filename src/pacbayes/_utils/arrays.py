"""Types of arrays, for signatures: what they hold says more than what they are."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
#: Numbers of rows, or whole numbers about rows: classes, folds, groups.
Rows = NDArray[np.int64]
#: Numbers of classes, or of classifiers, as NumPy counts places.
Codes = NDArray[np.intp]
#: Labels as the user has them.
Labels = NDArray[Any]
