"""Figures of a product in factors are those of the product over its cells.

Guards proof/verify.py, proof/certify.py, merge_and_split.py; task_and_plan.py in what it plans in
factors.

Guards solve_convex.py, assemble_solution.py.
"""

import sys
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from pathlib import Path

import numpy as np
import pytest
from edited_programs import edited
from tolerances import GAP, RECOMPUTED

from mmopt import Attribute, Domain, Program, Solution, SolverError, Workload, certify, explain, solve, verify
from mmopt.compiler import bind
from mmopt.compiler.reductions.merge_and_split import in_factors, workloads_of_factors
from mmopt.driver import task_and_plan
from mmopt.driver.judge.assemble_solution import combine_factors
from mmopt.driver.judge.score_and_meaning import bound_of, scored
from mmopt.driver.task_and_plan import plan_solve
from mmopt.language import shipped
from mmopt.report import sizes_of
from mmopt.strategies import ProductStrategy
from mmopt.workloads import Factor, Product, factors_and_products as f

PROGRAMS = ["l2_strategy", "fitness_for_use", "minimax_variance", "gamma_f", "weighted_l2", "fitness_budget"]
BY_KRONECKER = "Kronecker product: "


@pytest.fixture(autouse=True)
def _every_size_in_factors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small products too, so that the cells can be listed beside them."""
    for module in (task_and_plan, sys.modules["mmopt.proof.certify"]):
        monkeypatch.setattr(module, "FEW_CELLS", 1)


def product_of(*factors: Factor, weight: float = 1.0, target: float = np.inf) -> Workload:
    attributes = (Attribute(f"a{i}", tuple(map(str, range(each.size)))) for i, each in enumerate(factors))
    return Workload.from_products(Domain(tuple(attributes)), [Product(factors, weight=weight, target=target)])


def asked(rng: np.random.Generator) -> Workload:
    """Queries that span all cells; a weighted factor, a total, and an attribute of one cell before them."""
    drawn = f.predicates(np.vstack([np.eye(3), rng.integers(0, 3, size=(2, 3)) + np.eye(2, 3)]))
    factors: Sequence[Factor] = (f.total(1), drawn, f.all_range(3), f.prefix(2))
    return product_of(*factors, weight=float(rng.uniform(0.5, 3.0)), target=float(rng.uniform(0.5, 3.0)))


def test_figures_are_those_over_the_cells(
    subtests: pytest.Subtests, rng: np.random.Generator, tmp_path: Path
) -> None:
    w = asked(rng)
    for name in PROGRAMS:
        with subtests.test(name):
            s, instance = solve(w, name), bind(shipped(name), w)
            assert s.reductions[0] == f"{BY_KRONECKER}18 -> 1 x 3 x 3 x 2 cells"
            assert list(s.steps) == ["a0", "a1", "a2", "a3"]
            assert s.status.stop == "gap reached" and s.gap is not None and 0.0 <= s.gap <= GAP
            point = scored(instance, {n: np.asarray(v) for n, v in s.variables.items()})
            assert point.is_feasible and point.objective == pytest.approx(s.objective, rel=RECOMPUTED)
            bound = bound_of(instance, {n: np.asarray(v) for n, v in s.multipliers.items()})
            assert s.bound == pytest.approx(bound, rel=RECOMPUTED)
            assert {n: v.shape for n, v in s.variables.items()} == {
                n: np.asarray(v).shape for n, v in s.variables.items()
            }
            a = s.strategy.matrix
            variances = np.square(w.queries @ np.linalg.pinv(a)).sum(axis=1)
            cost = float(np.square(a).sum(axis=0).max())
            np.testing.assert_allclose(s.strategy.variances(w), variances, rtol=RECOMPUTED)
            np.testing.assert_allclose(s.profile, np.square(a).sum(axis=0), rtol=RECOMPUTED)
            assert s.sensitivity == pytest.approx(np.sqrt(cost), rel=RECOMPUTED) and s.sensitivity**2 >= cost
            assert s.error == pytest.approx(cost * w.weights @ variances, rel=RECOMPUTED)
            assert s.rmse == pytest.approx(np.sqrt(cost * variances.mean()), rel=RECOMPUTED)
            least = bound_of(
                bind(shipped("l2_strategy"), w), {"sensitivity": np.asarray(s.error_multipliers)}
            )
            assert s.error_bound == pytest.approx(least, rel=RECOMPUTED)
            if s.covariance is not None and s.basis is not None:
                noise, basis = np.asarray(s.covariance), np.asarray(s.basis)
                np.testing.assert_allclose(
                    a.T @ a, basis.T @ np.linalg.solve(noise, basis), rtol=1e-6, atol=1e-9
                )
            plain = solve(w, name, reduce=False)
            assert s.value == pytest.approx(plain.value, rel=2 * GAP)
            assert verify(s, w).holds
            assert Solution.load(s.save(tmp_path / name)) == s


@pytest.mark.quick
def test_objectives_are_rounded_up_and_bounds_down(rng: np.random.Generator) -> None:
    one = solve(product_of(f.prefix(2)), "l2_strategy")
    up, down = ("objective", "error", "rmse"), ("bound", "error_bound")
    for _ in range(20):
        factors = {
            str(i): replace(one, **dict(zip((*up, *down), rng.uniform(1.0, 2.0, 5), strict=True)))
            for i in range(3)
        }
        whole = combine_factors("", factors)
        for name in (*up, *down):
            exact = reduce(lambda a, b: a * b, [Fraction(float(getattr(s, name))) for s in factors.values()])
            off = Fraction(getattr(whole, name)) - exact
            assert (off >= 0 if name in up else off <= 0) and abs(off) <= exact * Fraction(1, 10**15)
    low = {"a": replace(one, bound=1.0), "b": replace(one, bound=-1.0), "c": replace(one, bound=-1.0)}
    assert combine_factors("", low).bound is None  # two of them would make a bound above the optimum
    less = replace(one, objective_grade="estimated", bound_grade="claimed", survived=3)
    weak = combine_factors("", {"a": replace(one, survived=5), "b": less})
    assert (weak.objective_grade, weak.bound_grade, weak.survived) == ("estimated", "claimed", 3)
    assert not weak.status.bound_valid


def test_nothing_has_the_size_of_the_cells(tmp_path: Path) -> None:
    w = product_of(f.all_range(128), f.all_range(128))
    s = solve(w)
    assert isinstance(s.strategy, ProductStrategy) and s.gap is not None and s.gap <= GAP
    assert s.objective == pytest.approx(55767.2427**2, rel=GAP)
    assert verify(Solution.load(s.save(tmp_path / "s.npz")), w).holds
    assert not {"queries", "root", "gram", "targets"} & vars(w).keys()
    large = product_of(*[f.prefix(10)] * 20)  # 10^20 cells
    s = solve(large)
    assert s.status.stop == "gap reached" and len({id(step) for step in s.steps.values()}) == 1


def test_what_is_no_product_is_not_solved_as_one() -> None:
    w = product_of(f.prefix(3), f.prefix(2), target=2.0)
    twice = edited(
        "l2_strategy",
        ("diag(X) <= 1", "diag(X) <= 2"),
        ("X = X / max(diag(X))", "X = 2 * X / max(diag(X))"),
        ("diag(1 - diag(X))", "diag(2 - diag(X))"),
        ("/ sum(d)", "/ (2 * sum(d))"),
    )
    for program, givens in [(twice, {}), (Program.load("fitness_budget"), {"budget": 2.0})]:
        assert not plan_solve(program, w, givens).factors
    replaced = edited("l2_strategy", ("from strategy", "neighbours\n    replace-one\n\nfrom strategy"))
    assert not plan_solve(replaced, w).factors
    assert not plan_solve(shipped("l2_strategy"), w, reduce=False).factors
    two = [Product((f.prefix(3), f.prefix(2))), Product((f.identity(3), f.prefix(2)))]
    assert not plan_solve(shipped("l2_strategy"), Workload.from_products(w.domain, two)).factors
    assert plan_solve(Program.load("fitness_budget"), w, {"budget": 1.0}).factors


def test_a_factor_that_is_a_number_may_come_first() -> None:
    """Over few cells it is left out, and the weight and the target are those of another."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(task_and_plan, "FEW_CELLS", 512)
        for program in ("l2_strategy", "fitness_for_use"):
            w = product_of(f.total(1), f.prefix(3), f.prefix(2), weight=2.5, target=0.5)
            s, plain = solve(w, program), solve(w, program, reduce=False)
            assert s.reductions[0] == f"{BY_KRONECKER}6 -> 3 x 2 cells"
            assert s.status.stop == "gap reached"
            assert s.objective == pytest.approx(plain.objective, rel=2 * GAP)


def test_a_factor_is_planned_by_itself() -> None:
    w = product_of(f.identity(3), f.all_range(520))
    s = solve(w, "l2_strategy", tolerance=1e-4)
    assert any("factor 'a1': reflection: 520 cells" in line for line in s.reductions)
    assert s.gap is not None and s.gap <= 1e-4 and verify(s, w).holds


def test_another_solution_than_that_of_its_factors_is_found(rng: np.random.Generator) -> None:
    w = product_of(f.prefix(3), f.prefix(2), target=2.0)
    s = solve(w, "fitness_for_use")
    other = solve(product_of(f.prefix(3), f.identity(2), target=2.0), "fitness_for_use")
    for changes, row in [
        ({"strategy": other.strategy}, "strategy"),
        ({"multipliers": other.multipliers}, "values"),
        ({"covariance": other.covariance}, "values"),
        ({"steps": dict(reversed(s.steps.items()))}, "factors"),
        ({"steps": {**s.steps, "a1": other.steps["a1"]}}, "a1: workload"),
        ({"steps": {**s.steps, "a1": replace(s.steps["a1"], givens={"c": np.ones(2)})}}, "a1: givens"),
        ({"has_strategy": False}, "has_strategy"),
        ({"objective": s.objective * (1 + 1e-6)}, "objective"),
    ]:
        failures = [check.what for check in verify(replace(s, **changes), w).failures]
        assert row in failures, (row, failures)


def test_a_limit_of_a_factor_is_one_of_the_whole() -> None:
    w = product_of(f.prefix(40), f.prefix(30))
    for options in ({"time_limit": 1e-6}, {"max_iterations": 1, "tolerance": 1e-12}):
        s = solve(w, "l2_strategy", **options)
        assert s.status.stop in ("time limit", "iteration limit") and s.warnings
        assert s.bound is not None and 0 < s.bound <= s.objective
    never = edited("l2_strategy", ("diag(X) <= 1\n", "diag(X) <= 1\n    also: trace(X) <= 1\n"), called="own")
    with pytest.raises(SolverError) as refused:
        solve(product_of(f.prefix(3), f.prefix(2)), never)
    assert "(cells and queries counted after: Kronecker product: 6 -> 3 x 2 cells)" in refused.value.message


def test_a_strategy_is_certified_factor_by_factor() -> None:
    w = product_of(f.prefix(6), f.all_range(5), weight=2.0)
    s = solve(w, "l2_strategy")
    for known in ({}, s.multipliers):
        found = certify(w, s, "l2_strategy", multipliers=known)
        assert found.status.stop == "certified" and found.reductions == s.reductions[:1]
        assert found.objective == pytest.approx(s.objective, rel=GAP)
        assert found.gap is not None and found.gap <= GAP and verify(found, w).holds
    dense = certify(w, s.strategy.matrix, "l2_strategy")
    assert not dense.steps and dense.objective == pytest.approx(found.objective, rel=RECOMPUTED)


def test_it_is_explained_and_forecast_by_factor() -> None:
    w = product_of(f.prefix(4), f.prefix(4), f.all_range(3))
    s = solve(w, "l2_strategy")
    found = [
        (size.step, size.dims["n"], size.reductions[0]) for size in sizes_of(Program.load("l2_strategy"), w)
    ]
    line = f"{BY_KRONECKER}48 -> 4 x 4 x 3 cells"
    assert found == [("a0, a1", 4, line), ("a2", 3, line)]
    text = explain("l2_strategy", w, solution=s).text()
    assert line in text and "Factor 'a0, a1'" in text and "Factor 'a2'" in text
    assert "96 queries over 48 cells, rank 48" in text and "Dimensions: r = 48, n = 48" in text
    assert "factor a2" in str(s) and s.summary()["steps"]["a2"]["objective"] == s.steps["a2"].objective


def test_programs_of_ones_own_are_solved_as_a_whole(subtests: pytest.Subtests) -> None:
    """A number made of sizes is another one in each factor, and so is a strategy that is scaled."""
    w = product_of(f.prefix(3), f.prefix(4))
    number = ("choose\n", "parameter\n    q: scalar > 0 = n / 3\n\nchoose\n")
    scaled = ("trace(W @ inv(X) @ W.T)\n\nsubject", "q * trace(W @ inv(X) @ W.T)\n\nsubject")
    proved = ("    nuclear(W @ diag(sqrt(d)))**2 / sum(d)", "    q * nuclear(W @ diag(sqrt(d)))**2 / sum(d)")
    for program, own in (
        (edited("l2_strategy", number, scaled, proved, called="own"), None),
        (edited("l2_strategy", ("    factor(X) norm 2", "    2 * factor(X) norm 2"), called="own"), 2.0),
    ):
        with subtests.test(own=own):
            found, whole = solve(w, program), solve(w, program, reduce=False)
            assert not isinstance(found.strategy, ProductStrategy)
            assert found.objective == pytest.approx(whole.objective, rel=1e-4)
            assert found.own_sensitivity == (own and pytest.approx(own, rel=1e-6))


def test_only_programs_that_are_convex() -> None:
    """A rotation of each factor is one of the product, but no bound comes with it."""
    w = product_of(f.prefix(3), f.prefix(4))
    for name, is_whole in (("l2_strategy", True), ("min_sensitivity_rotation", False)):
        parts = [bind(shipped(name), each) for each in workloads_of_factors(w)]
        assert (in_factors(w, parts) is not None) is is_whole
