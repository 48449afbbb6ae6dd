"""Every reduction, and several together: the same objective and bound as the unreduced solve."""

import numpy as np
import pytest
import scipy.linalg
from own_texts import edited
from tolerances import GAP_INTERIOR

from mmopt import Attribute, Domain, Program, Solution, Workload, solve, verify
from mmopt.numerics.matrix_functions import Array
from mmopt.workloads import Product
from mmopt.workloads.blocks import factor_blocks as f

PROGRAMS = ("l2_strategy", "weighted_l2", "fitness_for_use")
FORMS = ("l2_strategy_lmi", "l2_strategy_block", "fitness_lmi", "fitness_budget", "fitness_penalty")


def both_ways(workload: Workload, program: str | Program, **options: object) -> Solution:
    """The reduced solve, after a comparison with the unreduced one."""
    reduced = solve(workload, program, **options)  # type: ignore[arg-type]
    plain = solve(workload, program, reduce=False, **options)  # type: ignore[arg-type]
    assert plain.reductions == ()
    assert reduced.status.stop == "gap reached"
    assert reduced.gap is not None and reduced.gap <= GAP_INTERIOR
    assert reduced.objective == pytest.approx(plain.objective, rel=2 * GAP_INTERIOR)
    assert reduced.bound == pytest.approx(plain.bound, rel=2 * GAP_INTERIOR)
    checked = verify(reduced, workload)
    assert checked.holds, str(checked)
    return reduced


def queries(rng: np.random.Generator, m: int, n: int) -> Array:
    """Connected and without equal columns: a total, prefix sums in part, real numbers."""
    return np.vstack([np.ones(n), rng.normal(size=(m - 1, n))])


def targets(rng: np.random.Generator, m: int) -> Array:
    return rng.uniform(0.5, 5.0, size=m)


def test_cells_that_no_query_tells_apart(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for program in PROGRAMS + FORMS:
        with subtests.test(program=program):
            n = int(rng.integers(3, 5))
            copies = rng.integers(0, 4, size=n)
            copies[0], copies[1] = 3, max(copies[1], 1)
            rows = np.repeat(queries(rng, n + 1, n), copies, axis=1)
            order = rng.permutation(rows.shape[1])
            workload = Workload.from_matrix(
                rows[:, order], targets(rng, n + 1), rng.uniform(0.5, 2.0, size=n + 1)
            )
            found = both_ways(workload, program)
            left = int(np.count_nonzero(copies))
            assert found.reductions == (f"merge cells: {workload.n} -> {left} cells",)


def test_cells_that_no_query_touches(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for program in PROGRAMS:
        with subtests.test(program=program):
            rows = np.insert(queries(rng, 5, 4), [0, 2, 2], 0.0, axis=1)
            found = both_ways(Workload.from_matrix(rows, targets(rng, 5)), program)
            assert found.reductions == ("merge cells: 7 -> 4 cells (3 that no query touches left out)",)


def test_prefix_sums_with_multiplicities() -> None:
    """The optimum is that of the prefix sums over 4 cells; the error of the identity is not."""
    rows = np.repeat(np.tri(4), [1, 5, 1, 2], axis=1)
    found = both_ways(Workload.from_matrix(rows), "l2_strategy")
    assert found.objective == pytest.approx(6.874144, rel=GAP_INTERIOR)
    assert found.reductions == ("merge cells: 9 -> 4 cells",)
    design = [
        solve(Workload.from_matrix(w), "query_weighting", givens={"Q": np.eye(w.shape[1])})
        for w in (rows, np.tri(4))
    ]
    assert [d.objective for d in design] == pytest.approx([23.0, 10.0], rel=GAP_INTERIOR)
    assert all(d.reductions == () for d in design)


def test_values_of_an_attribute() -> None:
    """Products stay products, so that the Kronecker product is seen afterwards."""
    group = np.array([[1.0, 1, 1, 0, 0], [0, 0, 1, 1, 0], [1, 1, 1, 1, 0]])
    domain = Domain((Attribute("a", tuple("pqrst")), Attribute("b", tuple("xyz"))))
    workload = Workload.from_products(domain, [Product((f.predicates(group), f.prefix(3)), target=2.0)])
    for program in PROGRAMS:
        found = both_ways(workload, program)
        assert found.reductions == (
            "merge cells: 15 -> 9 cells (3 that no query touches left out)",
            "Kronecker product: 9 -> 3 x 3 cells",
            "factor 'a': value symmetry: 3 cells -> 2 orbits, 2 components of size up to 2",
        )


@pytest.mark.quick
def test_queries_that_are_multiples(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for program in ["l2_strategy", "l2_strategy_lmi", "fitness_for_use", "fitness_penalty"]:
        with subtests.test(program=program):
            rows = queries(rng, 4, 4)
            factors = np.array([1.0, -2.0, 0.5, 4.0])
            several = np.vstack([rows, factors[:, None] * rows[[1, 1, 2, 0]]])
            order = rng.permutation(8)
            workload = Workload.from_matrix(several[order], targets(rng, 8), rng.uniform(0.5, 2.0, size=8))
            found = both_ways(workload, program)
            assert found.reductions == ("parallel queries: 8 -> 4 queries",)


def test_a_query_of_looser_target_says_nothing() -> None:
    """Of w and 2 w with targets c the variances are v and 4 v: the second asks for v <= c / 4."""
    rows = np.vstack([np.tri(3), 2 * np.tri(3)[1]])
    found = both_ways(Workload.from_matrix(rows, [1.0, 2.0, 3.0, 4.0]), "fitness_for_use")
    assert found.multipliers["accuracy"][1] == 0.0
    assert found.multipliers["accuracy"][3] > 0.0


def test_a_line_that_larger_targets_do_not_relax_keeps_its_queries() -> None:
    half = ("L[j, :] @ Sigma @ L[j, :].T <= c[j]", "L[j, :] @ Sigma @ L[j, :].T + c[j] <= 2 * c[j]")
    rows = np.vstack([np.tri(3), 2 * np.tri(3)[1], 2 * np.tri(3)[2]])
    workload = Workload.from_matrix(rows, [1.0, 2.0, 3.0, 9.0, 12.0])
    shipped = both_ways(workload, "fitness_for_use")
    assert shipped.reductions == ("parallel queries: 5 -> 3 queries",)
    written = both_ways(workload, edited("fitness_for_use", half, called="own"))
    assert written.reductions == ("parallel queries: 5 -> 4 queries",)  # only of the same c / t**2
    assert written.objective == pytest.approx(shipped.objective, rel=2 * GAP_INTERIOR)


def test_blocks(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for program in [*PROGRAMS, "l2_strategy_lmi", "l2_strategy_block", "fitness_budget"]:
        with subtests.test(program=program):
            rows = scipy.linalg.block_diag(*(queries(rng, size + 1, size) for size in (2, 4, 3)))
            rows = rows[rng.permutation(len(rows))][:, rng.permutation(rows.shape[1])]
            workload = Workload.from_matrix(
                rows, targets(rng, len(rows)), rng.uniform(0.5, 2.0, size=len(rows))
            )
            found = both_ways(workload, program)
            assert len(found.reductions) == 1
            assert found.reductions[0].startswith("independent blocks: 9 cells -> ")


def test_a_kronecker_product(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for program in PROGRAMS:
        with subtests.test(program=program):
            domain = Domain(
                (Attribute("a", tuple("pqr")), Attribute("b", ("only",)), Attribute("c", tuple("xyz")))
            )
            factors = (f.predicates(queries(rng, 4, 3)), f.total(1), f.prefix(3))
            weight, target = rng.uniform(0.5, 3.0, size=2)
            found = both_ways(
                Workload.from_products(domain, [Product(factors, weight=weight, target=target)]), program
            )
            assert found.reductions == ("Kronecker product: 9 -> 3 x 3 cells",)


def test_a_union_of_products_is_none() -> None:
    domain = Domain((Attribute("a", tuple("pq")), Attribute("b", tuple("xyz"))))
    products = [Product((f.identity(2), f.prefix(3))), Product((f.total(2), f.identity(3)))]
    (line,) = both_ways(Workload.from_products(domain, products), "l2_strategy").reductions
    assert line.startswith("value symmetry: 6 cells -> 3 orbits")


def test_several_reductions(subtests: pytest.Subtests) -> None:
    """A product of which one factor is blocks, with a value that no query tells from another."""
    for program in PROGRAMS:
        with subtests.test(program=program):
            parts = np.array([[1.0, 1, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 1, 1, 0]])
            domain = Domain((Attribute("a", tuple("pqrst")), Attribute("b", tuple("xyz"))))
            workload = Workload.from_products(
                domain, [Product((f.predicates(parts), f.prefix(3)), target=2.0)]
            )
            assert both_ways(workload, program).reductions == (
                "merge cells: 15 -> 9 cells (3 that no query touches left out)",
                "Kronecker product: 9 -> 3 x 3 cells",
                "factor 'a': independent blocks: 3 cells -> 1 and 2 cells",
            )


def test_equal_blocks_are_solved_once() -> None:
    workload = Workload.from_matrix(np.kron(np.eye(3), np.tri(3)), targets=1.0)
    for program in PROGRAMS:
        found = both_ways(workload, program)
        assert found.reductions == ("independent blocks: 9 cells -> 3 of 3 cells",)
        once = solve(Workload.from_matrix(np.tri(3), targets=1.0), program, tolerance=0.9e-6)
        assert found.iterations == once.iterations
        for multipliers in found.multipliers.values():  # equal blocks share them
            parts = multipliers.reshape(3, 3)
            assert (parts == parts[0]).all() and parts.any()


TWICE = (
    ("diag(X) <= 1", "diag(X) <= 2"),
    ("X = X / max(diag(X))", "X = 2 * X / max(diag(X))"),
    ("diag(1 - diag(X))", "diag(2 - diag(X))"),
    ("/ sum(d)", "/ (2 * sum(d))"),
)


def test_another_limit_gives_another_answer(subtests: pytest.Subtests) -> None:
    for matrix in [np.repeat(np.tri(3), 2, axis=1), np.kron(np.eye(2), np.tri(2))]:
        with subtests.test(matrix=matrix):
            workload = Workload.from_matrix(matrix)
            found = both_ways(workload, edited("l2_strategy", *TWICE, called="twice"))
            assert found.reductions
            assert found.objective == pytest.approx(
                solve(workload, "l2_strategy").objective / 2, rel=2 * GAP_INTERIOR
            )


LIMITED = (
    ("choose\n", "    w: vector[n] > 0\nchoose\n"),
    ("diag(X) <= 1", "diag(X) <= w"),
    ("X = X / max(diag(X))", "X = X / max(diag(X) / w)"),
    ("diag(1 - diag(X))", "diag(w - diag(X))"),
    ("/ sum(d)", "/ (d @ w)"),
)


def test_what_is_not_reduced() -> None:
    matrix = np.repeat(np.kron(np.eye(2), np.tri(2)), 2, axis=1)
    workload = Workload.from_matrix(matrix)
    assert solve(workload, "l2_strategy").reductions
    for name in ("eigen_design", "query_weighting", "singular_value_bound", "l2_strategy_dual"):
        assert solve(workload, name).reductions == ()
    passed = solve(workload, "query_weighting", givens={"Q": np.eye(8)})
    assert passed.reductions == ()
    limits = {"w": np.arange(1.0, 9.0)}
    own = solve(workload, edited("l2_strategy", *LIMITED, called="limited"), givens=limits)
    assert own.status.stop == "gap reached" and own.reductions == ()
