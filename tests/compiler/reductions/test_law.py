"""The law of reductions: every row of the table alone, on programs and workloads drawn at random.

Guards all of ``mmopt/compiler/reductions``, and what several rows do together.

What is lifted equals what is solved without the row, whenever that says that it applies: the same objective
within the gap, each side's bound below the other's objective, a point that ``verify`` finds feasible. So a
row that applies where its theorem does not hold is found as well as one that lifts wrongly.

Guards merge_and_split.py, reduction_step.py.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg
from edited_programs import edited
from symmetric_workloads import nearly, random_products, random_symmetric_matrix
from tolerances import GAP_INTERIOR, ROUNDING

from mmopt import Attribute, Domain, Program, Solution, Strategy, Workload, solve, verify
from mmopt.compiler import bind, reductions
from mmopt.compiler.reductions import symmetry_and_row_space
from mmopt.driver import task_and_plan
from mmopt.language import program_names
from mmopt.limits import Stop
from mmopt.workloads import Product, factors_and_products as f

Rng = np.random.Generator

# What a reduction must see: cells that are counted, a limit of its own, something else that is asked for,
# targets that do not only relax, or that are added up.
COUNTED = (
    ("sensitivity: diag(X) <= 1", "sensitivity: sum(diag(X)) <= n"),
    ("X = X / max(diag(X))", "X = X * (n / sum(diag(X)))"),
    ("    X = X + diag(1 - diag(X))\n", ""),
    ("certificate d: vector[n] >= 0", "certificate d: scalar >= 0"),
    ("nuclear(W @ diag(sqrt(d)))**2 / sum(d)", "d * nuclear(W)**2 / (d * n)"),
)
TWICE = (
    ("diag(X) <= 1", "diag(X) <= 2"),
    ("X = X / max(diag(X))", "X = 2 * X / max(diag(X))"),
    ("diag(1 - diag(X))", "diag(2 - diag(X))"),
    ("/ sum(d)", "/ (2 * sum(d))"),
)
BESIDES = (
    ("trace(W @ inv(X) @ W.T)\n\nsubject", "trace(W @ inv(X) @ W.T) + trace(inv(X))\n\nsubject"),
    (
        "nuclear(W @ diag(sqrt(d)))**2 / sum(d)",
        "trace(root(diag(sqrt(d)) @ (W.T @ W + eye(n)) @ diag(sqrt(d))))**2 / sum(d)",
    ),
)
LATER = (("L[j, :] @ Sigma @ L[j, :].T <= c[j]", "L[j, :] @ Sigma @ L[j, :].T + c[j] <= 2 * c[j]"),)
LEAST = (
    (
        "accuracy: L[j, :] @ Sigma @ L[j, :].T <= c[j]         for j in m",
        "accuracy: trace(L @ Sigma @ L.T) <= sum(c)",
    ),
    ("min(c / diag(L @ Sigma @ L.T))", "(sum(c) / trace(L @ Sigma @ L.T))"),
    ("q: vector[m] >= 0 from dual(accuracy)", "q: scalar >= 0 from dual(accuracy)"),
    (
        "nuclear(diag(sqrt(q)) @ L @ B @ diag(sqrt(p)))**2 / (sum(p) * (c @ q))",
        "q * nuclear(L @ B @ diag(sqrt(p)))**2 / (sum(p) * sum(c) * q)",
    ),
)
LOADED = {name: Program.load(name) for name in program_names()}
CONVEX = [
    n for n, p in LOADED.items() if p.problem_class == "convex" and all(given.source for given in p.givens)
]
SHIPPED = ("l2_strategy", "fitness_for_use")
OWN = {
    "counted": edited("l2_strategy", *COUNTED, called="counted"),
    "twice": edited("l2_strategy", *TWICE, called="twice"),
    "besides": edited("l2_strategy", *BESIDES, called="besides"),
    "later": edited("fitness_for_use", *LATER, called="later"),
    "least": edited("fitness_for_use", *LEAST, called="least"),
}


def rows_of(rng: Rng, m: int, n: int) -> np.ndarray:
    return np.vstack([np.ones(n), rng.normal(size=(m - 1, n))])


def workload_of(rng: Rng, rows: np.ndarray) -> Workload:
    return Workload.from_matrix(rows, rng.uniform(0.5, 5.0, len(rows)), rng.uniform(0.5, 2.0, len(rows)))


def of_sizes(parts: Sequence[f.Factor], **more: float) -> Workload:
    """One product over attributes of these sizes."""
    attributes = (
        Attribute(name, tuple(map(str, range(p.shape[1])))) for name, p in zip("abc", parts, strict=False)
    )
    return Workload.from_products(Domain(tuple(attributes)), [Product(tuple(parts), **more)])


def repeated(rng: Rng) -> Workload:
    """Cells that no query tells apart; sometimes some that none touches."""
    copies = rng.integers(1, 4, size=3)
    copies[int(rng.integers(3))] = 3
    columns = np.hstack([np.repeat(rows_of(rng, 4, 3), copies, axis=1), np.zeros((4, int(rng.integers(2))))])
    return workload_of(rng, columns[:, rng.permutation(columns.shape[1])])


def product(rng: Rng) -> Workload:
    other = f.prefix(2) if rng.random() < 0.5 else f.predicates(rng.integers(1, 4, size=(2, 2)))
    weight, target = rng.uniform(0.5, 3.0, size=2)
    return of_sizes([f.predicates(rows_of(rng, 4, 3)), other], weight=weight, target=target)


def blocks(rng: Rng) -> Workload:
    rows = scipy.linalg.block_diag(*(rows_of(rng, size + 1, size) for size in rng.integers(1, 4, size=2)))
    return workload_of(rng, rows[rng.permutation(len(rows))][:, rng.permutation(rows.shape[1])])


def multiples(rng: Rng) -> Workload:
    rows = rows_of(rng, 3, 3)
    factors = rng.choice([-2.0, 0.5, 1.0, 4.0], size=3)
    several = np.vstack([rows, factors[:, None] * rows[rng.integers(3, size=3)]])
    return workload_of(rng, several[rng.permutation(6)])


def symmetric(rng: Rng) -> Workload:
    rows = np.vstack([np.ones(4), np.eye(4)[: int(rng.integers(2, 5))]])
    return Workload.from_matrix(
        rows * float(rng.choice([1.0, 0.3])), targets=np.where(rows.sum(axis=1) > 1, 2.0, 1.0)
    )


DOMAIN = Domain((Attribute("a", tuple("pq")), Attribute("b", tuple("xyz"))))
UNION = Workload.from_products(
    DOMAIN, [Product((f.identity(2), f.prefix(3))), Product((f.total(2), f.identity(3)))]
)


DRAWS: dict[str, Callable[[Rng], Workload]] = {
    "merge cells": repeated,
    "Kronecker product": product,
    "independent blocks": blocks,
    "parallel queries": multiples,
    "symmetry between attribute values": symmetric,
}
"""For each row a workload to which it applies with every program of ``SHIPPED``."""


def only(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Leave one row of the table."""
    rows = tuple(row for row in reductions.REDUCTIONS if row.name == name)
    monkeypatch.setattr(reductions, "REDUCTIONS", rows)


def both(workload: Workload, program: str | Program) -> Solution:
    """The solve with the row, compared with the solve without, where a solver has an answer to that."""
    plain = solve(workload, program, reduce=False)
    found = solve(workload, program)
    assert plain.reductions == ()
    if not found.reductions or plain.status.stop != "gap reached":
        return found
    assert found.status.stop == "gap reached", (found.reductions, found.warnings)
    assert found.objective == pytest.approx(plain.objective, rel=2 * GAP_INTERIOR)
    assert found.bound is not None and plain.bound is not None
    assert found.bound <= plain.objective and plain.bound <= found.objective
    if found.error_bound is not None:
        assert found.error_bound <= plain.error * (1 + ROUNDING)
    checked = verify(found, workload)
    assert checked.holds, str(checked)
    return found


def test_lifted_equals_unreduced(subtests: pytest.Subtests, rng: Rng) -> None:
    for name in DRAWS:
        for program in SHIPPED:
            with subtests.test(name, program=program), pytest.MonkeyPatch.context() as patch:
                only(patch, name)
                found = both(DRAWS[name](rng), program)
                assert found.status.stop == "gap reached"
                assert any(line.startswith(name) for line in found.reductions), found.reductions


@pytest.mark.some(1)
@pytest.mark.parametrize("name", DRAWS)
def test_lifted_equals_unreduced_for_other_programs(
    monkeypatch: pytest.MonkeyPatch, rng: Rng, name: str
) -> None:
    only(monkeypatch, name)
    both(DRAWS[name](rng), OWN[str(rng.choice(list(OWN)))])
    both(DRAWS[name](rng), str(rng.choice([p for p in CONVEX if p not in SHIPPED])))


def badly(lift: Callable[..., reductions.SolvedPart]) -> Callable[..., reductions.SolvedPart]:
    """The total, and little else: no repair makes that good, as it does for a cell measured too well."""

    def wrong(own: reductions.ReductionStep, parts: Sequence[reductions.SolvedPart]) -> reductions.SolvedPart:
        lifted = lift(own, parts)
        n = lifted.strategy.n
        return replace(lifted, strategy=Strategy(np.ones((n, n)) + np.eye(n), lifted.strategy.norm))

    return wrong


def test_a_wrong_lift_is_seen(subtests: pytest.Subtests, rng: Rng) -> None:
    """A strategy that tells cells badly apart costs more than the bound, which is valid all the same."""
    for name in DRAWS:
        with subtests.test(name), pytest.MonkeyPatch.context() as patch:
            only(patch, name)
            workload = DRAWS[name](rng)
            instance = bind(LOADED["l2_strategy"], workload)
            step = reductions.first_step(instance, reductions.traits_of(instance), lambda inner: True)
            assert step is not None
            patch.setattr(type(step), "lift", badly(type(step).lift))
            found, plain = (solve(workload, "l2_strategy", reduce=reduce) for reduce in (True, False))
            assert found.status.stop == Stop.LIFTED and found.status.feasible
            assert found.bound is not None and found.bound <= plain.objective


def test_the_theorem_of_every_row_is_stated_and_the_row_is_drawn() -> None:
    assert {row.name for row in reductions.REDUCTIONS} == set(DRAWS)
    for row in reductions.REDUCTIONS:
        module = row.applies.__module__
        rows = sum(other.applies.__module__ == module for other in reductions.REDUCTIONS)
        assert (sys.modules[module].__doc__ or "").count("\nTheorem. ") >= rows, row.name


def test_by_component_equals_unreduced(monkeypatch: pytest.MonkeyPatch, rng: Rng) -> None:
    """Nothing is scored over the cells here: what is taken for a symmetry and is none would be believed."""
    monkeypatch.setattr(task_and_plan, "FEW_CELLS", 1)
    monkeypatch.setattr(task_and_plan, "SMALL_COMPONENT", symmetry_and_row_space.LARGEST_COMPONENT)
    hits = 0
    for _ in range(12):
        workload = random_symmetric_matrix(rng) if rng.random() < 0.5 else random_products(rng)
        if workload.n > 24 or workload.m > 100:
            continue
        if rng.random() < 0.5:
            workload = nearly(rng, workload, (0, 1, 2))
        found = both(workload, str(rng.choice(SHIPPED)))
        hits += any(" orbit" in line for line in found.reductions)
    assert hits


GROUPS = np.array([[1.0, 1, 1, 0, 0], [0, 0, 1, 1, 0], [1, 1, 1, 1, 0]])
APART = np.array([[1.0, 1, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 1, 1, 0]])
LEFT_OUT = "merge cells: 15 -> 9 cells (3 that no query touches left out)"
KRONECKER = "Kronecker product: 9 -> 3 x 3 cells"


def test_what_was_done_is_said(subtests: pytest.Subtests, rng: Rng) -> None:
    """By all rows together; products stay products, so that the Kronecker product is seen afterwards."""
    untouched = np.insert(rows_of(rng, 5, 4), [0, 2, 2], 0.0, axis=1)
    rows = rows_of(rng, 4, 4)
    several = np.vstack([rows, np.array([[1.0], [-2.0], [0.5], [4.0]]) * rows[[1, 1, 2, 0]]])
    of_groups, apart = (of_sizes([f.predicates(part), f.prefix(3)], target=2.0) for part in (GROUPS, APART))
    factors = (f.predicates(rows_of(rng, 4, 3)), f.total(1), f.prefix(3))
    said: dict[tuple[str, ...], tuple[Workload, tuple[str, ...]]] = {
        ("merge cells: 7 -> 4 cells (3 that no query touches left out)",): (
            workload_of(rng, untouched),
            ("l2_strategy_block", "fitness_budget"),
        ),
        ("parallel queries: 8 -> 4 queries",): (
            workload_of(rng, several[rng.permutation(8)]),
            ("l2_strategy_lmi", "fitness_penalty"),
        ),
        (KRONECKER,): (of_sizes(factors, weight=2.5, target=0.7), ("weighted_l2", "fitness_for_use")),
        (
            LEFT_OUT,
            KRONECKER,
            "factor 'a': symmetry between attribute values: 3 cells -> 2 orbits, "
            "2 components of size up to 2",
        ): (of_groups, SHIPPED),
        (LEFT_OUT, KRONECKER, "factor 'a': independent blocks: 3 cells -> 1 and 2 cells"): (apart, SHIPPED),
    }
    for lines, (workload, programs) in said.items():
        for program in programs:
            with subtests.test(lines[-1], program=program):
                assert both(workload, program).reductions == lines


def test_prefix_sums_with_multiplicities() -> None:
    """The optimum is that of the prefix sums over 4 cells; the error of the identity is not."""
    rows = np.repeat(np.tri(4), [1, 5, 1, 2], axis=1)
    found = both(Workload.from_matrix(rows), "l2_strategy")
    assert found.objective == pytest.approx(6.874144, rel=GAP_INTERIOR)
    assert found.reductions == ("merge cells: 9 -> 4 cells",)
    design = [
        solve(Workload.from_matrix(w), "query_weighting", givens={"Q": np.eye(w.shape[1])})
        for w in (rows, np.tri(4))
    ]
    assert [d.objective for d in design] == pytest.approx([23.0, 10.0], rel=GAP_INTERIOR)
    assert all(d.reductions == () for d in design)


def test_a_union_of_products_is_none() -> None:
    (line,) = both(UNION, "l2_strategy").reductions
    assert line.startswith("symmetry between attribute values: 6 cells -> 3 orbits")


def test_a_query_of_looser_target_says_nothing() -> None:
    """The variances of w and 2 w with targets c are v and 4 v: the second asks for v <= c / 4."""
    rows = np.vstack([np.tri(3), 2 * np.tri(3)[1]])
    found = both(Workload.from_matrix(rows, [1.0, 2.0, 3.0, 4.0]), "fitness_for_use")
    assert found.multipliers["accuracy"][1] == 0.0
    assert found.multipliers["accuracy"][3] > 0.0


def test_a_line_that_larger_targets_do_not_relax_keeps_its_queries() -> None:
    rows = np.vstack([np.tri(3), 2 * np.tri(3)[1], 2 * np.tri(3)[2]])
    workload = Workload.from_matrix(rows, [1.0, 2.0, 3.0, 9.0, 12.0])
    shipped, written = (solve(workload, p) for p in ("fitness_for_use", OWN["later"]))
    assert shipped.reductions == ("parallel queries: 5 -> 3 queries",)
    assert written.reductions == ("parallel queries: 5 -> 4 queries",)  # only of the same c / t**2
    assert written.objective == pytest.approx(shipped.objective, rel=2 * GAP_INTERIOR)


def test_equal_blocks_are_solved_once() -> None:
    workload = Workload.from_matrix(np.kron(np.eye(3), np.tri(3)), targets=1.0)
    for program in SHIPPED:
        found = both(workload, program)
        assert found.reductions == ("independent blocks: 9 cells -> 3 of 3 cells",)
        once = solve(Workload.from_matrix(np.tri(3), targets=1.0), program, tolerance=0.9e-6)
        assert found.iterations == once.iterations
        for multipliers in found.multipliers.values():  # equal blocks share them
            parts = multipliers.reshape(3, 3)
            assert (parts == parts[0]).all() and parts.any()


def test_another_limit_gives_another_answer() -> None:
    workload = Workload.from_matrix(np.kron(np.eye(2), np.repeat(np.tri(2), 2, axis=1)))
    found, shipped = both(workload, OWN["twice"]), solve(workload, "l2_strategy")
    assert found.reductions
    assert found.objective == pytest.approx(shipped.objective / 2, rel=2 * GAP_INTERIOR)


LIMITED = (
    ("choose\n", "    w: vector[n] > 0\nchoose\n"),
    ("diag(X) <= 1", "diag(X) <= w"),
    ("X = X / max(diag(X))", "X = X / max(diag(X) / w)"),
    ("diag(1 - diag(X))", "diag(w - diag(X))"),
    ("/ sum(d)", "/ (d @ w)"),
)


def test_what_is_not_reduced() -> None:
    workload = Workload.from_matrix(np.repeat(np.kron(np.eye(2), np.tri(2)), 2, axis=1))
    assert solve(workload, "l2_strategy").reductions
    for name in ("eigen_design", "query_weighting", "singular_value_bound", "l2_strategy_dual"):
        assert solve(workload, name).reductions == ()
    passed = solve(workload, "query_weighting", givens={"Q": np.eye(8)})
    assert passed.reductions == ()
    limits = {"w": np.arange(1.0, 9.0)}
    own = solve(workload, edited("l2_strategy", *LIMITED, called="limited"), givens=limits)
    assert own.status.stop == "gap reached" and own.reductions == ()
