"""A bound on a diagonal's largest entry serves its near multiples, and stays proved.

Guards row_space_cells_and_targets.py and residual_strategies.py.
"""

import numpy as np
import pytest
from dense_row_space import dense_sectors, few_of_many, swapped

from mmopt.sectors.row_space import row_space_of
from mmopt.sectors.row_space_cells_and_targets import RowSpaceCells


@pytest.mark.quick
def test_a_near_multiple_has_no_larger_entry_than_is_said(rng: np.random.Generator) -> None:
    for _ in range(4):
        workload = few_of_many(rng)
        rows = dense_sectors(workload)
        cells = RowSpaceCells.of(rows, workload)
        half = rng.normal(size=(len(rows.basis),) * 2)
        gram = half @ half.T + len(half) * np.eye(len(half))
        upper = cells.largest_entry([gram])
        # Twice as much, and a little more where it is largest: above the multiple that is nearest.
        longest = rows.basis[:, int(rows.profile([gram]).argmax())]
        more = np.outer(longest, longest)
        near = 2.0 * gram + 1e-10 * upper / (cells.longest * np.linalg.norm(more)) * more
        known = len(cells._proved)
        said = cells.largest_entry([near])
        assert len(cells._proved) == known  # nothing was searched
        assert rows.profile([near]).max() <= said <= (1 + 1e-8) * rows.profile([near]).max()


@pytest.mark.quick
def test_a_multiple_that_is_off_in_one_component_has_no_larger_entry() -> None:
    workload = swapped()
    rows = row_space_of(workload)
    orbits = np.array(list(np.ndindex(*rows.shape)))
    cells = RowSpaceCells.of(rows, workload)
    for at in range(rows.space.count):
        parts = [np.eye(d) for d in rows.space.dims]
        upper = cells.largest_entry(parts)
        parts[at] = parts[at] * (1 + 1e-10)
        said = cells.largest_entry(parts)
        assert rows.profile(parts)(orbits).max() <= said <= (1 + 1e-8) * upper
