"""The orthogonal mechanism: new queries over disjoint sets of cells, and those asked put together from them.

Huang, Han, Li, Yu: Orthogonal mechanism for answering batch queries with differential privacy, CIKM 2013,
Algorithms 1-3. Nothing is optimised. ``blocks`` has the algorithms, ``mechanism`` the result, its error and
an improvement of ours. How the paper is read where it leaves room stands in ``programs/ERRATA.md``.
"""

from mmopt.strategies.orthogonal.blocks import (
    Block,
    Inexact,
    coefficients,
    disjoint_blocks,
    first_independent,
)
from mmopt.strategies.orthogonal.mechanism import OrthogonalMechanism, orthogonal, orthogonal_least_squares

__all__ = [
    "Block",
    "Inexact",
    "OrthogonalMechanism",
    "coefficients",
    "disjoint_blocks",
    "first_independent",
    "orthogonal",
    "orthogonal_least_squares",
]
