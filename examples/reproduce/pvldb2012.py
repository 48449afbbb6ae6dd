"""An adaptive mechanism for accurate query answering under differential privacy (Li, Miklau)."""

from __future__ import annotations

import pvldb2012_bounds
import pvldb2012_design
import pvldb2012_experiments
import pvldb2012_mechanism
from item import Source

__all__ = ["SOURCE"]

SOURCE = Source(
    "pvldb2012",
    "Li, Miklau: Adaptive mechanism (PVLDB 2012)",
    (
        *pvldb2012_mechanism.ITEMS,
        *pvldb2012_design.ITEMS,
        *pvldb2012_bounds.ITEMS,
        *pvldb2012_experiments.ITEMS,
    ),
)
