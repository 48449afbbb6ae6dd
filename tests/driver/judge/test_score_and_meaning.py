"""Scoring a point: repair, feasibility, the objective rounded up, the certificate rounded down.

Guards compiler/bind.py, score_and_meaning.py, charge_rounded_queries.py.
"""

import itertools
import sys
from fractions import Fraction
from typing import Any

import flint
import numpy as np
import pytest
from named_workloads import random_workload
from tolerances import ROUNDING

from mmopt import Program, Strategy, Workload, solve
from mmopt.compiler import Instance, bind
from mmopt.compiler.reductions import by_components
from mmopt.driver.judge.charge_rounded_queries import charged_objective
from mmopt.driver.judge.score_and_meaning import (
    FEASIBLE,
    bound_of,
    candidate,
    charged,
    scored,
    upper_value,
    within_targets,
)
from mmopt.driver.run_solver import Best
from mmopt.errors import OptionError
from mmopt.numerics.component_arrays import Level


def instance(rows: np.ndarray, program: str = "l2_strategy") -> Instance:
    return bind(Program.load(program), Workload.from_matrix(rows, targets=np.ones(len(rows))))


def test_a_feasible_point_stays_where_it_is() -> None:
    found = candidate(instance(np.tri(4)), {"X": np.eye(4)})
    assert found.variables["X"] == pytest.approx(np.eye(4), abs=0)
    assert found.before == found.after == 0.0
    assert found.is_feasible
    assert 10.0 <= found.objective <= 10.0 * (1 + ROUNDING)


def test_the_repair_scales_and_fills_the_diagonal(
    rng: np.random.Generator, subtests: pytest.Subtests
) -> None:
    for size in [1e-6, 0.7, 3.0, 1e6]:
        with subtests.test(size=size):
            rows = rng.normal(size=(6, 4))
            found = candidate(instance(np.tri(4)), {"X": size * rows.T @ rows})
            assert found.is_feasible
            assert np.diag(found.variables["X"]) == pytest.approx(np.ones(4), abs=ROUNDING)


def test_a_tiny_negative_eigenvalue_is_lifted_and_charged() -> None:
    vectors = np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0]
    x = (vectors * [1.0, 0.5, 0.2, -1e-9]) @ vectors.T
    found = candidate(instance(np.tri(4)), {"X": x})
    assert found.before == pytest.approx(
        -np.linalg.eigvalsh(x / np.sqrt(np.outer(*2 * [np.diag(x)])))[0], rel=1e-3
    )
    assert found.is_feasible and np.isfinite(found.objective)
    assert np.linalg.eigvalsh(found.variables["X"])[0] > 0


CONSTANT = """program one
choose
    x: vector[2] >= 0
minimize
    0
subject to
    s: sum(x) == 1
"""


def test_a_constant_objective_is_not_charged_for_misses_of_lines() -> None:
    one = bind(Program.parse(CONSTANT), Workload.from_matrix([[1.0]]))
    point = scored(one, {"x": np.array([0.1, 0.9 + 1e-15])})
    assert 0 < point.after <= FEASIBLE
    assert charged(one, point, {"s": 1e-3}).objective == 0.0
    assert charged(one, point, {"s": 1e-3}, rounded=True).objective > 0.0


def test_a_point_that_is_no_number_is_never_feasible(subtests: pytest.Subtests) -> None:
    for bad in [np.nan, np.inf]:
        with subtests.test(bad=bad):
            x = np.eye(3)
            x[1, 1] = bad
            try:
                found = candidate(instance(np.tri(3)), {"X": x})
            except np.linalg.LinAlgError:
                continue
            assert not found.is_feasible


@pytest.mark.quick
def test_the_objective_is_rounded_up_and_the_bound_down() -> None:
    """Against exact rational arithmetic: the trace of W X⁻¹ Wᵀ for a diagonal X, and W = identity."""
    n = 6
    x = np.diag(np.random.default_rng(2).uniform(0.1, 1.0, size=n))
    x[0, 0] = 1.0
    for program in ("l2_strategy", "l2_strategy_lmi"):
        inst = instance(np.eye(n), program)
        found = candidate(inst, {"X": x, "u": np.ones(n)})
        kept = found.variables["X"]
        assert np.array_equal(kept, np.diag(np.diag(kept)))
        exact = sum(1 / Fraction(float(v)) for v in np.diag(kept))
        assert Fraction(found.objective) >= exact
        assert found.objective <= float(exact) * (1 + 1e-11)
        # For W = I the certificate is (Σ √d)² / Σ d, which is n at uniform multipliers.
        bound = bound_of(inst, {"sensitivity": np.full(n, 0.3)})
        assert n * (1 - 1e-11) <= bound <= n


def test_bounds_at_multipliers_that_say_nothing() -> None:
    inst = instance(np.tri(4))
    for multipliers in (
        {},
        {"sensitivity": np.zeros(4)},
        {"sensitivity": -np.ones(4)},
        {"sensitivity": np.ones(3)},
        {"sensitivity": np.array([1.0, np.nan, 1.0, 1.0])},
        {"sensitivity": np.array([1.0, np.inf, 1.0, 1.0])},
        {"sensitivty": np.ones(4)},
    ):
        assert bound_of(inst, multipliers) == 0.0


def test_without_multipliers_zero_bounds_only_what_has_no_negative_value() -> None:
    """By the form of the objective: in fitness_for_use it is a variable, of either sign."""
    inst = instance(np.tri(3), "fitness_for_use")
    assert inst.checked.objective.sign == 0
    assert bound_of(inst, {}) is None


@pytest.mark.quick
def test_negative_multipliers_are_clipped(rng: np.random.Generator) -> None:
    inst = instance(np.tri(4))
    d = rng.normal(size=4)
    d[:2] = 1.0, -2.0
    assert bound_of(inst, {"sensitivity": d}) == bound_of(inst, {"sensitivity": np.maximum(d, 0.0)})


def test_the_length_of_the_multipliers_does_not_matter(rng: np.random.Generator) -> None:
    """Uniform ones give the singular value bound."""
    w = random_workload(rng)
    inst = bind(Program.load("fitness_for_use"), w)
    p, q = rng.uniform(size=w.n), rng.uniform(size=w.m)
    one = bound_of(inst, {"privacy": p, "accuracy": q})
    other = bound_of(inst, {"privacy": 1e3 * p, "accuracy": 1e-4 * q})
    assert one == pytest.approx(other, rel=1e-9)
    bound = bound_of(bind(Program.load("l2_strategy"), w), {"sensitivity": np.ones(w.n)})
    assert bound == pytest.approx(np.linalg.svd(w.matrix, compute_uv=False).sum() ** 2 / w.n, rel=1e-9)


L2_STRATEGY = Program.load("l2_strategy").text
LINES = L2_STRATEGY[: L2_STRATEGY.index("repair\n")].replace("program l2_strategy", "program own")
NO_REPAIR = Program.parse(LINES + "strategy\n    factor(X) norm 2\n")


def test_a_feasible_point_replaces_an_infeasible_one_with_a_lower_objective() -> None:
    inst = bind(NO_REPAIR, Workload.from_matrix(np.eye(3)))
    best = Best(inst)
    for size in (1.5, 0.5, 0.25, 2.0):
        best.offer({"X": size * np.eye(3)}, {})
    assert best.point is not None and best.point.is_feasible
    assert best.point.objective == pytest.approx(6.0)


@pytest.mark.quick
def test_a_constraint_may_be_missed_by_rounding_only() -> None:
    inst = bind(NO_REPAIR, Workload.from_matrix(np.eye(3)))
    for size, holds in ((1 + FEASIBLE, True), (1 + 3 * FEASIBLE, False)):
        assert scored(inst, {"X": size * np.eye(3)}).is_feasible is holds


def exact(matrix: np.ndarray) -> flint.fmpq_mat:
    return flint.fmpq_mat([[flint.fmpq(*float(x).as_integer_ratio()) for x in row] for row in matrix])


def fraction(number: flint.fmpq) -> Fraction:
    return Fraction(int(number.p), int(number.q))


def balls(matrix: np.ndarray) -> flint.arb_mat:
    return flint.arb_mat([[flint.arb(x) for x in row] for row in matrix.tolist()])


def exact_error(rows: np.ndarray, strategy: np.ndarray) -> Fraction:
    """Total error at exact rational numbers: longest column squared times trace(W inv(AᵀA) Wᵀ)."""
    w, a = exact(rows), exact(strategy)
    gram = a.transpose() * a
    errors = w * gram.inv() * w.transpose()
    largest = max(gram[i, i] for i in range(gram.nrows()))
    return fraction(largest * sum(errors[i, i] for i in range(w.nrows())))


def test_a_nearly_singular_strategy_is_not_taken_for_a_singular_one(subtests: pytest.Subtests) -> None:
    for tiny in [1e-3, 1e-6, 1e-12]:
        with subtests.test(tiny=tiny):
            rows = np.array([[1.0, 1.0 + 9e-10]])
            w = Workload.from_matrix(rows)
            s = solve(w, "augment", givens={"A": np.array([[1.0, 1.0], [tiny, -tiny]])})
            truth = exact_error(rows, s.strategy.matrix)
            assert truth <= Fraction(s.objective) <= truth * (1 + Fraction(1, 10**5))


def test_an_objective_in_lets_of_nearly_dependent_designs_is_not_below_the_truth(
    subtests: pytest.Subtests,
) -> None:
    for h in [1.0, 1e-2, 1e-4]:
        with subtests.test(h=h):
            design = np.array([[1, 1, 1], [1, 1 + h, 1], [1, 1, 1 + h], [1, 1 + h, 1 + h]])
            one = bind(Program.load("design_weighting"), Workload.from_matrix(np.eye(3)), {"D": design})
            found = candidate(one, {"u": np.ones(4)})
            d, u = exact(design), exact(np.diag(found.variables["u"]))
            inverse = (d.transpose() * u * d).inv()
            truth = fraction(sum(inverse[i, i] for i in range(3)))
            assert found.proved
            assert truth <= Fraction(found.objective) <= truth * (1 + Fraction(1, 10**6))


@pytest.mark.quick
def test_a_bound_in_lets_is_not_above_the_truth(rng: np.random.Generator, subtests: pytest.Subtests) -> None:
    for condition in [1.0, 1e3, 1e6]:
        with subtests.test(condition=condition):
            rows = rng.integers(1, 4, (5, 4)).astype(float)
            q = np.linalg.qr(rng.normal(size=(4, 4)))[0]
            q[3] = q[2] + q[3] / condition
            found = bind(Program.load("query_weighting"), Workload.from_matrix(rows), {"Q": q})
            bound = bound_of(found, {"sensitivity": np.ones(4)})
            with flint.ctx.workprec(300):
                w, d = balls(rows), balls(q)
                p = w * d.inv()
                weights = [sum((p[i, j] ** 2 for i in range(5)), flint.arb(0)) for j in range(4)]
                prices = [sum((d[j, i] ** 2 for i in range(4)), flint.arb(0)) for j in range(4)]
                roots = ((c * b).sqrt() for c, b in zip(weights, prices, strict=True))
                truth = sum(roots, flint.arb(0)) ** 2 / 4
                assert flint.arb(bound) <= truth <= flint.arb(bound) * (1 + 1e-4)


@pytest.mark.quick
def test_queries_beside_the_design_by_more_than_rounding_are_refused() -> None:
    w = Workload.from_matrix([[1.0, 1e-9], [1.0, 0.0]])
    with pytest.raises(OptionError, match=r"requires 'supports' of its data, and it is off by 1\.0e-09"):
        solve(w, "query_weighting", givens={"Q": np.array([[1.0, 0.0]])})


def test_strategies_of_low_rank_have_an_error_bound(
    monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    seen = []

    def watched(*args: Any) -> tuple[float, bool]:
        seen.append(upper_value(*args))
        return seen[-1]

    monkeypatch.setattr(sys.modules["mmopt.driver.solve_and_tune"], "upper_value", watched)
    margins = [[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]]
    for program in ["augment", "eigen_design", "singular_value_bound"]:
        with subtests.test(program):
            for rows in (np.ones((1, 5)), np.array(margins, dtype=float), np.tri(3)[:, [0, 0, 1, 2, 2]]):
                solve(Workload.from_matrix(rows), program)
                assert seen[-1][1]


def test_limits_are_rounded_up(rng: np.random.Generator) -> None:
    """The cost that ``repair`` sets is at least the largest, in exact numbers."""
    rows = rng.normal(size=(4, 4))
    sigma = np.diag([1.0, 1e3, 1e-3, 1e6]) + 1e-4 * rows @ rows.T
    found = candidate(instance(rows, "fitness_for_use"), {"alpha": np.zeros(()), "Sigma": sigma})
    inverse = exact(found.variables["Sigma"]).inv()
    assert Fraction(float(found.variables["alpha"])) >= max(fraction(inverse[i, i]) for i in range(4))


@pytest.mark.some(2)
@pytest.mark.parametrize("seed", [None, 40, 46, 104, 141])  # four of which rounding takes most
@pytest.mark.parametrize("program", ["fitness_for_use", "fitness_refined", "weighted_l2"])
def test_strategies_meet_their_targets_in_exact_numbers(
    program: str, seed: int | None, rng: np.random.Generator
) -> None:
    rng = rng if seed is None else np.random.default_rng(seed)
    rows, targets = rng.normal(size=(6, 6)), np.geomspace(1e-4, 1e4, 6)
    rows[5] = rows[4] + 1e-4 * rows[5]
    strategy = solve(Workload.from_matrix(rows, targets=targets), program).strategy.matrix
    with flint.ctx.workprec(400):
        w, a = balls(rows), balls(strategy)
        variances = w * (a.transpose() * a).inv() * w.transpose()
        assert all(variances[j, j] <= flint.arb(c) for j, c in enumerate(targets.tolist()))


def test_one_query_beside_those_that_a_start_looks_at() -> None:
    s = solve(Workload.from_matrix(np.eye(300)[299:]), "l2_strategy", reduce=False)
    assert s.status.stop == "gap reached"


def test_figures_hold_for_the_queries_and_not_only_for_their_root(
    rng: np.random.Generator, subtests: pytest.Subtests
) -> None:
    """The root comes from a QR factorisation; what that rounds off is less than figures are rounded by."""
    for scale, rank in itertools.product([1.0, 1e8], [3, 6]):
        with subtests.test(scale=scale, rank=rank):
            rows = rng.integers(1, 4, (30, rank)) @ rng.integers(0, 3, (rank, 6)) + np.eye(1, 6)
            rows[::2] *= scale
            s = solve(Workload.from_matrix(rows), "l2_strategy", reduce=False)
            prices = np.maximum(np.asarray(s.multipliers["sensitivity"]), 0.0)
            zero = flint.arb(0)
            with flint.ctx.workprec(300):
                w, x = balls(rows), balls(s.variables["X"])
                errors = w * x.inv() * w.transpose()
                assert sum((errors[i, i] for i in range(30)), zero) <= flint.arb(s.objective)
                roots = [flint.arb(price).sqrt() for price in prices]
                k = flint.arb_mat([[w[i, j] * roots[j] for j in range(6)] for i in range(30)])
                values = flint.acb_mat(k.transpose() * k).eig(algorithm="approx")
                norm = sum((abs(v.real).sqrt() for v in values), zero)
                assert flint.arb(s.bound) <= norm**2 / sum((flint.arb(p) for p in prices.tolist()), zero)


def test_a_bound_is_one_of_the_queries_not_of_their_rounded_root(subtests: pytest.Subtests) -> None:
    """Rows a_i 1ᵀ: the certificate at equal multipliers is Σ a², whatever the root is rounded to."""
    for by_component in [False, True]:
        with subtests.test(by_component=by_component):
            rng = np.random.default_rng(11)
            for cells in range(2, 40):
                a = rng.normal(size=5) * 10.0 ** rng.integers(-3, 8)
                workload = Workload.from_matrix(a[:, None] * np.ones(cells))
                found = bind(Program.load("l2_strategy"), workload)
                if by_component:
                    found = by_components(found.checked, workload, {})[0]
                space = found.env["W"].columns if by_component else None
                ones = np.ones(cells if space is None else len(space.sizes))
                bound = bound_of(found, {"sensitivity": ones if space is None else Level(space, ones)})
                truth = sum(Fraction(x) ** 2 for x in a.tolist())
                assert truth * (1 - Fraction(1, 10**10)) <= Fraction(bound) <= truth


def test_rows_as_they_are_cost_a_bound_nothing() -> None:
    """Beside them five copies of each, whose root comes from a QR factorisation."""
    few, many = (instance(np.repeat(np.tri(3), copies, axis=0)) for copies in (1, 5))
    one, five = (bound_of(i, {"sensitivity": np.ones(3)}) for i in (few, many))
    assert few.workload.root_rounding == 0.0 < many.workload.root_rounding < 1e-13
    assert 1e-15 < 1 - five / (5 * one) < 1e-12


def test_an_objective_holds_for_queries_whose_root_the_condition_amplifies(subtests: pytest.Subtests) -> None:
    for large, proved in [(10.0, True), (1e8, False)]:
        with subtests.test(large=large, proved=proved):
            rows = [[1e6, 1e6, 1e6], [0, 1e-6, -1e-6], [0, -large, -large], [1e3, 1e3, 1e3]]
            w = Workload.from_matrix(rows if large > 10 else [[1, 0, 0], [0, large, 1], [0, 1, 0], [1, 1, 1]])
            one = bind(Program.load("augment"), w)
            assert w.root_rounding > 0
            value = upper_value(one.program.objective, one.env)[0]
            charged, still = charged_objective(one, one.env, value, True)
            assert still is proved
            assert charged > value if proved else charged >= value
            assert not proved or exact_error(w.queries, one.env["C"]) <= Fraction(charged)


def test_what_scaling_does_not_mend_is_an_estimate() -> None:
    """A known total missed by rounding: 0.2 counts of 1e9 are worth 0.02, the whole of the objective."""
    rows = np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    y = np.array([1e9, 5e8 + 0.3, 5e8 - 0.1])
    givens = {"y": y, "s": np.array([1e6, 1.0, 1.0]), "known": np.array([1.0, 0.0, 0.0]), "most": 1e10}
    one = bind(Program.load("refine_counts"), Workload.from_matrix(rows), givens)
    found = scored(one, {"x": y[1:]})
    assert 0.0 < found.after <= FEASIBLE and not found.proved
    assert scored(instance(np.tri(4)), {"X": np.diag([1.0 + 1e-11, 1, 1, 1])}).proved


def test_targets_that_lost_digits_put_beyond_are_met_with_more_noise() -> None:
    """An excess beyond the usual one is removed where variances lose so many digits to the condition."""
    strategy = Strategy(np.diag([1.0, 1e-5]), 2)
    variances = np.array([1.0, 1e10])
    workload = Workload.from_matrix(np.eye(2), targets=variances / (1 + 5e-6))
    met = within_targets(strategy, workload)
    assert (met.variances(workload) <= workload.targets).all() and met is not strategy
