"""Rounded to integers, a strategy has the same answers, costs no more and loses next to nothing.

Guards integer_dense.py.
"""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import tolerances

from mmopt.errors import PrivacyError, WorkloadError
from mmopt.privacy import round_strategy
from mmopt.privacy.rounding.integer_dense import (
    BIAS_LIMIT,
    WORTH_SAYING,
    IntegerStrategy,
    Reconstruction,
    round_rows,
    rows_on_integer_basis,
)
from mmopt.privacy.rounding.table_of_forms import round_any
from mmopt.strategies import Neighbours, Strategy
from mmopt.testing.problem_registry import domain_of
from mmopt.workloads import Domain, Product, Workload
from mmopt.workloads.blocks.combined_blocks import Kron
from mmopt.workloads.blocks.range_blocks import Identity
from mmopt.workloads.factors_and_products import all_range, identity, total

REPLACED = Neighbours.of("replace-one")
SETS = ("add-remove", "replace-one")
UNSUPPORTED = (
    "the strategy does not support the workload: some query is no combination of its rows\n"
    "  solve the strategy for this workload"
)


LARGE = np.array([[10**9, 1, 10**9 + 1], [1, 10**9, 10**9 + 1]])


def marginals() -> Workload:
    """Both one-way marginals of 3 x 4 cells: rank 6 of 12, no two cells alike."""
    a, b = identity(3), identity(4)
    return Workload.from_products(domain_of(3, 4), [Product((a, total(4)), "a"), Product((total(3), b), "b")])


def all_counted(workload: Workload) -> Workload:
    """Move queries to a domain that leaves no row out."""
    attributes = [replace(a, outside="refuse", missing="refuse") for a in workload.domain.attributes]
    return replace(workload, domain=Domain(tuple(attributes)))


def cases() -> dict[str, Workload]:
    rng = np.random.default_rng(20)
    tri = np.tri(6)
    matrices = {
        "prefix": tri,
        "duplicated columns": np.repeat(tri, 2, axis=1),
        "duplicated rows": np.vstack([tri, tri]),
        "zero columns": np.hstack([np.zeros((6, 2)), tri]),
        "signed, rank 3": rng.integers(-3, 4, (8, 3)) @ rng.integers(-2, 3, (3, 10)),
        "one total": np.ones((1, 7)),
        "real, full rank": rng.normal(size=(9, 5)),
        "real, merged": np.repeat(rng.normal(size=(9, 3)), 3, axis=1),
        "real, rank 3": rng.normal(size=(9, 3)) @ rng.normal(size=(3, 8)),
        "large entries": 10**6 * tri,
    }
    return {"marginals": marginals()} | {name: Workload.from_matrix(own) for name, own in matrices.items()}


CASES = cases()
INTEGER = [name for name in CASES if name != "real, rank 3"]


def same_answers(rounded: IntegerStrategy, workload: Workload, bias: float = 1e-12) -> None:
    """Unbiased: the queries come back from the rounded matrix, whatever the data."""
    assert rounded.matrix.dtype == np.int64
    off = np.abs(rounded.reconstruction.matrix @ rounded.matrix - workload.queries).max()
    assert off <= bias * np.abs(workload.queries).max() and rounded.bias <= bias
    assert rounded.loss <= WORTH_SAYING


def exact_sensitivity(rounded: IntegerStrategy, neighbours: str, drops: bool, norm: int) -> int:
    """The norm to its own power, from all columns and all differences of two."""
    listed = [[int(v) for v in column] for column in rounded.matrix.T]
    listed += [[0] * rounded.rows] if drops else []
    if neighbours == "replace-one":
        listed = [[a - b for a, b in zip(c, d, strict=True)] for c in listed for d in listed]
    return max(sum(abs(v) ** norm for v in own) for own in listed)


def before(strategy: Strategy, neighbours: str) -> float:
    """Nothing is said of rows without a cell: one may be replaced by such a row."""
    replaced = strategy.sensitivity_to(REPLACED) if neighbours == "replace-one" else 0.0
    return max(strategy.sensitivity, replaced)


@pytest.mark.quick
def test_gaussian_rounding_keeps_the_answers_the_cost_and_the_variances(subtests: pytest.Subtests) -> None:
    for (name, workload), neighbours in itertools.product(CASES.items(), SETS):
        with subtests.test(name, neighbours=neighbours):
            strategy = Strategy(workload.queries)
            rounded = round_strategy(strategy, workload, Neighbours.of(neighbours))
            same_answers(rounded, workload, BIAS_LIMIT if name == "real, rank 3" else 1e-12)
            assert rounded.matrix.shape == (workload.rank, workload.n)
            # At unit noise, as far as rounding allows.
            np.testing.assert_allclose(rounded.variances, strategy.variances(workload), rtol=1e-4)
            after = math.ldexp(rounded.sensitivity, -rounded.bits)
            assert after <= before(strategy, neighbours) * (1 + 1e-4)
            for asked in (workload, all_counted(workload)):
                rounded = round_strategy(strategy, asked, Neighbours.of(neighbours))
                exact = exact_sensitivity(rounded, neighbours, asked is workload, 2)
                assert rounded.squared_sensitivity == exact < 2**62
                assert rounded.sensitivity >= math.sqrt(exact) * (1 - 1e-15)
                assert int(rounded.sensitivity) ** 2 <= exact * (1 + 1e-15)


def test_laplace_rounding_keeps_the_rows_too(subtests: pytest.Subtests) -> None:
    """A rotation of them would have other L1 norms."""
    rng = np.random.default_rng(3)
    for name, neighbours in itertools.product(INTEGER, SETS):
        workload = CASES[name]
        n, touched = workload.n, np.abs(workload.queries).sum(axis=0) > 0
        extra = rng.uniform(0, 1, (3, n)) * touched
        for kind, rows in {
            "queries": workload.queries,
            "cells": np.eye(n),
            "cells and rows": np.vstack([np.eye(n), extra]) / (1 + extra.sum(axis=0)),
        }.items():
            with subtests.test(name, kind=kind, neighbours=neighbours):
                strategy = Strategy(rows, 1)
                rounded = round_rows(strategy, workload, Neighbours.of(neighbours))
                assert rounded.norm == 1
                same_answers(rounded, workload)
                # At equal privacy the variances are at most the strategy's, as far as rounding allows.
                cost = before(strategy, neighbours)
                after = math.ldexp(rounded.sensitivity / rounded.relative, -rounded.bits)
                assert after <= cost * (1 + 1e-6)
                most = strategy.variances(workload) * cost**2 * (1 + 1e-4)
                assert (rounded.variances * after**2 <= most).all()
                exact = exact_sensitivity(rounded, neighbours, True, 1)
                assert rounded.squared_sensitivity == exact**2 and rounded.sensitivity == exact
                if kind == "queries" and name != "duplicated rows":
                    kept = rows[np.abs(rows).sum(axis=1) > 0]
                    own = np.ldexp(rounded.matrix / rounded.relative, -rounded.bits)
                    np.testing.assert_allclose(own, kept, rtol=0, atol=1e-6 * np.abs(kept).max())


def test_redundant_measurements_cost_less_after_the_change_of_basis() -> None:
    """Two cells measured three times each and their total: the root form has the same covariance."""
    matrix = np.vstack([np.eye(2)] * 3 + [np.ones((1, 2))])
    rounded = round_strategy(Strategy(matrix), Workload.from_matrix(np.eye(2)))
    assert rounded.matrix.shape == (2, 2)
    gram = rounded.matrix.T @ rounded.matrix / 4.0**rounded.bits
    np.testing.assert_allclose(gram, matrix.T @ matrix, rtol=1e-7)


def test_rows_beside_the_workload_only_make_the_rounded_matrix_cheaper() -> None:
    """A knows more than the workload asks: its Gram matrix exceeds that of what is measured."""
    strategy = Strategy(np.diag([1.0, 1.0, 0.5, 0.5]))
    rounded = round_strategy(strategy, Workload.from_matrix(np.array([[1, 1, 0, 0], [0, 0, 1, 1]])))
    gram = rounded.matrix.T @ rounded.matrix / rounded.relative**2
    assert np.linalg.eigvalsh(strategy.matrix.T @ strategy.matrix - gram).min() >= -1e-6
    assert rounded.bits == 0 and rounded.sensitivity / rounded.relative == pytest.approx(math.sqrt(0.5))


def test_scaling_the_strategy_by_a_power_of_two_moves_only_the_bits() -> None:
    workload = CASES["prefix"]
    one = round_strategy(Strategy(np.tri(6)), workload)
    for shift in (-40, -3, 40):
        other = round_strategy(Strategy(np.ldexp(np.tri(6), shift)), workload)
        assert other.bits == one.bits - shift
        assert np.abs(other.matrix - one.matrix).max() <= 1


def test_the_hash_is_that_of_the_measured_matrix() -> None:
    workload = CASES["prefix"]
    one, same, other = (round_strategy(Strategy(own), workload) for own in (np.tri(6), np.tri(6), np.eye(6)))
    assert one.hash == same.hash != other.hash and len(one.hash) == 64
    assert not one.matrix.flags.writeable


def test_a_strategy_that_is_integer_is_measured_as_it_is() -> None:
    """Also a multiple of one, with what a solver leaves of zeros; the variances are the strategy's."""
    workload, whole = CASES["prefix"], np.diag([1, 2, 3, 4, 5, 6])
    for factor in (1.0, 1 / 3, 7**0.5):
        noisy = factor * whole + 1e-9 * factor * np.tri(6)
        rounded = round_strategy(Strategy(noisy), workload)
        assert (rounded.matrix == whole).all() and rounded.bits == 0
        np.testing.assert_allclose(rounded.variances, Strategy(noisy).variances(workload), rtol=1e-7)
    for uneven in ([1, 2, 3, 4, 5, 6**0.5], [1, 3.1e-6, 1e-6, 1, 1, 1]):
        assert round_strategy(Strategy(np.diag(uneven)), workload).bits > 20


def test_what_nobody_asks_for_is_not_measured_and_what_is_asked_together_is_counted_once() -> None:
    """The identity's rows become equal on merged cells: two halves of one count."""
    zeros = Strategy(np.vstack([np.eye(4), np.zeros((2, 4))]), 1)
    assert round_any(zeros, Workload.from_matrix(np.tri(4))).rows == 4
    workload = CASES["zero columns"]
    rounded = round_rows(Strategy(np.eye(workload.n), 1), workload)
    assert (rounded.matrix[:, :2] == 0).all() and rounded.rows == 6
    pairs = Workload.from_matrix(np.kron(np.eye(3), np.ones(2)))
    for norm, size in ((1, 1.0), (2, 0.5**0.5)):
        rows = rows_on_integer_basis(Strategy(np.eye(6), norm), pairs)
        np.testing.assert_allclose(rows.real @ rows.basis, pairs.queries * size)
    rounded = round_rows(Strategy(np.eye(6), 1), pairs)
    assert (rounded.matrix == pairs.queries).all() and rounded.relative == pytest.approx(1)


@pytest.mark.quick
def test_refusals(subtests: pytest.Subtests) -> None:
    prefixes, both, cells = CASES["prefix"], marginals(), Workload.from_matrix(np.eye(2))
    rng = np.random.default_rng(0)
    real = Workload.from_matrix(rng.normal(size=(9, 3)) @ rng.normal(size=(3, 8)))
    differ = "\n  the queries differ too much in size for 64-bit integers; scale the large ones down"
    write = "\n  write the queries with integers (multiply them by a common denominator)"
    for rule, strategy, workload, message in (
        (
            round_strategy,
            Strategy(np.eye(6), norm=1),
            prefixes,
            "the strategy bounds the L1 norm of its columns (Laplace noise), expected L2 (Gaussian)\n"
            "  solve a program with 'norm 2', such as l2_strategy",
        ),
        (round_strategy, Strategy(np.eye(5)), prefixes, "the strategy has 5 cells, the workload 6"),
        (round_strategy, Strategy(np.eye(6)[:5]), prefixes, UNSUPPORTED),
        (
            round_strategy,
            Strategy(np.diag([1.0, 1e-8])),
            cells,
            "the covariance of the measured basis is singular: eigenvalues from 1 to 1e+16\n"
            "  the strategy measures some queries with almost no noise compared to others",
        ),
        (
            round_strategy,
            Strategy(np.diag([1.0, 0.5**0.5]) @ LARGE),
            Workload.from_matrix(LARGE),
            f"the strategy rounded to -2 bits loses rank: singular values from 0 to 0{differ}",
        ),
        (
            round_rows,
            Strategy(np.eye(12)),
            both,
            "the strategy bounds the L2 norm of its columns (Gaussian noise), expected L1 (Laplace)\n"
            "  solve a program with 'norm 1', such as l1_strategy",
        ),
        (round_rows, Strategy(np.eye(6), 1), both, "the strategy has 6 cells, the workload 12"),
        (round_rows, Strategy(np.ones((1, 12)), 1), both, UNSUPPORTED),
        (
            round_rows,
            Strategy(real.queries, 1),
            real,
            "the strategy has fewer than 8 dimensions, one for each cell or class of cells, and the queries "
            f"have no integer basis{write}",
        ),
    ):
        with subtests.test(message):
            with pytest.raises((PrivacyError, WorkloadError)) as caught:
                rule(strategy, workload)
            assert str(caught.value) == message
    # Real queries of rank 2 whose small row vanishes beside the large one in 29 bits.
    rng = np.random.default_rng(4)
    vanishing = Workload.from_matrix(rng.normal(size=(3, 2)) @ rng.normal(size=(2, 4)))
    assert vanishing.integer_basis is None
    with pytest.raises(WorkloadError) as caught:
        round_strategy(Strategy(np.diag([1.0, 3e-8]) @ vanishing.basis), vanishing)
    assert str(caught.value).startswith("rounding the strategy to integers biases a query by ")
    assert str(caught.value).endswith(f" of its largest entry per row of data, the limit is 1e-06{write}")


def test_what_29_bits_do_not_hold_has_42(subtests: pytest.Subtests) -> None:
    """A variance would grow by 1.3 %, by 40 %, or without end; answers on 2^31 rows are beyond 64 bits."""
    cells, large = Workload.from_matrix(np.eye(2)), Workload.from_matrix(LARGE)
    for strategy, w, grown in (
        (Strategy(np.diag([1.0, 3e-8])), cells, 1.013),
        (Strategy(np.diag([1.0, 2.6e-9]), 1), cells, 1.95),
        (Strategy(np.diag([1.0, 0.5**0.5]) @ LARGE), large, None),
    ):
        for neighbours in SETS:
            with subtests.test(grown=grown, neighbours=neighbours):
                narrow = round_rows if strategy.norm == 1 else round_strategy
                if grown is not None:
                    assert narrow(strategy, w).loss == pytest.approx(grown, rel=1e-2)
                found = round_any(strategy, w, neighbours)
                assert found.loss <= WORTH_SAYING and found.parts[0].largest_answer >= 2**62
                counts = np.full(w.n, 2**29, dtype=np.int64)
                assert found.answers(counts).tolist() == (found.matrix.astype(object) @ counts).tolist()
                moved = list(found.matrix.astype(object).T)
                if neighbours == "replace-one":  # or dropped
                    moved += [a - b for a, b in itertools.combinations(moved, 2)]
                sizes = [sum(abs(v) ** found.norm) for v in moved]
                assert found.squared_sensitivity == max(sizes) ** (3 - found.norm)
                exact = w.answers(counts)
                np.testing.assert_allclose(found.estimate(found.answers(counts)), exact, rtol=1e-9)


def test_reconstructions_are_the_matrices_that_they_stand_for(rng: np.random.Generator) -> None:
    left, matrix = Kron([all_range(8)]), rng.normal(size=(5, 3))
    found = [(Reconstruction(Identity(len(matrix)), matrix), matrix)]
    for columns in (2, 8):
        right = rng.normal(size=(8, columns))
        found.append((Reconstruction(left, right), left.matrix() @ right))
    for own, dense in found:
        np.testing.assert_allclose(own.matrix, dense, atol=tolerances.FINE)
        x = rng.normal(size=dense.shape[1])
        np.testing.assert_allclose(own.apply(x), dense @ x, atol=tolerances.FINE)
        np.testing.assert_allclose(own.squared_lengths(), np.square(dense).sum(axis=1), rtol=1e-9)


def test_no_query_is_written_out_to_round_a_strategy(monkeypatch: pytest.MonkeyPatch) -> None:
    """All ranges over many cells: a number for each query and cell would take all memory."""
    workload = Workload.from_products(domain_of(40), [Product((all_range(40),))])

    def refused(self: Workload) -> np.ndarray:
        raise AssertionError("the queries were written out")

    for name in ("queries", "representation"):
        monkeypatch.setattr(Workload, name, property(refused))
    for norm in (1, 2):
        found = round_any(Strategy(np.tri(40), norm), workload)
        expected = Strategy(np.tri(40)).variances(workload)
        np.testing.assert_allclose(found.variances, expected, rtol=1e-4)
        x = np.arange(40)
        np.testing.assert_allclose(
            found.estimate(found.answers(x)), workload.answers(x), rtol=1e-9, atol=1e-9
        )
