"""Algorithm 2: its loop, word for word, against the classes that stand for it."""

import numpy as np
from examples.scripts import scripts

disjoint_blocks = scripts("orthogonal").cell_blocks.disjoint_blocks


def algorithm_2(selected: np.ndarray) -> list[list[int]]:
    """Lines 2 to 11 and 20 to 22: the cells of each round, the first of several equal counts taken."""
    left = set(range(selected.shape[1]))
    domains = [set(np.flatnonzero(row).tolist()) for row in selected]
    found = []
    while left:
        count = {x: sum(x in d for d in domains) for x in sorted(left)}
        most = max(count, key=lambda x: count[x])
        if count[most] == 0:  # cells that no query uses, where the paper's loop has nothing to intersect
            break
        common = set.intersection(*(d for d in domains if most in d))
        found.append(sorted(common))
        domains = [d - common for d in domains]
        left -= common
    return found


def test_the_loop_finds_the_classes_of_cells_by_the_queries_that_use_them(rng: np.random.Generator) -> None:
    for _ in range(100):
        r, n = rng.integers(1, 6), rng.integers(1, 12)
        selected = rng.integers(-2, 3, size=(r, n)) * (rng.random((r, n)) < 0.6)
        blocks = disjoint_blocks(selected.astype(float))
        assert [block.cells.tolist() for block in blocks] == algorithm_2(selected)


def test_new_queries_are_independent_restrictions_with_largest_entry_1(rng: np.random.Generator) -> None:
    for _ in range(30):
        selected = rng.integers(-2, 3, size=(4, 9)).astype(float) * (rng.random((4, 1)) < 0.8)
        for block in disjoint_blocks(selected):
            inside = selected[:, block.cells]
            count = len(block.queries)
            assert np.linalg.matrix_rank(inside) == np.linalg.matrix_rank(block.queries) == count
            assert np.abs(block.queries).max(axis=1).tolist() == [1.0] * count
            assert (block.queries[np.arange(count), block.leads] == 1.0).all()
            assert all(any((row == other).all() for other in inside) for row in block.unscaled)
