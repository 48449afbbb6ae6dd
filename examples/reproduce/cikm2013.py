"""Orthogonal mechanism for answering batch queries with differential privacy (Huang, Han, Li, Yu)."""

from __future__ import annotations

import cikm2013_figures
import cikm2013_mechanism
import cikm2013_privacy
from item import Source

__all__ = ["SOURCE"]

SOURCE = Source(
    "cikm2013",
    "Huang, Han, Li, Yu: Orthogonal mechanism (CIKM 2013)",
    (*cikm2013_privacy.ITEMS, *cikm2013_mechanism.ITEMS, *cikm2013_figures.ITEMS),
)
