"""Designs for targets get better and are what they say; derivatives by shares are those of t.

Guards sectors/row_space_cells_and_targets.py, error_bounds_of_measures.py, design_search.py.
"""

import numpy as np
import pytest
from dense_row_space import ways
from tolerances import SHAPE

from mmopt.sectors.design_search import target_designs
from mmopt.sectors.error_bounds_of_measures import (
    QueryShares,
    columns_of,
    columns_of_cells,
    integrals_and_curvature,
    spectrum,
)
from mmopt.sectors.functions_of_few import Mixture
from mmopt.sectors.row_space import RowSpace, row_space_of
from mmopt.sectors.row_space_cells_and_targets import RowSpaceCells, as_targets, sources_with_targets
from mmopt.workloads import Workload
from tests.sectors.test_design_search import CURVATURE, good_design

STEP = 1e-5


def asked_of(workload: Workload, beside: float = 0.0) -> tuple[RowSpace, QueryShares]:
    space = row_space_of(as_targets(workload))
    found = sources_with_targets(space, RowSpaceCells.of(space, workload), workload)
    assert not isinstance(found, str)
    queries, targets = found["workload.representation"], found["workload.targets"].values
    return space, QueryShares(queries.parts, queries.rows.labels, queries.rows.sizes, targets, beside)


@pytest.mark.some(1)
@pytest.mark.parametrize("sizes", [(4, 4, 4, 4), (2, 3, 4)], ids=["alike", "different"])
@pytest.mark.parametrize("beside", [0.0, 0.1])
def test_designs_get_better_and_say_what_they_are(sizes: tuple[int, ...], beside: float) -> None:
    space, asked = asked_of(ways(sizes, target=2.0), beside)
    design = good_design(space, target_designs(space, asked))
    assert design.shares is not None
    assert design.shares.sum() == pytest.approx(1.0)
    weighing = asked.weighing(space, design.shares)
    assert spectrum(weighing, space.moments(design.measure)).bound == pytest.approx(design.bound, rel=SHAPE)
    # The largest variance next to its target at this strategy, with all the others' besides.
    variances = np.zeros(len(asked.sizes))
    for rows, orbit, part, often in zip(
        asked.rows, asked.orbits, design.parts, space.space.multiplicities, strict=True
    ):
        own = np.einsum("ra,ab,rb->r", rows, np.linalg.inv(part), rows)
        np.add.at(variances, orbit, often / asked.sizes[orbit] * own)
    worst = (variances / asked.targets).max() + beside * (asked.sizes @ variances)
    assert worst == pytest.approx(design.total, rel=1e-6)


def test_derivatives_by_shares_are_those_of_t(rng: np.random.Generator) -> None:
    sizes = (3,) * 4 if rng.random() < 0.5 else (2, 3, 4)
    space, asked = asked_of(ways(sizes, target=1.5), float(rng.choice([0.0, 0.2])))
    factors = tuple(rng.dirichlet(3 * np.ones(o), size=2) for o in space.shape)
    cells = np.stack([rng.integers(o, size=3) for o in space.shape], axis=1)
    columns = columns_of(space, Mixture(np.ones(2), factors)).joined(columns_of_cells(space, cells))
    place = np.concatenate([[1.0, 1.0], np.full(3, 0.1), rng.uniform(0.5, 2.0, len(asked.sizes))])

    def at(place: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        found = spectrum(asked.weighing(space, place[5:]), columns.moments(place[:5]))
        often = space.space.multiplicities.tolist()
        slopes, curvature = integrals_and_curvature(columns, found, often, asked)
        assert slopes[5:] == pytest.approx(asked.slopes(found, often), rel=1e-9)
        return found.total, found.total / 2.0 * slopes, curvature

    _, slopes, curvature = at(place)
    assert curvature @ place == pytest.approx(np.zeros(len(place)), abs=CURVATURE * np.abs(curvature).max())
    for j in rng.choice(len(place), size=4, replace=False):
        above, below = (at(place + sign * STEP * np.eye(len(place))[j]) for sign in (1.0, -1.0))
        assert slopes[j] == pytest.approx((above[0] - below[0]) / (2 * STEP), rel=1e-4)
        expected = (above[1] - below[1]) / (2 * STEP)
        assert curvature[j] == pytest.approx(expected, abs=CURVATURE * np.abs(expected).max())
