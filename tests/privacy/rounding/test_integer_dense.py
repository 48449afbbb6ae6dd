from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from mmopt.errors import PrivacyError, WorkloadError
from mmopt.privacy import round_strategy
from mmopt.privacy.rounding.rounded_rows import BIAS_LIMIT, LOSS_LIMIT
from mmopt.strategies import Neighbours, Strategy
from mmopt.workloads import Attribute, Domain, Product, Values, Workload
from mmopt.workloads.blocks.factor_blocks import identity, total

pytestmark = pytest.mark.quick


def domain(*sizes: int) -> Domain:
    names = [chr(ord("a") + i) for i in range(len(sizes))]
    return Domain(
        tuple(
            Attribute(
                name=name,
                labels=tuple(str(v) for v in range(size)),
                column=name,
                encoding=Values(tuple(range(size))),
                groups={},
            )
            for name, size in zip(names, sizes, strict=True)
        )
    )


def marginals() -> Workload:
    """Both one-way marginals of 3 x 4 cells: rank 6 of 12, no two cells alike."""
    a, b = identity(3), identity(4)
    return Workload.from_products(domain(3, 4), [Product((a, total(4)), "a"), Product((total(3), b), "b")])


def all_counted(workload: Workload) -> Workload:
    """The same queries over a domain that leaves no row out."""
    attributes = [replace(a, outside="refuse", missing="refuse") for a in workload.domain.attributes]
    return replace(workload, domain=Domain(tuple(attributes)))


def cases() -> dict[str, Workload]:
    seed = 20
    rng = np.random.default_rng(seed)
    tri = np.tri(6)
    duplicated = np.repeat(tri, 2, axis=1)
    zero_columns = np.hstack([np.zeros((6, 2)), tri])
    return {
        "prefix": Workload.from_matrix(tri),
        "duplicated columns": Workload.from_matrix(duplicated),
        "duplicated rows": Workload.from_matrix(np.vstack([tri, tri])),
        "zero columns": Workload.from_matrix(zero_columns),
        "signed, rank 3": Workload.from_matrix(rng.integers(-3, 4, (8, 3)) @ rng.integers(-2, 3, (3, 10))),
        "one total": Workload.from_matrix(np.ones((1, 7))),
        "marginals": marginals(),
        "real, full rank": Workload.from_matrix(rng.normal(size=(9, 5))),
        "real, merged": Workload.from_matrix(np.repeat(rng.normal(size=(9, 3)), 3, axis=1)),
        "real, rank 3": Workload.from_matrix(rng.normal(size=(9, 3)) @ rng.normal(size=(3, 8))),
        "large entries": Workload.from_matrix(10**6 * tri),
    }


CASES = cases()


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("name", CASES)
def test_rounding_keeps_the_answers_the_cost_and_the_variances(name, neighbours):
    workload = CASES[name]
    strategy = Strategy(workload.queries)
    rounded = round_strategy(strategy, workload, Neighbours.of(neighbours))
    assert rounded.matrix.dtype == rounded.core.dtype == rounded.basis.dtype == np.int64
    assert (rounded.matrix == rounded.core @ rounded.basis).all()
    assert rounded.matrix.shape == (workload.rank, workload.n)
    # Unbiased: the queries come back from the rounded matrix, whatever the data.
    size = np.abs(workload.queries).max()
    limit = BIAS_LIMIT if name == "real, rank 3" else 1e-12
    assert np.abs(rounded.reconstruction.matrix @ rounded.matrix - workload.queries).max() <= limit * size
    assert rounded.bias <= limit
    # The variances at unit noise are the strategy's, as far as rounding allows.
    np.testing.assert_allclose(rounded.variances, strategy.variances(workload), rtol=1e-4)
    assert rounded.loss <= LOSS_LIMIT
    # Measuring B x with the strategy's own covariance never costs more than the strategy.
    before = strategy.sensitivity
    if (
        neighbours == "replace-one"
    ):  # nothing is said of rows without a cell: one may be replaced by such a row
        before = max(before, strategy.sensitivity_to(Neighbours.of("replace-one")))
    assert math.ldexp(rounded.sensitivity, -rounded.bits) <= before * (1 + 1e-4)


@pytest.mark.parametrize("name", CASES)
def test_the_sensitivity_is_that_of_the_integers(name):
    workload = CASES[name]
    for neighbours, asked in (
        ("add-remove", workload),
        ("replace-one", workload),
        ("replace-one", all_counted(workload)),
    ):
        rounded = round_strategy(Strategy(workload.queries), asked, Neighbours.of(neighbours))
        listed = [[int(v) for v in column] for column in rounded.matrix.T]
        if asked is workload:
            listed.append([0] * len(listed[0]))
        if neighbours == "add-remove":
            exact = max(sum(v * v for v in c) for c in listed)
        else:
            exact = max(sum((a - b) ** 2 for a, b in zip(c, d, strict=True)) for c in listed for d in listed)
        assert rounded.squared_sensitivity == exact
        assert rounded.sensitivity >= math.sqrt(exact) * (1 - 1e-15)
        assert int(rounded.sensitivity) ** 2 <= exact * (1 + 1e-15)
        assert exact < 2**62


def test_redundant_measurements_cost_less_after_the_change_of_basis():
    # Two cells measured three times each and their total: the root form has the same covariance.
    workload = Workload.from_matrix(np.eye(2))
    matrix = np.vstack([np.eye(2)] * 3 + [np.ones((1, 2))])
    rounded = round_strategy(Strategy(matrix), workload)
    assert rounded.matrix.shape == (2, 2)
    np.testing.assert_allclose(
        rounded.matrix.T @ rounded.matrix / 4.0**rounded.bits, matrix.T @ matrix, rtol=1e-7
    )


def test_rows_beside_the_workload_only_make_the_rounded_matrix_cheaper():
    # A knows more than the workload asks: its Gram matrix exceeds that of what is measured.
    workload = Workload.from_matrix(np.array([[1, 1, 0, 0], [0, 0, 1, 1]]))
    strategy = Strategy(np.diag([1.0, 1.0, 0.5, 0.5]))
    rounded = round_strategy(strategy, workload)
    gram = rounded.matrix.T @ rounded.matrix / rounded.relative**2
    assert np.linalg.eigvalsh(strategy.matrix.T @ strategy.matrix - gram).min() >= -1e-6
    assert rounded.bits == 0 and rounded.sensitivity / rounded.relative == pytest.approx(math.sqrt(0.5))


def test_scaling_the_strategy_by_a_power_of_two_moves_only_the_bits():
    workload = CASES["prefix"]
    one = round_strategy(Strategy(np.tri(6)), workload)
    for shift in (-40, -3, 40):
        other = round_strategy(Strategy(np.ldexp(np.tri(6), shift)), workload)
        assert other.bits == one.bits - shift
        assert np.abs(other.matrix - one.matrix).max() <= 1


def test_the_hash_is_that_of_the_measured_matrix():
    workload = CASES["prefix"]
    one, same = (round_strategy(Strategy(np.tri(6)), workload) for _ in range(2))
    other = round_strategy(Strategy(np.eye(6)), workload)
    assert one.hash == same.hash != other.hash
    assert len(one.hash) == 64
    assert not one.matrix.flags.writeable


def refusal(error, strategy, workload):
    with pytest.raises(error) as caught:
        round_strategy(strategy, workload)
    return str(caught.value)


def test_refusals():
    workload = CASES["prefix"]
    assert refusal(PrivacyError, Strategy(np.eye(6), norm=1), workload) == (
        "the strategy bounds the L1 norm of its columns (Laplace noise), expected L2 (Gaussian)\n"
        "  solve a program with 'norm 2', such as l2_strategy"
    )
    assert refusal(WorkloadError, Strategy(np.eye(5)), workload) == "the strategy has 5 cells, the workload 6"
    assert refusal(WorkloadError, Strategy(np.eye(6)[:5]), workload) == (
        "the strategy does not support the workload: some query is no combination of its rows\n"
        "  solve the strategy for this workload"
    )


def test_a_strategy_too_uneven_for_the_integers_is_refused():
    workload = Workload.from_matrix(np.eye(2))
    assert refusal(WorkloadError, Strategy(np.diag([1.0, 1e-8])), workload) == (
        "the covariance of the measured basis is singular: eigenvalues from 1 to 1e+16\n"
        "  the strategy measures some queries with next to no noise beside others"
    )
    # 2^29 x 3e-8 = 16.1 rounds to 16: 1.3 % of variance.
    assert refusal(WorkloadError, Strategy(np.diag([1.0, 3e-8])), workload) == (
        "rounding the strategy to 29 bits multiplies a query's variance by 1.013, the limit is 1.01\n"
        "  the queries differ too much in size for 64-bit integers; scale the large ones down"
    )


def test_a_strategy_that_is_integer_is_measured_as_it_is():
    """Also a multiple of one, with what a solver leaves of zeros; the variances are the strategy's."""
    workload = CASES["prefix"]
    for factor in (1.0, 1 / 3, 7**0.5):
        noisy = factor * np.diag([1, 2, 3, 4, 5, 6]) + 1e-9 * factor * np.tri(6)
        rounded = round_strategy(Strategy(noisy), workload)
        assert (rounded.matrix == np.diag([1, 2, 3, 4, 5, 6])).all() and rounded.bits == 0
        np.testing.assert_allclose(rounded.variances, Strategy(noisy).variances(workload), rtol=1e-7)
    for uneven in ([1, 2, 3, 4, 5, 6**0.5], [1, 3.1e-6, 1e-6, 1, 1, 1]):
        assert round_strategy(Strategy(np.diag(uneven)), workload).bits > 20


def test_a_basis_that_leaves_no_bits_is_refused():
    big = 10**9
    queries = np.array([[big, 1, big + 1], [1, big, big + 1]])
    strategy = Strategy(np.diag([1.0, 0.5**0.5]) @ queries)
    assert refusal(WorkloadError, strategy, Workload.from_matrix(queries)) == (
        "the strategy rounded to -2 bits loses rank: singular values from 0 to 0\n"
        "  the queries differ too much in size for 64-bit integers; scale the large ones down"
    )


def test_a_biased_reconstruction_is_refused():
    # Real queries of rank 2 whose small row vanishes beside the large one in 29 bits.
    rng = np.random.default_rng(4)
    workload = Workload.from_matrix(rng.normal(size=(3, 2)) @ rng.normal(size=(2, 4)))
    assert workload.integer_basis is None
    text = refusal(WorkloadError, Strategy(np.diag([1.0, 3e-8]) @ workload.basis), workload)
    assert text.startswith("rounding the strategy to integers biases a query by ")
    assert text.endswith(
        " of its largest entry per row of data, the limit is 1e-06\n"
        "  write the queries with integers (multiply them by a common denominator)"
    )
