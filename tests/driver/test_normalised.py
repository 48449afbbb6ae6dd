"""Normalised workloads end to end: what is optimised is the scaled queries, what is predicted the queries."""

import numpy as np
import pytest
from tolerances import GAP, RECOMPUTED

from mmopt import Attribute, Domain, Solution, Workload, solve, verify
from mmopt.driver.templates import templates
from mmopt.workloads import Factor, Product
from mmopt.workloads.blocks import factor_blocks as f

# Each with the reduction that it is for.
WORKLOADS: dict[str, tuple[tuple[Factor, ...], ...]] = {
    "Kronecker product": ((f.prefix(4), f.all_range(3), f.haar(2)),),
    "value symmetry": ((f.hierarchy(4), f.total(5)), (f.total(4), f.union(f.identity(5), f.total(5)))),
    "reflection": ((f.all_range(5), f.identity(2)), (f.identity(5), f.total(2))),
    "merge cells": (
        (f.predicates(np.repeat(np.tri(3), 2, axis=1)), f.prefix(3)),
        (f.predicates([[1, 1, 0, 0, 0, 0.0]]), f.total(3)),
    ),
}


def normalised(name: str, target: float = np.inf) -> Workload:
    products = WORKLOADS[name]
    sizes = [factor.size for factor in products[0]]
    domain = Domain(tuple(Attribute(f"a{i}", tuple(map(str, range(n)))) for i, n in enumerate(sizes)))
    asked = [Product(factors, weight=1.0 + i, target=target) for i, factors in enumerate(products)]
    return Workload.from_products(domain, asked).normalised()


def scaled(w: Workload) -> Workload:
    return Workload.from_matrix(np.sqrt(w.weights)[:, None] * w.queries)


def between(s: Solution, other: Solution) -> bool:
    return s.bound <= other.objective * (1 + RECOMPUTED) and other.bound <= s.objective * (1 + RECOMPUTED)


def test_every_reduction_is_exact(subtests: pytest.Subtests) -> None:
    for name in WORKLOADS:
        with subtests.test(name):
            w = normalised(name)
            s = solve(w, "l2_strategy")
            assert any(name in line for line in s.reductions), s.reductions
            assert s.gap <= GAP
            assert between(s, solve(scaled(w), "l2_strategy", reduce=False))
            variances = s.strategy.variances(w)
            assert s.rmse == pytest.approx(s.strategy.sensitivity * np.sqrt(variances.mean()), rel=RECOMPUTED)
            assert s.objective == pytest.approx(
                s.strategy.sensitivity**2 * float(w.weights @ variances), rel=GAP
            )
            assert verify(s, w).holds


def test_other_programs_of_total_error_see_the_weights(subtests: pytest.Subtests) -> None:
    for program in ["eigen_design", "l2_strategy_lmi", "singular_value_bound"]:
        with subtests.test(program):
            w = normalised("reflection")
            s, other = solve(w, program), solve(scaled(w), program)
            assert s.objective == pytest.approx(other.objective, rel=GAP)


def test_targets_are_of_the_queries_as_they_are() -> None:
    w = normalised("value symmetry", target=2.0)
    s, other = solve(w, "fitness_for_use"), solve(w.unweighted, "fitness_for_use")
    assert between(s, other)


@pytest.mark.some(1)
@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("name", WORKLOADS)
def test_templates(name: str, norm: int) -> None:
    w = normalised(name)
    found = templates(w, norm, seed=1)
    for c in found.candidates:
        variances = c.strategy.sensitivity**2 * c.strategy.variances(w)
        assert c.error == pytest.approx(float(w.weights @ variances), rel=RECOMPUTED)
        assert c.rmse == pytest.approx(np.sqrt(variances.mean()), rel=RECOMPUTED)
        assert c.error >= found.bound * (1 - RECOMPUTED)
