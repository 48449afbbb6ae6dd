"""Words for blocks of queries (factor_blocks, range_blocks, hierarchies, placed_blocks, all_ranges): roots
that keep small singular values, ends, labels, errors; that they are their rows stands in test_laws.py.

Guards range_blocks.py, workloads/factors_and_products.py.
"""

import numpy as np
import pytest
from random_workloads import random_factor
from tolerances import ROUNDING

from mmopt import limits
from mmopt.errors import TooLargeError, WorkloadError
from mmopt.strategies import Strategy
from mmopt.symmetry.components import AttributeSymmetry
from mmopt.workloads import Attribute, Bins, Domain, Values, factors_and_products as f
from mmopt.workloads.blocks.range_blocks import reflected_ranges
from tests.workloads.implicit_twins import check_block


def test_random_blocks_of_blocks_agree_with_their_matrix(rng):
    for n in (1, 3, 5, 6):
        factor = random_factor(rng, n, depth=2)
        check_block(factor, factor.matrix(), rng)
        order = rng.permutation(n)
        moved = np.zeros((factor.rows, n))
        moved[:, order] = factor.matrix()
        check_block(f.reordered(factor, order), moved, rng)


def test_root_of_all_ranges_keeps_small_singular_values():
    n = 128
    values = np.linalg.svd(f.all_range(n).root(), compute_uv=False)
    exact = np.sqrt(n + 1) / (2 * np.sin(np.arange(1, n + 1) * np.pi / (2 * (n + 1))))
    np.testing.assert_allclose(values, exact, rtol=ROUNDING)


def test_a_hierarchys_root_keeps_small_singular_values():
    """The largest and the smallest ones: of an evenly split hierarchy each level adds its block size."""
    for branching in [2, 3, 7]:
        n = branching**3
        values = np.linalg.svd(f.hierarchy(n, branching).root(), compute_uv=False)
        squares = [1.0]  # the eigenvalues, coarse to fine: sums of the sizes of the blocks below
        for level in range(1, 4):
            squares.append(squares[-1] + branching**level)
        counts = [n - n // branching, n // branching - n // branching**2, n // branching**2 - 1, 1]
        expected = np.sqrt(np.repeat(squares, counts))[::-1]
        np.testing.assert_allclose(values, expected, rtol=100 * ROUNDING)


def test_trees_have_the_known_sensitivity():
    """Haar rows are orthogonal; every level of a tree counts each cell once."""
    for levels in range(5):
        Q = f.haar(2**levels).matrix()
        np.testing.assert_array_equal(Q @ Q.T, np.diag(np.square(Q).sum(axis=1)))
        assert Strategy(Q, norm=1).sensitivity == 1 + levels
        assert Strategy(Q, norm=2).sensitivity == pytest.approx(np.sqrt(1 + levels), rel=1e-15)
    for n, branching, depth in ((1, 2, 0), (9, 2, 4), (9, 3, 2), (13, 3, 3), (16, 4, 2), (5, 7, 1)):
        assert Strategy(f.hierarchy(n, branching).matrix(), norm=1).sensitivity == 1 + depth


def test_windows_of_small_numbers_beside_large_ones():
    """Sums of small numbers keep their digits beside a number that would wipe them out."""
    for width in [1, 2, 7, 64, 99, 100]:
        x = np.full(100, 1e-3)
        x[0] = 1e17
        sums = f.width_range(100, width).apply(x)
        np.testing.assert_allclose(sums[1:], width * 1e-3, rtol=ROUNDING)


def test_ranges_on_even_and_odd_vectors_have_roots_there():
    for n in [2, 3, 4, 5, 33]:
        gram = f.all_range(n).gram()
        attribute = AttributeSymmetry.of(np.arange(n), True)
        assert attribute.is_reversal
        for part, root in zip(attribute.parts, reflected_ranges(n), strict=True):
            basis = attribute.basis(part).toarray()
            assert root.shape == (part.dim, part.dim) and not np.tril(root, -1).any()
            np.testing.assert_allclose(root.T @ root, basis.T @ gram @ basis, rtol=ROUNDING)
            if part is attribute.parts[0] and n % 2 == 0:  # the even ones are prefix sums
                steps = np.arange(1, n // 2 + 1)
                sums = (n + 1) * np.minimum.outer(steps, steps)
                np.testing.assert_allclose(root.T @ root, sums, rtol=ROUNDING)


def test_other_symmetries_are_no_reversal():
    for classes, mirrored in (([0, 1, 2, 3], False), ([0, 1, 1, 0], True), ([0], True)):
        assert not AttributeSymmetry.of(np.array(classes), mirrored).is_reversal


def test_ends_of_ranges_at_both_ends():
    for n in [1, 2, 5, 100_000]:
        factor = f.all_range(n)
        low, high = factor.ends(np.array([0, factor.rows - 1]))
        assert (low.tolist(), high.tolist()) == ([0, n - 1], [0, n - 1])


def test_labels():
    age = Attribute("age", ("[0, 18)", "[18, 25)", "[25, 99.5)"), encoding=Bins((0, 18, 25, 99.5)))
    assert f.identity(3).labels(age) == ["age in [0, 18)", "age in [18, 25)", "age in [25, 99.5)"]
    assert f.prefix(3).labels(age) == ["age < 18", "age < 25", "age < 99.5"]
    assert f.all_range(3).labels(age)[:3] == ["0 <= age < 18", "0 <= age < 25", "0 <= age < 99.5"]
    assert f.total(3).labels(age) == [""]
    adults = f.predicates([[0, 1, 1]], ["adult"])
    assert adults.labels(age) == ["age in adult"]
    assert f.union(f.total(3), adults).labels(age) == ["", "age in adult"]
    assert f.predicates([[0, 1, 1]]).labels(age) == ["age in predicate 0"]

    educ = Domain.anonymous(3).attribute("cell")
    assert f.prefix(3).labels(educ) == ["cell <= 0", "cell <= 1", "cell <= 2"]
    assert f.all_range(3).labels(educ)[:4] == ["cell=0", "0 <= cell <= 1", "0 <= cell <= 2", "cell=1"]

    state = Attribute("state", ("AK", "AL", "AR"))
    assert f.identity(3).labels(state) == ["state=AK", "state=AL", "state=AR"]
    assert f.prefix(3).labels(state) == ["state up to AK", "state up to AL", "state up to AR"]
    assert f.all_range(3).labels(state)[:2] == ["state=AK", "state from AK to AL"]
    code = Attribute("code", ("3", "1"), encoding=Values((3, 1)))  # numbers out of order are not compared
    assert f.prefix(2).labels(code) == ["code up to 3", "code up to 1"]
    assert f.hierarchy(3).labels(state) == ["", "state from AK to AL", "state=AR", "state=AK", "state=AL"]
    assert f.reordered(f.prefix(3), [2, 0, 1]).labels(state)[0] == "state up to AR (reordered)"
    assert f.reordered(f.total(3), [2, 0, 1]).labels(state) == [""]


def test_factors_compare_by_what_they_ask():
    assert f.prefix(4) == f.prefix(4)
    assert f.prefix(4) != f.identity(4)
    assert f.predicates([[1, 0]], ["a"]) == f.predicates([[1, -0.0]], ["b"])
    assert f.predicates([[1, 0]]) != f.predicates([[1, 1]])
    assert len({f.union(f.total(2), f.prefix(2)), f.union(f.total(2), f.prefix(2)), f.total(2)}) == 2
    assert repr(f.union(f.total(2), f.predicates([[1, 0]]))) == "union(total(2), predicates(1 × 2))"


def test_errors(subtests):
    for make, text in [
        (lambda: f.identity(0), "a query block needs at least one cell, found 0"),
        (f.union, "a union needs at least one query block, found none"),
        (
            lambda: f.union(f.total(2), f.total(3)),
            "a union joins query blocks of 2 and 3 cells, expected equal sizes",
        ),
        (lambda: f.predicates([[1, 0]], ["a", "b"]), "1 predicates have 2 labels"),
        (
            lambda: f.predicates([[1, 0], [0, 0]], ["a", "none"]),
            "query 1 ('none') is all zero\n  leave it out: its answer is 0",
        ),
        (lambda: f.width_range(3, 0), "ranges of 0 cells over 3 cells, expected a width from 1 to 3"),
        (lambda: f.width_range(3, 4), "ranges of 4 cells over 3 cells, expected a width from 1 to 3"),
        (lambda: f.hierarchy(3, 1), "the hierarchy's branching is 1, expected 2 or more"),
        (
            lambda: f.haar(6),
            "the Haar wavelet needs a power of two, found 6 cells\n  the nearest are 4 and 8",
        ),
    ]:
        with subtests.test(text):
            with pytest.raises(WorkloadError) as caught:
                make()
            assert str(caught.value) == text


def test_what_is_too_large_is_refused(monkeypatch):
    with pytest.raises(TooLargeError) as caught:
        f.all_range(4096).matrix()
    assert str(caught.value) == (
        "the matrix of all_range(4096) has 8,390,656 × 4,096 entries, 256.1 GiB; the limit is 4 GiB"
    )
    monkeypatch.setattr(limits, "MEMORY_LIMIT", 8 * 400 - 1)
    with pytest.raises(TooLargeError) as caught:
        f.hierarchy(100)
    assert caught.value.message.startswith("the list of the blocks of hierarchy(100, 2) has 200 × 2 entries")
