"""The orthogonal mechanism: new queries over disjoint sets of cells, and those asked put together from them.

Huang, Han, Li, Yu: Orthogonal mechanism for answering batch queries with differential privacy, CIKM 2013,
Algorithms 1-3. Nothing is optimised. ``rows`` chooses independent queries, ``blocks`` cuts the cells into the
disjoint sets, ``coefficients`` writes every query in the new ones, ``mechanism`` is the result and its error,
``least_squares`` an improvement of ours. How the paper is read where it leaves room stands in
``programs/ERRATA.md``.
"""

from mmopt.strategies.orthogonal.blocks import Block, disjoint_blocks
from mmopt.strategies.orthogonal.coefficients import Inexact, coefficients
from mmopt.strategies.orthogonal.least_squares import orthogonal_least_squares
from mmopt.strategies.orthogonal.mechanism import OrthogonalMechanism, orthogonal
from mmopt.strategies.orthogonal.rows import first_independent

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
