"""The law of reductions: every row of the table alone, on programs and workloads drawn at random.

What is lifted equals what is solved without the row, whenever that says that it applies: the same objective
within the gap, each side's bound below the other's objective, a point that ``verify`` finds feasible. So a
row that applies where its theorem does not hold is found as well as one that lifts wrongly.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg
from own_texts import edited
from symmetric import nearly, random_products, random_symmetric_matrix
from tolerances import GAP_INTERIOR, ROUNDING

from mmopt import Attribute, Domain, Program, Solution, Strategy, Workload, solve, verify
from mmopt.compiler import bind, reductions
from mmopt.compiler.reductions import split_by_symmetry
from mmopt.driver import solve_plan
from mmopt.language import program_names
from mmopt.stop_reasons import Stop
from mmopt.workloads import Product
from mmopt.workloads.blocks import factor_blocks as f

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
CONVEX = [n for n, p in LOADED.items() if p.klass == "convex" and all(given.source for given in p.givens)]
SHIPPED = ("l2_strategy", "fitness_for_use")
OWN = (
    edited("l2_strategy", *COUNTED, called="counted"),
    edited("l2_strategy", *TWICE, called="twice"),
    edited("l2_strategy", *BESIDES, called="besides"),
    edited("fitness_for_use", *LATER, called="later"),
    edited("fitness_for_use", *LEAST, called="least"),
)


def rows_of(rng: Rng, m: int, n: int) -> np.ndarray:
    return np.vstack([np.ones(n), rng.normal(size=(m - 1, n))])


def workload_of(rng: Rng, rows: np.ndarray) -> Workload:
    return Workload.from_matrix(rows, rng.uniform(0.5, 5.0, len(rows)), rng.uniform(0.5, 2.0, len(rows)))


def repeated(rng: Rng) -> Workload:
    """Cells that no query tells apart; sometimes some that none touches."""
    copies = rng.integers(1, 4, size=3)
    copies[int(rng.integers(3))] = 3
    columns = np.hstack([np.repeat(rows_of(rng, 4, 3), copies, axis=1), np.zeros((4, int(rng.integers(2))))])
    return workload_of(rng, columns[:, rng.permutation(columns.shape[1])])


def product(rng: Rng) -> Workload:
    domain = Domain((Attribute("a", tuple("pqr")), Attribute("b", tuple("xy"))))
    other = f.prefix(2) if rng.random() < 0.5 else f.predicates(rng.integers(1, 4, size=(2, 2)))
    weight, target = rng.uniform(0.5, 3.0, size=2)
    factors = (f.predicates(rows_of(rng, 4, 3)), other)
    return Workload.from_products(domain, [Product(factors, weight=weight, target=target)])


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


def unions(rng: Rng) -> Workload:
    """Two products or more, which are none together."""
    domain = Domain((Attribute("a", tuple("pqr")), Attribute("b", tuple("xy"))))
    products = [
        Product((f.prefix(3), f.identity(2))),
        Product((f.predicates(rows_of(rng, 2, 3)), f.total(2))),
    ]
    return Workload.from_products(domain, products)


DRAWS: dict[str, Callable[[Rng], Workload]] = {
    "merge cells": repeated,
    "Kronecker product": product,
    "independent blocks": blocks,
    "parallel queries": multiples,
    "value symmetry": symmetric,
}
"""For each row a workload to which it applies with every program of ``SHIPPED``."""


def test_every_row_has_its_draws() -> None:
    assert {row.name for row in reductions.REDUCTIONS} == set(DRAWS)


def only(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Leave one row of the table."""
    rows = tuple(row for row in reductions.REDUCTIONS if row.name == name)
    monkeypatch.setattr(reductions, "REDUCTIONS", rows)


def both(workload: Workload, program: str | Program) -> Solution:
    """The solve with the row, compared with the solve without, where a solver has an answer to that."""
    plain = solve(workload, program, reduce=False)
    found = solve(workload, program)
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
        with subtests.test(name=name), pytest.MonkeyPatch.context() as patch:
            only(patch, name)
            for program in SHIPPED:
                found = both(DRAWS[name](rng), program)
                assert found.status.stop == "gap reached"
                assert any(line.startswith(name) for line in found.reductions), (program, found.reductions)


@pytest.mark.some(1)
@pytest.mark.parametrize("name", DRAWS)
def test_lifted_equals_unreduced_for_other_programs(
    monkeypatch: pytest.MonkeyPatch, rng: Rng, name: str
) -> None:
    only(monkeypatch, name)
    for i in rng.permutation(len(OWN))[:2]:
        both(DRAWS[name](rng), OWN[i])
    program = str(rng.choice([p for p in CONVEX if p not in SHIPPED]))
    both(DRAWS[name](rng), program)
    both(DRAWS[str(rng.choice(list(DRAWS)))](rng), program)
    both(unions(rng), SHIPPED[0])


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
        with subtests.test(name=name), pytest.MonkeyPatch.context() as patch:
            only(patch, name)
            workload = DRAWS[name](rng)
            instance = bind(LOADED["l2_strategy"], workload)
            step = reductions.first_step(instance, reductions.traits_of(instance), lambda inner: True)
            assert step is not None
            patch.setattr(type(step), "lift", badly(type(step).lift))
            found, plain = (solve(workload, "l2_strategy", reduce=reduce) for reduce in (True, False))
            assert found.status.stop == Stop.LIFTED and found.status.feasible
            assert found.bound is not None and found.bound <= plain.objective


def test_the_theorem_is_stated(subtests: pytest.Subtests) -> None:
    for row in reductions.REDUCTIONS:
        with subtests.test(row.name):
            file = sys.modules[row.applies.__module__]
            assert file.__doc__ is not None and "\nTheorem. " in file.__doc__


def test_by_component_equals_unreduced(subtests: pytest.Subtests, rng: Rng) -> None:
    """Nothing is scored over the cells here: what is taken for a symmetry and is none would be believed."""
    for program in SHIPPED:
        with subtests.test(program=program), pytest.MonkeyPatch.context() as patch:
            patch.setattr(solve_plan, "FEW_CELLS", 1)
            patch.setattr(solve_plan, "SMALL_COMPONENT", split_by_symmetry.LARGEST_WORTHWHILE)
            hits = 0
            for _ in range(12):
                workload = random_symmetric_matrix(rng) if rng.random() < 0.5 else random_products(rng)
                if workload.n > 24 or workload.m > 100:
                    continue
                if rng.random() < 0.5:
                    workload = nearly(rng, workload, (0, 1, 2))
                found = both(workload, program)
                hits += any(" orbit" in line for line in found.reductions)
            assert hits
