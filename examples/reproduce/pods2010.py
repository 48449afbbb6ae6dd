"""Optimizing linear counting queries under differential privacy (Li, Hay, Rastogi, Miklau, McGregor)."""

from __future__ import annotations

import pods2010_approximations
import pods2010_error
import pods2010_mechanism
import pods2010_optimisation
import pods2010_trees
from item import Source

__all__ = ["SOURCE"]

SOURCE = Source(
    "pods2010",
    "Li, Hay, Rastogi, Miklau, McGregor: Matrix mechanism (PODS 2010)",
    (
        *pods2010_mechanism.ITEMS,
        *pods2010_error.ITEMS,
        *pods2010_optimisation.ITEMS,
        *pods2010_approximations.ITEMS,
        *pods2010_trees.ITEMS,
    ),
    "Our text of this paper has lost its formulas. Those here are what its words and proofs say, and later "
    "papers; a number on the paper's side is that of the formula, or of the text where it has one.",
)
