"""The Fourier basis is orthonormal, and BMAX is the best of all sets of marginals.

Guards few_attribute_baselines.py.
"""

import itertools
import math

import numpy as np
import pytest
from tolerances import FINE, ROUNDING

from mmopt.strategies.baselines import baseline, evaluate
from mmopt.strategies.baselines.few_attribute_baselines import bmax, real_fourier
from mmopt.workloads import factors_and_products as f
from tests.strategies.asked import line, marginals_of


def test_the_real_fourier_basis_is_orthonormal(subtests: pytest.Subtests) -> None:
    for n in range(1, 10):
        with subtests.test(n=n):
            basis = real_fourier(n)
            np.testing.assert_allclose(basis @ basis.T, np.eye(n), atol=ROUNDING)
            np.testing.assert_allclose(basis[0], 1 / math.sqrt(n), rtol=ROUNDING)


def test_binary_attributes_have_the_hadamard_basis() -> None:
    """Barak et al.: coefficients ±2^(-d/2), one for each set below an asked marginal."""
    d = 4
    workload = marginals_of((2,) * d, (0, 1), (1, 2), (3,))
    rows = baseline("fourier", workload, 1).matrix
    np.testing.assert_allclose(np.abs(rows), 2 ** (-d / 2), rtol=ROUNDING)
    np.testing.assert_allclose(rows @ rows.T, np.eye(7), atol=ROUNDING)  # of {}, 0, 1, 01, 2, 12, 3
    (one, two) = evaluate("fourier", workload).costs
    assert one.sensitivity == pytest.approx(7 * 2 ** (-d / 2), rel=FINE)
    # Each marginal is orthogonal in itself: tr G is the number of cells, once for each marginal.
    assert two.error == pytest.approx(7 / 2**d * 3 * 2**d, rel=FINE)


def test_rank_and_error_of_the_fourier_basis() -> None:
    """Gaussian noise: sensitivity² = rank / n, error = rank times the number of marginals."""
    sizes, sets = (3, 4, 1, 5), [(0, 1), (1, 3), (2,), (0, 2, 3)]
    workload = marginals_of(sizes, *sets)
    (cost,) = evaluate("fourier", workload, (2,)).costs
    assert cost.rows == np.linalg.matrix_rank(workload.queries)
    assert cost.sensitivity**2 == pytest.approx(cost.rows / workload.n, rel=FINE)
    assert cost.error == pytest.approx(cost.rows * len(sets), rel=FINE)


def largest(asked: list[int], chosen: list[int], sizes: tuple[int, ...], norm: int) -> float:
    """The largest variance of an asked marginal, each from one measured marginal."""
    least = []
    for own in asked:
        sums = [
            math.prod(size for i, size in enumerate(sizes) if (other & ~own) >> i & 1)
            for other in chosen
            if own & ~other == 0
        ]
        least.append(min(sums, default=math.inf))
    return max(least) * len(chosen) ** (2 if norm == 1 else 1)


def test_bmax_against_all_sets_of_marginals(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for norm in [1, 2]:
        with subtests.test(norm=norm):
            for _ in range(4):
                sizes = tuple(int(s) for s in rng.integers(2, 5, size=3))
                asked = sorted(rng.choice(8, size=int(rng.integers(1, 6)), replace=False).tolist())
                chosen = bmax(asked, sizes, norm)
                every = (c for k in range(1, 9) for c in itertools.combinations(range(8), k))
                best = min(largest(asked, list(c), sizes, norm) for c in every)
                assert largest(asked, chosen, sizes, norm) == best < math.inf


def test_bmax_stands_between_cells_and_all_marginals() -> None:
    """All one-way marginals of binary attributes: of six two triples, 4 · 4 against 36 and 2^5."""
    sizes, asked = (2,) * 6, [1 << i for i in range(6)]
    chosen = bmax(asked, sizes, 1)
    assert largest(asked, chosen, sizes, 1) == 16 and len(chosen) == 2
    workload = marginals_of(sizes, *((i,) for i in range(6)))
    one = evaluate("datacube", workload)
    assert one.detail.startswith("Laplace: 2 marginals: ") and "; Gaussian: 6 marginals: " in one.detail
    assert one.costs[0].error <= 16 * workload.m  # least squares are never worse
    assert one.costs[1].sensitivity ** 2 == pytest.approx(6, rel=ROUNDING)


def test_greedy_covers_where_there_are_many_unions() -> None:
    """Eight attributes have 255 unions: four pairs, 16 · 2, as good as three triples and pairs."""
    sizes, asked = (2,) * 8, [1 << i for i in range(8)]
    assert largest(asked, bmax(asked, sizes, 1), sizes, 1) == 32
    detail = evaluate("datacube", marginals_of(sizes, *((i,) for i in range(8))), (1,)).detail
    assert detail.startswith("4 marginals, by greedy covers: ")


def test_reasons() -> None:
    assert (
        evaluate("fourier", marginals_of((2,) * 17, (0,))).reason
        == "17 attributes have 2^17 marginals; the limit is 16 attributes"
    )
    many = marginals_of((2,) * 11, *itertools.combinations(range(11), 2))
    assert evaluate("datacube", many).reason == (
        "more than 512 unions of asked marginals, too many to choose among"
    )
    assert evaluate("fourier", many).reason is None
    ranges = line(f.prefix(4))
    assert evaluate("datacube", ranges).reason == evaluate("fourier", ranges).reason
    assert (
        evaluate("fourier", ranges).reason
        == "the queries are not marginals: products of identities and totals"
    )
