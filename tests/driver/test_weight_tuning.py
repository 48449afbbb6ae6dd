"""Tuning: what a part of a workload gains when it counts for more.

Guards solve_and_tune.py.
"""

import itertools

import numpy as np
import pytest
import tolerances

from mmopt import Strategy, Workload, solve, tune
from mmopt.driver.solve_and_tune import EVERYTHING, REST, tuned_parts
from mmopt.errors import OptionError
from mmopt.workloads import Attribute, Domain, Product, factors_and_products as f
from mmopt.workloads.workload import only, weighted


def random_parts(rng: np.random.Generator) -> Workload:
    """A few products, of which some are in 'mine' and the others not."""
    sizes = [int(s) for s in rng.integers(2, 5, 2)]
    blocks = (f.identity, f.total, f.prefix, f.all_range)
    domain = Domain(tuple(Attribute(f"a{i}", tuple(map(str, range(s)))) for i, s in enumerate(sizes)))
    names = ["mine", None, *rng.choice(["mine", "other"], 3).tolist()]
    products = [
        Product(
            tuple(blocks[rng.integers(4)](s) for s in sizes), subworkload=name, weight=rng.uniform(0.5, 2)
        )
        for name in names
    ]
    return Workload.from_products(domain, products)


def test_more_weight_is_less_error_there_and_more_elsewhere(rng: np.random.Generator) -> None:
    """Along minimizers of c e + r, e falls and r grows with c; neither is below its least alone."""
    for _ in range(2):
        workload = random_parts(rng).unweighted
        alone, rest_alone, *rows = tune(workload, "mine", (0.1, 1.0, 10.0, 100.0), tolerance=1e-9)
        assert (alone.optimised, rest_alone.optimised) == ("mine alone", "the rest alone")
        assert [row.optimised for row in rows] == ["mine × 0.1", "everything", "mine × 10", "mine × 100"]
        mine = [row.rmse["mine"] for row in rows]
        rest = [row.rmse[REST] for row in rows]
        near = 1.0 + 10 * np.sqrt(1e-9)  # the minimizer is known to the square root of the gap
        assert all(b <= a * near for a, b in itertools.pairwise(mine))
        assert all(b >= a / near for a, b in itertools.pairwise(rest))
        assert alone.rmse["mine"] <= min(mine) * near and rest_alone.rmse[REST] <= min(rest) * near
        for row in (alone, rest_alone, *rows):
            assert row.gap <= tolerances.GAP


def test_rows_are_ordinary_solutions(rng: np.random.Generator) -> None:
    workload = random_parts(rng)
    *_, row = tune(workload, "mine", [7.0])
    changed = weighted(workload, {"mine": 7.0})
    assert row.factor == 7.0 and isinstance(row.strategy, Strategy)
    assert row.strategy.total_error(changed) == pytest.approx(row.error, rel=tolerances.RECOMPUTED)
    assert row.error == pytest.approx(solve(changed).objective, rel=tolerances.GAP)
    parts = tuned_parts(workload, "mine")
    assert list(row.rmse) == list(parts) and {EVERYTHING, "mine", REST} <= set(parts)
    # The squared errors of the part and of the rest add up to that of everything.
    total = sum(parts[name].m * row.rmse[name] ** 2 for name in ("mine", REST))
    assert total == pytest.approx(workload.m * row.rmse[EVERYTHING] ** 2, rel=tolerances.RECOMPUTED)
    assert row.rmse["mine"] == row.strategy.rmse(only(workload, "mine"))


def test_a_part_that_is_all() -> None:
    domain = Domain((Attribute("a", ("x", "y")),))
    workload = Workload.from_products(domain, [Product((f.prefix(2),), subworkload="all of it")])
    alone, row = tune(workload, "all of it", [1.0])
    assert alone.error == pytest.approx(row.error, rel=tolerances.GAP)
    assert list(row.rmse) == [EVERYTHING, "all of it"]


def test_nothing_is_solved_before_all_is_checked() -> None:
    domain = Domain((Attribute("a", ("x", "y")),))
    workload = Workload.from_products(domain, [Product((f.prefix(2),), subworkload=REST)])
    with pytest.raises(OptionError, match=r"^the sub-workload is called 'the rest', a word of the table\n"):
        tune(workload, REST)
    with pytest.raises(OptionError, match=r"^there is no sub-workload 'mine', the workload has the rest\b"):
        tune(workload, "mine")
