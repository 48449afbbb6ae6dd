"""From the parts of a strategy on a row space, as a program has them, to what is measured.

A program knows A = C B by the parts C_κ of its components. A ``SectorStrategy`` has C as a matrix on the
functions of a layout for each choice of rests, or by the same components where attributes can be swapped.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from mmopt.errors import UnsuitableError
from mmopt.numerics.arrays import EPS, Array
from mmopt.numerics.balls import gamma
from mmopt.numerics.outward import root_up
from mmopt.numerics.split_arrays import Split
from mmopt.sectors.equal_attributes import EqualAttributes
from mmopt.sectors.equal_operators import EqualOperator
from mmopt.sectors.functions_of_few import Component
from mmopt.sectors.plain_space import PlainSpace
from mmopt.sectors.rest_components import RestComponent
from mmopt.sectors.sector_cells import SectorCells
from mmopt.sectors.sector_layout import SectorLayout, sets_of
from mmopt.sectors.sector_operators import DenseOperator, Operator
from mmopt.strategies.sector_strategy import SectorStrategy

__all__ = ["strategy_on"]


def strategy_on(factor: Split) -> SectorStrategy:
    """The strategy with the matrix ``factor``, from any rows to ``SectorCells``, its largest column proved.

    Raises
    ------
    UnsuitableError : a row space of another kind.
    """
    cells = factor.columns
    assert isinstance(cells, SectorCells)
    # ‖C b‖² is the profile of CᵀC, which is rounded by γ |C|ᵀ |C|.
    grams = [part.T @ part for part in factor.parts]
    size = max(float(np.linalg.norm(part)) ** 2 for part in factor.parts)
    square = cells.largest_entry(grams) + gamma(cells.largest + 2) * size * cells.longest
    largest = float(root_up(square * (1 + 2 * EPS)))
    match cells.rows:
        case EqualAttributes() as rows if rows.coordinates.order == 2:
            return SectorStrategy(*_equal(rows, factor.parts), largest)
        case PlainSpace() as rows:
            pairs = zip(rows.components, factor.parts, strict=True)
            (first, *rest) = (_on_rests(rows, component, part) for component, part in pairs)
            return SectorStrategy(first.layout, first.core, largest, rests=tuple(rest))
    raise UnsuitableError(f"no strategy is made of the row space {type(cells.rows).__name__}")


def _on_rests(rows: PlainSpace, component: Component, matrix: Array) -> RestComponent:
    """The functions of a component are those of a layout, in another order.

    The orthonormal functions of a rest have the Gram matrix d (I - 1/s) over its values, d all values of the
    attribute; the frame that is measured has I - 1/s.
    """
    sets = sets_of(component.sectors)
    functions = tuple(np.ascontiguousarray(own[:, 1:].T) for own in rows.functions)
    layout = SectorLayout(tuple(basis.symmetry.orbit_of for basis in rows.bases), functions, sets)
    order = np.concatenate([np.arange(len(matrix))[component.places[one]] for one in sets])
    scale = math.prod(math.sqrt(rows.bases[i].size) for i, _ in component.rests)
    return RestComponent(component.rests, layout, DenseOperator(scale * matrix[np.ix_(order, order)]))


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
    others = found.get("(k-2, 2)", np.eye(s)), found.get("(k-2, 1, 1)", np.eye(t))
    core = EqualOperator(k, (found["trivial"], standard, *others))
    labels, functions = np.arange(d), rows.coordinates.contrasts
    sets = sets_of([(i, j) for j in range(k) for i in range(j)])
    return SectorLayout((labels,) * k, (functions,) * k, sets), core
