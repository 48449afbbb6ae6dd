"""The orthogonal mechanism: new queries over disjoint sets of cells.

Of the queries those are kept that are no combination of earlier ones. Cells that the same ones of these use
are a set; the new queries are their parts within each set, independent ones, scaled to a largest entry of 1.
"""

import numpy as np

from mmopt.numerics import Array, Ints
from mmopt.strategies.baselines.attribute_baselines import BaselineDesign
from mmopt.workloads import Dense, Workload
from mmopt.workloads.blocks.query_matrices import column_classes

DEPENDENT = 1e-10  # part of a row outside the span of those before it, relatively, that counts as nothing
MOST_COMPARED_ENTRIES = 2**20  # of the queries, which are compared one by one


def why_not_orthogonal(workload: Workload) -> str | None:
    """The reason against workloads with too many queries."""
    if workload.m * workload.n <= MOST_COMPARED_ENTRIES:
        return None
    return (
        f"it compares the queries one by one, at most {MOST_COMPARED_ENTRIES:,} entries, "
        f"and these have {workload.m * workload.n:,}"
    )


def orthogonal(workload: Workload, norm: int) -> BaselineDesign:
    """New queries over disjoint sets of cells (Huang, Han, Li, Yu: CIKM 2013, Algorithms 1 and 2).

    The paper's random choice of independent queries is here that of the first ones.
    """
    queries = workload.queries
    sets = cell_sets(chosen := queries[first_independent(queries)])
    rows = []
    for users, cells in sets:
        inside = chosen[np.ix_(users, cells)]
        inside = inside[first_independent(inside)]
        new = np.zeros((len(inside), workload.n))
        new[:, cells] = inside / inside[np.arange(len(inside)), np.abs(inside).argmax(axis=1)][:, None]
        rows.append(new)
    return BaselineDesign(Dense(np.vstack(rows)), f"{len(sets)} sets of cells")


def first_independent(matrix: Array) -> Ints:
    """Positions of the rows of a matrix (m, n) that are no combination of the rows before them, in order."""
    basis, chosen = np.zeros((0, matrix.shape[1])), []
    for position, row in enumerate(matrix):
        rest = row / (np.linalg.norm(row) or 1.0)
        for _ in range(2):  # twice is enough
            rest = rest - (basis @ rest) @ basis
        left = np.linalg.norm(rest)
        if left > DEPENDENT and len(basis) < matrix.shape[1]:
            basis = np.vstack([basis, rest / left])
            chosen.append(position)
    return np.array(chosen, dtype=np.int64)


def cell_sets(queries: Array) -> list[tuple[Ints, Ints]]:
    """The sets of cells that the same queries (r, n) use: these queries and the cells; most queries first.

    Cells that none uses are in no set.
    """
    used = queries != 0
    classes = column_classes(used.astype(np.float64))
    sets = [np.flatnonzero(classes == label) for label in range(classes.max(initial=-1) + 1)]
    sets.sort(key=lambda cells: (-int(used[:, cells[0]].sum()), int(cells[0])))
    return [(np.flatnonzero(used[:, cells[0]]), cells) for cells in sets]
