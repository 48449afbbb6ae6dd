"""From the parts of a strategy on a row space, as a program has them, to what is measured.

A program knows A = C B by the parts C_κ of its components. A ``SectorStrategy`` has C as one matrix on the
functions of a layout, or by the same components where attributes can be swapped.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mmopt.errors import UnsuitableError
from mmopt.numerics.arrays import EPS, Array
from mmopt.numerics.balls import gamma
from mmopt.numerics.outward import root_up
from mmopt.numerics.split_arrays import Split
from mmopt.sectors.equal_attributes import EqualAttributes
from mmopt.sectors.equal_operators import EqualOperator
from mmopt.sectors.plain_space import PlainSpace
from mmopt.sectors.sector_cells import SectorCells
from mmopt.sectors.sector_layout import SectorLayout, sets_of
from mmopt.sectors.sector_operators import DenseOperator, Operator
from mmopt.strategies.sector_strategy import SectorStrategy

__all__ = ["strategy_on"]


def strategy_on(factor: Split) -> SectorStrategy:
    """The strategy with the matrix ``factor``, from any rows to ``SectorCells``; its largest column is proved.

    Raises
    ------
    UnsuitableError : a row space with values that can be swapped, or of another kind.
    """
    cells = factor.columns
    assert isinstance(cells, SectorCells)
    match cells.rows:
        case EqualAttributes() as rows if rows.coordinates.order == 2:
            layout, core = _equal(rows, factor.parts)
        case PlainSpace(components=(component,)) as rows if not component.rests:
            layout, core = _plain(rows, factor.parts[0])
        case _:
            raise UnsuitableError(
                "no strategy is made of attributes of which values can be swapped and others not",
                hint="ask for ranges or prefixes of every attribute",
            )
    # ‖C b‖² is the profile of CᵀC, which is rounded by γ |C|ᵀ |C|.
    grams = [part.T @ part for part in factor.parts]
    size = max(float(np.linalg.norm(part)) ** 2 for part in factor.parts)
    square = cells.largest_entry(grams) + gamma(cells.largest + 2) * size * cells.longest
    return SectorStrategy(layout, core, float(root_up(square * (1 + 2 * EPS))))


def _plain(rows: PlainSpace, matrix: Array) -> tuple[SectorLayout, Operator]:
    """One component without rests: its functions are those of the layout, in another order."""
    (component,) = rows.components
    sets = sets_of(component.sectors)
    functions = tuple(np.ascontiguousarray(own[:, 1:].T) for own in rows.functions)
    layout = SectorLayout(tuple(basis.symmetry.orbit_of for basis in rows.bases), functions, sets)
    order = np.concatenate([np.arange(len(matrix))[component.places[one]] for one in sets])
    return layout, DenseOperator(matrix[np.ix_(order, order)])


def _equal(rows: EqualAttributes, parts: Sequence[Array]) -> tuple[SectorLayout, Operator]:
    """The same four components; those that few attributes lack are filled up, and have no effect."""
    k, d = len(rows.shape), rows.shape[0]
    c = d - 1
    s, t = c * (c + 1) // 2, c * (c - 1) // 2
    found = {own.name: part for own, part in zip(rows.coordinates.components, parts, strict=True)}
    standard = found["standard"]
    if k == 2:  # without the symmetric part, between the two others
        whole, at = np.eye(c + s + t), np.r_[0:c, c + s : c + s + t]
        whole[np.ix_(at, at)] = standard
        standard = whole
    core = EqualOperator(
        k,
        (found["trivial"], standard, found.get("(k-2, 2)", np.eye(s)), found.get("(k-2, 1, 1)", np.eye(t))),
    )
    labels, functions = np.arange(d), rows.coordinates.contrasts
    sets = sets_of([(i, j) for j in range(k) for i in range(j)])
    return SectorLayout((labels,) * k, (functions,) * k, sets), core
