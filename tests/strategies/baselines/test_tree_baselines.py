"""Hierarchies, wavelets, GreedyH and trees of blocks: known sensitivities, errors, shares and branching."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from symmetric_workloads import random_factor
from tolerances import FINE, ROUNDING

from mmopt.strategies import Strategy
from mmopt.strategies.baselines import baseline, evaluate
from mmopt.strategies.baselines.attribute_baselines import best_branching, best_share, same_throughout
from mmopt.testing.problem_registry import domain_of
from mmopt.workloads import Product, Workload, factors_and_products as f
from tests.strategies.asked import line, marginals_of

KINDS = {"prefix": f.prefix, "all ranges": f.all_range}


def energies(n: int, kind: str) -> list[tuple[int, Fraction]]:
    """(eigenvalue of YᵀY, tr(G P) of its eigenspace P), the total first, then by half h of the blocks.

    The eigenvectors are the wavelet's rows (Theorem F.45). t_k, the row's sum over cells 1 to k, is k for
    the total, and 0, 1, …, h, h - 1, …, 0 on the block of a difference. Prefixes have Σ t², and ranges, as
    differences of the n + 1 prefixes from 0 to n, have (n + 1) Σ t² - (Σ t)².
    """
    found = []
    whole = [(n, 1, Fraction(n * (n + 1) * (2 * n + 1), 6), Fraction(n * (n + 1), 2))]
    halves = [n >> level for level in range(1, n.bit_length())]
    parts = [(2 * h, n // (2 * h), Fraction(2 * h**3 + h, 3), Fraction(h * h)) for h in halves]
    for value, count, squares, total in whole + parts:
        one = squares if kind == "prefix" else (n + 1) * squares - total**2
        found.append((value, count * one / value))  # ‖row‖² is the eigenvalue
    return found


def test_errors_are_rational_numbers(subtests: pytest.Subtests) -> None:
    """The hierarchy's eigenvalues are the wavelet's less one, and 2n - 1 for the total."""
    for kind, levels in itertools.product(KINDS, (0, 1, 4, 7)):
        with subtests.test(kind=kind, levels=levels):
            n = 2**levels
            parts = energies(n, kind)
            wavelet = sum(energy / value for value, energy in parts)
            tree = parts[0][1] / (2 * n - 1) + sum(energy / (value - 1) for value, energy in parts[1:])
            workload = line(KINDS[kind](n))
            for norm in (1, 2):
                for name, squared in (("wavelet", wavelet), ("hierarchical(branching=2)", tree)):
                    (cost,) = evaluate(name, workload, (norm,)).costs
                    assert cost.sensitivity**norm == pytest.approx(1 + levels, rel=ROUNDING)
                    exact = float((1 + levels) ** (2 // norm) * squared)
                    assert cost.error == pytest.approx(exact, rel=10 * ROUNDING)
                (cost,) = evaluate("identity", workload, (norm,)).costs
                assert cost.error == sum(energy for _, energy in parts)


def test_sensitivities_of_any_number_of_cells(subtests: pytest.Subtests) -> None:
    for n in [1, 2, 3, 5, 6, 7, 9, 13, 31, 33]:
        with subtests.test(n=n):
            workload = line(f.identity(n))
            for branching in (2, 3, 8):
                depth = next(d for d in range(n) if branching**d >= n)
                name = f"hierarchical(branching={branching}"
                assert baseline(f"{name})", workload, 1).sensitivity == 1 + depth
                assert baseline(f"{name}, root=False)", workload, 1).sensitivity == max(depth, 1)
            depth = (n - 1).bit_length()
            assert baseline("wavelet", workload, 1).sensitivity == 1 + depth
            assert baseline("wavelet", workload, 2).sensitivity ** 2 == pytest.approx(1 + depth, rel=ROUNDING)


def cost_of(z: np.ndarray, a: float, b: float, s: float, norm: int) -> np.ndarray:
    return (1 + z) ** (3 - norm) * (a + b / (1 + s * z ** (3 - norm)))


def test_a_share_is_the_best(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for norm in [1, 2]:
        with subtests.test(norm=norm):
            for _ in range(6):
                a, b, s = (float(x) for x in 10.0 ** rng.uniform(-2, 3, size=3))
                z = best_share(a, b, s, norm)
                grid = np.concatenate([[0.0], np.logspace(-6, 4, 4001)])
                assert cost_of(np.array(z), a, b, s, norm) <= cost_of(grid, a, b, s, norm).min() * (1 + FINE)


def test_two_cells_have_the_best_tree(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for norm in [1, 2]:
        with subtests.test(norm=norm):
            workload = Workload.from_matrix(rng.normal(size=(4, 2)) + 0.5)
            found = evaluate("greedy_h", workload, (norm,)).costs[0].error
            shares = np.linspace(0, 0.999, 300)
            trees = [
                np.vstack([x ** (1 / norm) * np.ones(2), (1 - x) ** (1 / norm) * np.eye(2)]) for x in shares
            ]
            assert found <= min(Strategy(tree, norm).total_error(workload) for tree in trees) * (1 + FINE)


def one_attribute(rng: np.random.Generator) -> Workload:
    """Two blocks of any kinds over the same cells, or a matrix."""
    n = int(rng.integers(1, 9))
    if rng.random() < 0.3:
        return Workload.from_matrix(rng.integers(1, 3, size=(5, n)), weights=rng.uniform(0.5, 2.0, size=5))
    products = [Product((random_factor(rng, n),), weight=float(rng.uniform(0.5, 2.0))) for _ in range(2)]
    return Workload.from_products(domain_of(n), products)


@pytest.mark.quick
def test_queries_that_are_constant_on_a_block(rng: np.random.Generator) -> None:
    for _ in range(6):
        workload = one_attribute(rng)
        rows, weights = workload.queries, workload.weights
        found = same_throughout(workload)
        assert len(found) == 2 * workload.n - 1
        for (start, stop), value in found.items():
            part = rows[:, start:stop]
            same = (part == part[:, :1]).all(axis=1)
            assert value == pytest.approx(weights[same] @ part[same, 0] ** 2, rel=FINE)


def test_columns_have_norm_1_also_at_extremes() -> None:
    """Cells alone: the identity. The total alone: the total, but for weights that keep the cells measured."""
    for norm, n in itertools.product([1, 2], [1, 2, 3, 7, 16]):
        strategy = baseline("greedy_h", line(f.all_range(n)), norm)
        powers = (np.abs(strategy.matrix) ** norm).sum(axis=0)
        np.testing.assert_allclose(powers, 1.0, rtol=FINE, err_msg=f"{n} cells")
    np.testing.assert_array_equal(baseline("greedy_h", line(f.identity(8)), 1).matrix, np.eye(8))
    for norm in (1, 2):
        (cost,) = evaluate("greedy_h", line(f.total(8)), (norm,)).costs
        assert 1.0 <= cost.error < 1.001


def test_better_than_equal_weights_on_ranges(subtests: pytest.Subtests) -> None:
    for block in [f.prefix, f.all_range]:
        with subtests.test(block.__name__):
            weighted, equal = (evaluate(name, line(block(64))).costs for name in ("greedy_h", "hierarchy"))
            assert all(one.error < other.error for one, other in zip(weighted, equal, strict=True))


def test_branching_of_hb(subtests: pytest.Subtests) -> None:
    """Up to some 150 cells a single level is best; 4096 = 16³ beats 64²."""
    for n, branching in [(1, 2), (2, 2), (16, 16), (128, 128), (256, 16), (512, 23), (1024, 32), (4096, 16)]:
        with subtests.test(n=n, branching=branching):
            assert best_branching(n) == branching
            if n > 2:
                heights = {b: next(h for h in range(1, 99) if b**h >= n) for b in range(2, n + 1)}
                cost = {b: (b - 1) * h**3 - 2 * (b + 1) * h**2 / 3 for b, h in heights.items()}
                assert cost[branching] == min(cost.values())


def test_total_is_measured_with_a_given_branching() -> None:
    workload = line(f.all_range(27))
    with_total, without = (
        baseline(f"hierarchical(branching=3{own})", workload).matrix for own in ("", ", root=False")
    )
    np.testing.assert_array_equal(with_total[0], np.ones(27))
    np.testing.assert_array_equal(with_total[1:], without)
    assert evaluate("hierarchical", workload).detail == "branching 27, no total"
    assert evaluate("hierarchical(root=True)", workload).detail == "branching 27"


def test_attributes_have_products() -> None:
    workload = marginals_of((3, 4), (0, 1))
    rows = np.kron(f.hierarchy(3).matrix(), f.hierarchy(4).matrix())
    np.testing.assert_array_equal(baseline("hierarchy", workload).matrix, rows)
    # Three values in a wavelet of four: the last row is about cell 2 alone.
    wavelet = baseline("haar", marginals_of((3,), (0,))).matrix
    np.testing.assert_array_equal(wavelet, [[1, 1, 1], [1, 1, -1], [1, -1, 0], [0, 0, 1]])


def test_quadtree_asks_every_block_once(subtests: pytest.Subtests) -> None:
    for branching, sizes in itertools.product([2, 3], [(4, 4), (3, 2), (5, 1), (2, 3, 4), (8, 3)]):
        with subtests.test(branching=branching, sizes=sizes):
            workload = marginals_of(sizes, tuple(range(len(sizes))))
            rows = baseline(f"quadtree(branching={branching})", workload, 1).matrix
            assert len({tuple(row) for row in rows}) == len(rows)
            common, counts = rows @ rows.T, rows.sum(axis=1)
            assert np.all((common == 0) | (common == np.minimum.outer(counts, counts)))  # a tree
            np.testing.assert_array_equal(rows[0], np.ones(workload.n))
            np.testing.assert_array_equal(rows[counts == 1].sum(axis=0), np.ones(workload.n))
            for row in rows:  # boxes: products of ranges
                box = row.reshape(sizes)
                for axis in range(len(sizes)):
                    along = np.flatnonzero(box.any(axis=tuple(i for i in range(len(sizes)) if i != axis)))
                    assert np.array_equal(along, np.arange(along[0], along[-1] + 1))
            depth = next(d for d in range(9) if branching**d >= max(sizes))
            assert rows.sum(axis=0).max() == 1 + depth


def test_quadtree_of_4_by_4() -> None:
    workload = marginals_of((4, 4), (0, 1), ())
    (one, two) = evaluate("quadtree", workload).costs
    assert one.rows == 1 + 4 + 16 and one.sensitivity == 3.0
    assert two.sensitivity**2 == pytest.approx(3.0, rel=ROUNDING)
    reason = evaluate("quadtree", line(f.prefix(4))).reason
    assert reason == "for one attribute it is hierarchical(branching=2)"
