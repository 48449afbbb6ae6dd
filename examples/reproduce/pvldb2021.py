"""Optimizing fitness-for-use of differentially private linear queries (Xiao, Ding, Wang, Zhang, Kifer)."""

from __future__ import annotations

import pvldb2021_algorithms
import pvldb2021_optimum
import pvldb2021_privacy
import pvldb2021_soft_maxima
import pvldb2021_tables
from item import Source

__all__ = ["SOURCE"]

SOURCE = Source(
    "pvldb2021",
    "Xiao, Ding, Wang, Zhang, Kifer: Fitness-for-use (PVLDB 2021)",
    (
        *pvldb2021_privacy.ITEMS,
        *pvldb2021_optimum.ITEMS,
        *pvldb2021_soft_maxima.ITEMS,
        *pvldb2021_algorithms.ITEMS,
        *pvldb2021_tables.ITEMS,
    ),
)
