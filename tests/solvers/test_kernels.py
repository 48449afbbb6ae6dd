"""What a kernel is given of an instance."""

import numpy as np
import pytest
from tolerances import GAP_INTERIOR, ROUNDING

from mmopt import Program, Workload, solve
from mmopt.compiler import bind
from mmopt.solvers import claims
from mmopt.solvers.nuclear import QUERIES


def of_rank(rng: np.random.Generator, rank: int) -> Workload:
    rows = rng.integers(-2, 3, (12, rank)) @ rng.integers(0, 2, (rank, 7)).astype(float)
    return Workload.from_matrix(rows[rows.any(axis=1)], rng.uniform(1.0, 5.0, int(rows.any(axis=1).sum())))


def test_queries_stand_for_their_representation_in_the_basis(rng: np.random.Generator) -> None:
    w = of_rank(rng, 5)
    (claim,) = claims(bind(Program.load("fitness_for_use"), w))
    found = claim.givens(bind(Program.load("fitness_for_use"), w))
    assert found[QUERIES] is w.queries
    np.testing.assert_allclose(w.queries, found["L"] @ found["B"], atol=ROUNDING * np.abs(w.queries).max())


def test_but_not_for_what_the_caller_passed(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for rank in [3, 5]:
        with subtests.test(rank=rank):
            w = of_rank(rng, rank)
            own = {"L": 2.0 * w.representation, "B": w.basis}
            instance = bind(Program.load("fitness_for_use"), w, own)
            (claim,) = claims(instance)
            assert QUERIES not in claim.givens(instance)
            one, other = solve(w, "fitness_for_use"), solve(w, "fitness_for_use", givens=own)
            assert other.objective == pytest.approx(4.0 * one.objective, rel=2 * GAP_INTERIOR)


def test_nor_where_some_queries_have_no_target(rng: np.random.Generator) -> None:
    w = of_rank(rng, 5)
    loose = Workload.from_matrix(np.vstack([w.queries, w.queries[:1]]), np.append(w.targets, np.inf))
    instance = bind(Program.load("fitness_for_use"), loose)
    (claim,) = claims(instance)
    assert QUERIES not in claim.givens(instance)
