"""Strategies by sets of attributes as a space: error, variances and longest column are those over the cells,
and what a measure proves is below the nuclear norm there.

Guards the use of a space's ``root_trace`` in language/atoms/component_forms.py, set_strategy_and_cells.py,
sectors/total_error_bounds.py and compiler/reductions/symmetry_and_row_space.py, too.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import tolerances

from mmopt import Workload
from mmopt.compiler import Instance
from mmopt.compiler.reductions.symmetry_and_row_space import on_sets
from mmopt.driver.judge.score_and_meaning import bound_of, candidate, meaning
from mmopt.errors import ProgramError
from mmopt.language import evaluate, shipped
from mmopt.language.atoms.table_of_atoms import FUNCTIONS
from mmopt.language.syntax.parse_and_write_expressions import parse_expr
from mmopt.language.syntax.source_text import Source, Text
from mmopt.numerics.arrays import EPS, Array
from mmopt.numerics.component_arrays import Level, Measure, Split
from mmopt.sectors import total_error_bounds
from mmopt.sectors.functions_of_few import Mixture
from mmopt.sectors.residual_strategies import FewProduct
from mmopt.strategies import SetStrategy
from mmopt.strategies.set_strategy_and_cells import SetCells, _below, best_by_sets
from mmopt.testing.problem_registry import domain_of
from mmopt.workloads import Product, factors_and_products as f
from mmopt.workloads.blocks.combined_blocks import RowWeighted

NEAR = 1e-3
"""Relative: the bound on a nuclear norm loses 3e-4 (tests/sectors/test_root_trace.py)."""


def asked(rng: np.random.Generator) -> Workload:
    """A few products of at most three attributes, several kinds of factors on one, weights of all sorts."""
    sizes = rng.integers(1, 5, size=rng.integers(2, 5)).tolist()
    sizes[0] = max(sizes[0], 2)
    kinds = [
        [f.prefix(d), f.identity(d), f.predicates(np.eye(d)[-1:]), RowWeighted(f.prefix(d), weights)]
        for d, weights in ((d, rng.uniform(0.3, 3.0, d)) for d in sizes)
    ]
    products = []
    for _ in range(rng.integers(2, 6)):
        own = rng.permutation(len(sizes))[: rng.integers(0, min(4, len(sizes) + 1))]
        factors = [kinds[i][rng.integers(4)] if i in own else f.total(d) for i, d in enumerate(sizes)]
        targets = {"weight": float(rng.choice([1.0, 0.3, 5.0])), "target": float(rng.uniform(0.5, 2.0))}
        products.append(Product(tuple(factors), **targets))
    return Workload.from_products(domain_of(*sizes), products)


def sets_of(workload: Workload) -> tuple[tuple[int, ...], ...]:
    """All that some query has a part in."""
    looked = [[i for i in own.looked_at if workload.domain.shape[i] > 1] for own in workload.products or ()]
    found = {one for own in looked for k in range(len(own) + 1) for one in itertools.combinations(own, k)}
    return tuple(sorted(found, key=lambda one: (len(one), one)))


def cells_of(rng: np.random.Generator, workload: Workload) -> SetCells:
    """Random rows, by which all values are told, far from the constant."""
    rows = tuple(rng.uniform(-0.2, 0.2, (d - 1, d)) + np.eye(d - 1, d) for d in workload.domain.shape)
    sets = sets_of(workload)
    return SetCells.of(SetStrategy(rows, sets, np.ones(len(sets))), workload)


def blocks(cells: SetCells) -> list[Array]:
    """B_S of each set over the cells."""
    found = []
    for one in cells.unit.sets:
        rows = np.ones((1, 1))
        for i, a in enumerate(cells.unit.matrices):
            rows = np.kron(rows, a if i in one else np.ones((1, a.shape[1])))
        found.append(rows)
    return found


def gram(cells: SetCells, x: Sequence[float]) -> Array:
    return np.asarray(sum(w * b.T @ b for w, b in zip(x, blocks(cells), strict=True)))


def on(cells: SetCells, x: Sequence[float]) -> Split:
    return Split(cells, cells, tuple(np.full((1, 1), w) for w in x))


def bound_to(program: str, workload: Workload, cells: SetCells) -> Instance:
    return on_sets(shipped(program), workload, {}, cells)[0]


def product_measure(rng: np.random.Generator, cells: SetCells) -> tuple[Mixture, Array]:
    """One of mass 3, and (n,) over the cells."""
    factors = [rng.dirichlet(np.ones(d)) for d in cells.unit.sizes]
    whole = np.ones(1)
    for own in factors:
        whole = np.kron(whole, own / own.sum())
    return Mixture(np.array([3.0]), tuple(own[None] for own in factors)), 3.0 * whole


def nuclear(matrix: Array) -> float:
    return float(np.linalg.svd(matrix, compute_uv=False).sum())


@pytest.mark.quick
@pytest.mark.draws(8)
def test_the_lines_come_to_what_they_do_over_the_cells(rng: np.random.Generator) -> None:
    workload = asked(rng)
    cells = cells_of(rng, workload)
    x = rng.uniform(0.1, 2.0, cells.count)
    whole, w = gram(cells, x), workload.matrix
    variances = np.einsum("ij,ij->i", w @ np.linalg.pinv(whole, hermitian=True, rcond=1e-11), w)

    instance = bound_to("l2_strategy", workload, cells)
    at = instance.env["W"].columns
    env = {**instance.env, "X": on(at, x)}
    assert evaluate(instance.program.objective, env) == pytest.approx(variances.sum(), rel=tolerances.SHAPE)
    longest = at.largest_entry(env["X"].parts)
    assert whole.diagonal().max() * (1 - tolerances.ROUNDING) <= longest
    assert longest == pytest.approx(whole.diagonal().max(), rel=tolerances.SHAPE)
    point = candidate(instance, {"X": env["X"]})
    assert point.is_feasible and point.proved
    assert point.objective == pytest.approx(longest * variances.sum(), rel=tolerances.SHAPE)
    strategy = meaning(instance, point.env)[0]
    rows = strategy.implicit().matrix()
    np.testing.assert_allclose(rows.T @ rows, whole / longest, atol=tolerances.SHAPE)

    worst = bound_to("minimax_variance", workload, cells)
    found = candidate(worst, {"X": env["X"], "t": 1.0})
    assert found.is_feasible and found.proved
    assert found.objective == pytest.approx(longest * variances.max(), rel=tolerances.SHAPE)
    each = np.zeros(len(w))
    for part, label, one in zip(cells.queries.parts, cells.queries.rows.labels or (), x, strict=True):
        each[label] += part[:, 0] ** 2 / one
    np.testing.assert_allclose(each, variances, rtol=tolerances.SHAPE)


@pytest.mark.draws(3)
def test_targets_are_met_as_over_the_cells(rng: np.random.Generator) -> None:
    """A covariance of the rows of all sets: scaled to the targets, its privacy cost is the longest column."""
    workload = asked(rng)
    cells = cells_of(rng, workload)
    instance = bound_to("fitness_for_use", workload, cells)
    inner = instance.env["B"].rows
    x = rng.uniform(0.1, 2.0, cells.count)
    sigma = Split(inner, inner, tuple(np.full((1, 1), 1 / w) for w in x))
    point = candidate(instance, {"Sigma": sigma, "alpha": 1.0})
    whole, q = gram(cells, x), workload.queries
    ratios = np.einsum("ij,ij->i", q @ np.linalg.pinv(whole, hermitian=True, rcond=1e-11), q)
    worst = float((ratios / workload.targets).max())
    assert point.is_feasible and point.proved
    assert point.objective == pytest.approx(whole.diagonal().max() * worst, rel=tolerances.SHAPE)
    strategy = meaning(instance, point.env)[0]
    assert (strategy.variances(workload) / workload.targets).max() == pytest.approx(1, rel=tolerances.SHAPE)


@pytest.mark.quick
@pytest.mark.draws(8)
def test_what_a_measure_proves_is_below_the_nuclear_norm(rng: np.random.Generator) -> None:
    workload = asked(rng)
    cells = cells_of(rng, workload)
    mixture, d = product_measure(rng, cells)
    w = workload.matrix * np.sqrt(d)
    root = cells.root.parts
    own = nuclear(w)
    plain = cells.root_trace(root, mixture)
    assert own * (1 - NEAR) <= plain <= own * (1 + tolerances.ROUNDING)
    # ten times the queries are at least the queries
    assert cells.root_trace([10 * part for part in root], mixture) == plain
    bound = bound_of(bound_to("l2_strategy", workload, cells), {"sensitivity": Measure(cells, mixture)})
    assert bound is not None
    assert plain**2 / 3.0 * (1 - tolerances.INTEGERS) <= bound <= plain**2 / 3.0

    queries, labels = cells.queries, cells.queries.rows.labels
    assert labels is not None

    def weighted(q: Array) -> tuple[float, float]:
        parts = [part * np.sqrt(q[at])[:, None] for part, at in zip(queries.parts, labels, strict=True)]
        return cells.root_trace(parts, mixture), nuclear(np.sqrt(q)[:, None] * w)

    products = workload.products or ()
    shapes = [[factor.rows for factor in own.factors] for own in products]
    sizes = [math.prod(shape) for shape in shapes]
    separate = []
    for shape in shapes:
        own_weights = np.full(1, rng.uniform(0.1, 2.0))
        for rows in shape:
            own_weights = np.kron(own_weights, rng.uniform(0.1, 1.0, rows))
        separate.append(own_weights)
    for q in (np.ones(workload.m), np.concatenate(separate)):
        found, dense = weighted(q)
        assert dense * (1 - NEAR) <= found <= dense * (1 + tolerances.ROUNDING)
    # none of a product's queries weighs anything, or the first ones of each
    gone = np.concatenate([np.full(size, float(k > 0)) for k, size in enumerate(sizes)])
    half = np.concatenate([np.arange(size) >= size // 2 for size in sizes]).astype(float)
    for q in (rng.uniform(0.0, 1.0, workload.m), gone, half, rng.dirichlet(np.full(workload.m, 0.1))):
        found, dense = weighted(q)
        assert 0.0 <= found <= dense * (1 + tolerances.ROUNDING)
    assert weighted(np.zeros(workload.m))[0] == 0.0


def test_the_rounding_of_gram_matrices_is_charged(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The charge is as many roundings as the largest factor has rows."""
    workload = Workload.from_products(domain_of(3), [Product((f.predicates(rng.integers(1, 4, (90, 3))),))])
    cells, told = cells_of(rng, workload), []
    mixture, _ = product_measure(rng, cells)
    monkeypatch.setattr(total_error_bounds, "root_trace_below", lambda *asked: told.append(asked[2]) or 7.0)
    for parts in (cells.root.parts, cells.queries.parts):
        assert cells.root_trace(parts, mixture) == pytest.approx(7.0 * math.sqrt(3), rel=1e-14)
    assert len(told) == 2 and all((90 + 2) * EPS <= off <= 200 * EPS for off in told)


def test_weights_of_queries_prove_a_bound_of_the_largest_variance(rng: np.random.Generator) -> None:
    workload = asked(rng)
    cells = cells_of(rng, workload)
    mixture, d = product_measure(rng, cells)
    instance = bound_to("minimax_variance", workload, cells)
    level = Level(instance.env["W"].rows, np.full(workload.m, 2.0))
    found = bound_of(instance, {"sensitivity": Measure(cells, mixture), "accuracy": level})
    dense = nuclear(workload.matrix * np.sqrt(d)) ** 2 / (3.0 * workload.m)
    assert found is not None
    assert dense * (1 - 2 * NEAR) <= found <= dense * (1 + tolerances.ROUNDING)


def test_queries_that_are_not_known_prove_nothing(rng: np.random.Generator) -> None:
    workload = Workload.from_products(domain_of(3, 2), [Product((f.prefix(3), f.identity(2)))])
    cells = cells_of(rng, workload)
    mixture, d = product_measure(rng, cells)
    root, queries = list(cells.root.parts), list(cells.queries.parts)
    full = cells.root_trace(root, mixture)
    assert full > 0
    for less in (
        [0.999 * root[0], *root[1:]],
        [*root[:-1], (1 - 1e-14) * root[-1]],
        [-root[0], *root[1:]],
        root[:-1],
        queries[:-1],
        [np.ones((2, 1)) for _ in root],
    ):
        assert cells.root_trace(less, mixture) == 0.0
    # of a query that is less in one set than its weight says in the others the least counts
    for at, label in enumerate(cells.queries.rows.labels or ()):
        q = np.ones(workload.m)
        q[label] = 0.25
        parts = [0.5 * own if k == at else own for k, own in enumerate(queries)]
        assert 0 < cells.root_trace(parts, mixture) <= nuclear(np.sqrt(np.outer(q, d)) * workload.matrix)
    two = Mixture(np.ones(2), tuple(np.vstack([own, own]) for own in mixture.factors))
    other = Mixture(np.ones(1), tuple(np.full((1, 4), 0.25) for _ in mixture.factors))
    for unknown in (two, other):
        assert not cells.takes(unknown)
        assert cells.root_trace(root, unknown) == 0.0


def test_weights_of_queries_are_rounded_down_to_products(rng: np.random.Generator) -> None:
    """Exactly: with single values for queries the Gram matrices are the weights."""
    shape = (3, 4)
    product = Product((f.identity(3), f.total(5), f.identity(4)), weight=0.7)
    for _ in range(40):
        factors = [10.0 ** rng.uniform(-6, 0, d) for d in shape]
        scales = np.multiply.outer(*factors) * 10.0 ** (
            rng.uniform(-3, 3, shape) if rng.random() < 0.5 else 0
        )
        scales[rng.random(shape) < 0.1] = 0.0
        found = _below(product, scales.ravel())
        assert found.attributes == (0, 2)
        for i, j in np.ndindex(*shape):
            entries = [Fraction(float(g[k, k])) for g, k in zip(found.grams, (i, j), strict=True)]
            most = Fraction(product.weight) * Fraction(float(scales[i, j]))
            assert Fraction(found.weight) * entries[0] * entries[1] <= most


def test_the_longest_column_is_rounded_up(rng: np.random.Generator, subtests: pytest.Subtests) -> None:
    """Exactly, of rows of any length; negative weights, which no strategy has, count as none."""
    for turn in range(20):
        with subtests.test(turn=turn):
            workload = asked(rng)
            cells = cells_of(rng, workload)
            if turn % 2:
                scaled = tuple(a * 10.0 ** rng.uniform(-2, 2) for a in cells.unit.matrices)
                cells = replace(cells, unit=replace(cells.unit, matrices=scaled))
            each = [
                max(sum((Fraction(v) ** 2 for v in column), Fraction(0)) for column in a.T.tolist())
                for a in cells.unit.matrices
            ]
            if not turn % 2:
                assert all(1 <= length <= 1 + 1e-12 for length in each if length)
            x = rng.uniform(0.0, 2.0, cells.count)
            sizes = [math.prod((each[i] for i in one), start=Fraction(1)) for one in cells.unit.sets]
            exact = sum((Fraction(w) * size for w, size in zip(x.tolist(), sizes, strict=True)), Fraction(0))
            found = cells.largest_entry(on(cells, x).parts)
            assert exact <= Fraction(found) <= exact * (1 + Fraction(1, 10**12))
            assert Fraction(cells.longest) >= sum(sizes)
            assert (
                cells.largest_entry(on(cells, [-1.0, *x[1:]]).parts)
                >= float(exact - Fraction(x[0])) * (1 - tolerances.SHAPE)
                or sizes[0] != 1
            )


def test_small_workloads(rng: np.random.Generator, subtests: pytest.Subtests) -> None:
    """Attributes of one value, the total alone, one query: the best strategy, its error and its bound."""
    totals = [f.total(3), f.total(2)]
    for name, sizes, products in [
        ("one value", (1, 3), [(f.identity(1), f.prefix(3)), (f.total(1), f.identity(3))]),
        ("the total alone", (3, 2), [tuple(totals)]),
        ("the total and a point", (3, 2), [tuple(totals), (f.predicates(np.eye(3)[:1]), totals[1])]),
        ("one attribute", (4,), [(f.prefix(4),)]),
    ]:
        with subtests.test(name):
            workload = Workload.from_products(domain_of(*sizes), [Product(own) for own in products])
            cells = best_by_sets(workload)
            x = np.full(cells.count, 1.0 / cells.count)
            instance = bound_to("l2_strategy", workload, cells)
            point = candidate(instance, {"X": on(cells, x)})
            whole = gram(cells, x)
            error = np.vdot(workload.matrix.T @ workload.matrix, np.linalg.pinv(whole, rcond=1e-11))
            assert point.objective == pytest.approx(error * whole.diagonal().max(), rel=tolerances.SHAPE)
            mixture = Mixture(np.ones(1), tuple(own[None] for own in cells.measures))
            d = np.ones(1)
            for own in cells.measures:
                d = np.kron(d, own / own.sum())
            found = bound_of(instance, {"sensitivity": Measure(cells, mixture)})
            dense = nuclear(workload.matrix * np.sqrt(d)) ** 2
            assert found is not None
            assert dense * (1 - 2 * NEAR) <= found <= dense * (1 + tolerances.ROUNDING)


def test_what_does_not_fit_together_is_taken_apart(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    for most in (4, 1, 0):
        monkeypatch.setattr("mmopt.sectors.total_error_bounds.LARGEST", most)
        workload = asked(rng)
        cells = cells_of(rng, workload)
        mixture, d = product_measure(rng, cells)
        found = cells.root_trace(cells.root.parts, mixture)
        products = workload.products or ()
        each = [np.sqrt(p.weight) * p.weighed().rows(0, p.m) for p in products]
        assert found <= nuclear(workload.matrix * np.sqrt(d)) * (1 + tolerances.ROUNDING)
        apart = math.sqrt(sum(nuclear(own * np.sqrt(d)) ** 2 for own in each))
        assert found >= apart * (1 - NEAR)


def test_a_product_that_stands_alone_is_proved(rng: np.random.Generator) -> None:
    """Products of full rank and of one row, where roots of rounding errors would count."""
    for rows in (np.tri(4), rng.uniform(size=(1, 4)), rng.uniform(size=(6, 4)) @ np.diag([1, 1e-7, 1, 1])):
        measure = rng.dirichlet(np.ones(4))
        product = FewProduct((0,), (rows.T @ rows,), 2.0)
        exact = math.sqrt(2.0) * nuclear(rows * np.sqrt(measure))
        found = total_error_bounds._root_trace_of_one(product, [measure], 16 * EPS)
        assert exact * (1 - 1e-5) <= found <= exact * (1 - 1e-9)


def test_weighed_queries_have_a_nuclear_norm_alone(rng: np.random.Generator) -> None:
    cells = cells_of(rng, asked(rng))
    mixture, _ = product_measure(rng, cells)
    env = {"W": cells.root, "d": Measure(cells, mixture)}

    def value(text: str) -> float:
        return float(evaluate(parse_expr(Text(Source("t", (text,)), text, 1, 1), FUNCTIONS), env))

    assert value("nuclear(W @ diag(sqrt(d)))") == cells.root_trace(cells.root.parts, mixture)
    for other in ("sigma_max(W @ diag(sqrt(d)))", "trace((W @ diag(sqrt(d))) @ (W @ diag(sqrt(d))).T)"):
        with pytest.raises(ProgramError):
            value(other)
