"""A reduced solve ends by its own gap and says what it did; reductions see weights of normalised queries."""

from collections.abc import Sequence

import numpy as np
import pytest
from edited_programs import edited
from tolerances import GAP, RECOMPUTED

from mmopt import Attribute, Domain, Solution, SolverError, Workload, explain, solve, verify
from mmopt.compiler.reductions import SolvedPart
from mmopt.compiler.reductions.merge_and_split import MergeCells
from mmopt.driver import Progress
from mmopt.driver.templates import templates
from mmopt.limits import Stop
from mmopt.numerics.arrays import rounded
from mmopt.workloads import Factor, Product, factors_and_products as f

MERGED = Workload.from_matrix(np.repeat(np.tri(4), [1, 5, 1, 2], axis=1))
BLOCKS = Workload.from_matrix(np.kron(np.diag([1.0, 2.0]), np.tri(5)), targets=np.arange(1.0, 11.0))


def test_a_wrong_lift_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were the multipliers of a class not split, the bound would still be valid, and the gap say it."""
    right = MergeCells.lift

    def wrong(plan: MergeCells, parts: Sequence[SolvedPart]) -> SolvedPart:
        lifted = right(plan, parts)
        return SolvedPart(lifted.strategy, {n: np.ones_like(v) for n, v in lifted.multipliers.items()})

    monkeypatch.setattr(MergeCells, "lift", wrong)
    s = solve(MERGED, "l2_strategy")
    assert s.status.stop == Stop.LIFTED
    assert s.gap is not None and s.gap > GAP
    assert s.bound < s.objective == pytest.approx(6.874144, rel=GAP)
    gap = rounded(s.gap, 2, up=True, layout="e")
    assert s.warnings == (
        f"every part reached its gap, and what they make together has a gap of {gap} "
        "(1e-06 was requested): solve it as it is with reduce=False (--no-reduce)",
    )


def test_a_limit_of_a_part_is_one_of_the_whole(subtests: pytest.Subtests) -> None:
    for options in [{"time_limit": 1e-6}, {"max_iterations": 2, "tolerance": 1e-12}]:
        for workload in [MERGED, BLOCKS]:
            with subtests.test(options=options):
                s = solve(workload, "l2_strategy", **options)
                assert s.reductions
                assert s.status.stop in ("time limit", "iteration limit")
                assert s.status.feasible and s.bound is not None and 0 < s.bound <= s.objective
                assert any(s.status.stop in w for w in s.warnings)


def test_the_tolerance_is_that_of_the_whole(subtests: pytest.Subtests) -> None:
    for program in ["l2_strategy", "fitness_for_use"]:
        with subtests.test(program):
            for tolerance in (1e-3, 1e-8):
                s = solve(BLOCKS, program, tolerance=tolerance)
                assert s.status.stop == "gap reached"
                assert s.options["tolerance"] == tolerance
                assert s.gap <= tolerance


def test_the_last_report_is_of_the_whole() -> None:
    seen: list[Progress] = []
    s = solve(BLOCKS, "l2_strategy", progress=seen.append)
    assert (seen[-1].objective, seen[-1].bound) == (s.objective, s.bound)
    assert seen[-1].iterations == s.iterations
    assert s.seconds["total"] >= s.seconds["solve"] > 0


def test_a_part_without_solution_says_where_it_stands() -> None:
    lower = edited("l2_strategy", ("diag(X) <= 1\n", "diag(X) <= 1\n    most: diag(X) >= 2\n"), called="own")
    with pytest.raises(SolverError) as refused:
        solve(MERGED, lower)
    assert "(cells and queries counted after: merge cells: 9 -> 4 cells)" in refused.value.message
    assert refused.value.hint.endswith("solve it as it is with reduce=False (--no-reduce)")


def test_explain_says_what_would_be_done_and_what_was() -> None:
    line = "independent blocks: 10 cells -> 2 of 5 cells"
    assert line in explain("l2_strategy", BLOCKS).text()
    assert line in explain("l2_strategy", BLOCKS, solution=solve(BLOCKS, "l2_strategy")).text()
    plain = solve(BLOCKS, "l2_strategy", reduce=False)
    assert "Reductions" not in explain("l2_strategy", BLOCKS, solution=plain).text()


def test_steps_of_a_procedure_are_reduced_too() -> None:
    s = solve(BLOCKS, "fitness_refined")
    assert s.steps["first"].reductions == ("independent blocks: 10 cells -> 2 of 5 cells",)
    plain = solve(BLOCKS, "fitness_refined", reduce=False)
    assert all(step.reductions == () for step in plain.steps.values())
    assert s.objective == pytest.approx(plain.objective, rel=GAP)


# Each with the reduction that it is for.
WORKLOADS: dict[str, tuple[tuple[Factor, ...], ...]] = {
    "Kronecker product": ((f.prefix(4), f.all_range(3), f.haar(2)),),
    "symmetry between attribute values": (
        (f.hierarchy(4), f.total(5)),
        (f.total(4), f.union(f.identity(5), f.total(5))),
    ),
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


def test_targets_are_of_the_queries_as_they_are() -> None:
    w = normalised("symmetry between attribute values", target=2.0)
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
