"""The orthogonal mechanism of CIKM 2013 on workloads of all kinds: its blocks, W = R W̃, error, privacy."""

import re
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from exact_arithmetic import fractions
from named_workloads import NAMED, named, random_workload
from tolerances import RECOMPUTED, SHAPE

from mmopt import OptionError, Workload
from tests.examples.scripts import EXAMPLES, scripts

own = scripts("orthogonal")
study = own.study
orthogonal = own.orthogonal_mechanism.orthogonal
orthogonal_least_squares = own.orthogonal_mechanism.orthogonal_least_squares
Inexact, coefficients = own.cell_blocks.Inexact, own.cell_blocks.coefficients
disjoint_blocks, first_independent = own.cell_blocks.disjoint_blocks, own.cell_blocks.first_independent
FOLDER = EXAMPLES / "orthogonal"


def by_fractions(matrix: np.ndarray) -> list[int]:
    """Elimination in fractions, one row at a time."""
    chosen: list[int] = []
    known: list[list[Fraction]] = []
    for position, row in enumerate(matrix):
        rest = [Fraction(float(v)) for v in row]
        for other in known:
            at = next(i for i, v in enumerate(other) if v)
            factor = rest[at] / other[at]
            rest = [a - factor * b for a, b in zip(rest, other, strict=True)]
        if any(rest):
            known.append(rest)
            chosen.append(position)
    return chosen


def test_the_first_independent_rows_of_integers_are_those_by_fractions(rng: np.random.Generator) -> None:
    for _ in range(50):
        m, n, k = rng.integers(1, 9, size=3)
        matrix = (rng.integers(-3, 4, size=(m, k)) @ rng.integers(-3, 4, size=(k, n))).astype(float)
        assert first_independent(matrix).tolist() == by_fractions(matrix)


def test_those_of_other_numbers_are_those_of_integers(rng: np.random.Generator) -> None:
    for scale in (0.1, 1e-150, 1e150) * 20:
        m, n, k = rng.integers(1, 9, size=3)
        whole = (rng.integers(-3, 4, size=(m, k)) @ rng.integers(-3, 4, size=(k, n))).astype(float)
        rows = whole * rng.uniform(0.5, 2, size=(m, 1)) * scale
        assert first_independent(rows).tolist() == by_fractions(whole)


def test_integers_of_any_size_do_not_round() -> None:
    large = 2.0**52
    rows = np.array([[large, 1.0], [large + 1, 1.0], [2 * large, 2.0]])
    assert first_independent(rows).tolist() == [0, 1]
    assert first_independent(rows[[0, 2, 1]]).tolist() == [0, 2]


def algorithm_2(selected: np.ndarray) -> list[list[int]]:
    """Lines 2 to 11 and 20 to 22: the cells of each round, the first of several equal counts taken."""
    left = set(range(selected.shape[1]))
    domains = [set(np.flatnonzero(row).tolist()) for row in selected]
    found = []
    while left:
        count = {x: sum(x in d for d in domains) for x in sorted(left)}
        most = max(count, key=lambda x: count[x])
        if count[most] == 0:  # cells that no query uses, where the paper's loop has nothing to intersect
            break
        common = set.intersection(*(d for d in domains if most in d))
        found.append(sorted(common))
        domains = [d - common for d in domains]
        left -= common
    return found


def test_the_loop_finds_the_classes_of_cells_by_the_queries_that_use_them(rng: np.random.Generator) -> None:
    for _ in range(100):
        r, n = rng.integers(1, 6), rng.integers(1, 12)
        selected = rng.integers(-2, 3, size=(r, n)) * (rng.random((r, n)) < 0.6)
        blocks = disjoint_blocks(selected.astype(float))
        assert [block.cells.tolist() for block in blocks] == algorithm_2(selected)


def test_new_queries_are_independent_restrictions_with_largest_entry_1(rng: np.random.Generator) -> None:
    for _ in range(30):
        selected = rng.integers(-2, 3, size=(4, 9)).astype(float) * (rng.random((4, 1)) < 0.8)
        for block in disjoint_blocks(selected):
            inside = selected[:, block.cells]
            count = len(block.queries)
            assert np.linalg.matrix_rank(inside) == np.linalg.matrix_rank(block.queries) == count
            assert np.abs(block.queries).max(axis=1).tolist() == [1.0] * count
            assert (block.queries[np.arange(count), block.leads] == 1.0).all()
            assert all(any((row == other).all() for other in inside) for row in block.unscaled)


def test_coefficients_of_integers_are_the_nearest_floats(rng: np.random.Generator) -> None:
    """Every coefficient is the exact one, rounded once."""
    for _ in range(20):
        rows = rng.integers(1, 9, size=(3, 5)) + 20.0 * np.eye(3, 5)  # independent, whatever is drawn
        (block,) = disjoint_blocks(rows)
        inside = rng.integers(-5, 6, size=(4, 3)).astype(float) @ rows
        found = coefficients(inside, block)
        weights = np.linalg.lstsq(block.unscaled.T, inside.T, rcond=None)[0].T
        exact = [[Fraction(round(w)) for w in row] for row in weights]  # all rows are independent here
        assert (np.array(exact).dot(fractions(block.unscaled)) == fractions(inside)).all()
        lead = block.unscaled[np.arange(3), block.leads]
        assert found.tolist() == (np.array(exact, dtype=float) * lead).tolist()


def test_coefficients_of_other_numbers(rng: np.random.Generator) -> None:
    rows = rng.uniform(0.5, 1, size=(3, 6))
    (block,) = disjoint_blocks(rows)
    inside = rng.normal(size=(5, 3)) @ rows
    np.testing.assert_allclose(coefficients(inside, block) @ block.queries, inside, rtol=SHAPE)


def test_queries_that_are_not_spanned_are_refused() -> None:
    (whole,) = disjoint_blocks(np.array([[1.0, 2.0]]))
    with pytest.raises(Inexact) as caught:
        coefficients(np.array([[1.0, 3.0]]), whole)
    assert str(caught.value) == (
        "over a block of 2 cells the 1 new queries do not span the queries\n"
        "  the integers are too large to be compared modulo a prime: divide the queries by a number"
    )
    (block,) = disjoint_blocks(np.array([[0.5, 0.25]]))
    with pytest.raises(Inexact) as caught:
        coefficients(np.array([[0.5, 0.5], [1.0, 0.5]]), block)
    assert str(caught.value) == (
        "over a block of 2 cells the 1 new queries leave a part 3.5e-01 of a query over, "
        "expected at most 1e-09\n"
        "  queries that are nearly dependent: leave one of them out, or scale them to integers"
    )


def workloads(rng: np.random.Generator) -> list[Workload]:
    return [*(named(name) for name in NAMED), *(random_workload(rng) for _ in range(30))]


def test_the_queries_are_put_together_exactly(rng: np.random.Generator) -> None:
    for w in workloads(rng):
        found = orthogonal(w)
        W, R = found.strategy.matrix, found.reconstruction
        assert np.abs(R @ W - w.queries).max() <= SHAPE * np.abs(w.queries).max()
        assert len(found.selected) == w.rank == np.linalg.matrix_rank(w.queries)
        assert np.linalg.matrix_rank(W) == len(W) and len(W) >= w.rank


def test_ranges_are_put_together_without_any_rounding() -> None:
    for name in ("prefix", "all ranges", "identity and total"):
        w = named(name)
        found = orthogonal(w)
        product = fractions(found.reconstruction).dot(fractions(found.strategy.matrix))
        assert (product == fractions(w.queries)).all()


def test_sensitivity_is_that_of_the_worst_block(rng: np.random.Generator) -> None:
    """Proposition 2: blocks share no cell."""
    for w in workloads(rng):
        for norm in (1, 2):
            found = orthogonal(w, norm)
            A = found.strategy.matrix
            cells = np.concatenate(found.blocks)
            assert len(np.unique(cells)) == len(cells)
            for row, block in zip(A, found.owner, strict=True):
                assert set(np.flatnonzero(row)) <= set(found.blocks[block])
            each = [np.linalg.norm(A[:, c], ord=norm, axis=0).max() for c in found.blocks]
            assert found.strategy.sensitivity == pytest.approx(max(each), rel=1e-12)


def test_the_error_is_that_of_the_noise(rng: np.random.Generator) -> None:
    w = Workload.from_matrix(np.tri(6)[::-1] + np.eye(6), weights=rng.uniform(0.5, 2, size=6))
    found = orthogonal(w)
    scale = found.strategy.sensitivity / 0.5
    noise = rng.laplace(scale=scale, size=(found.strategy.p, 200_000))
    squares = w.weights @ np.square(found.reconstruction @ noise)
    assert squares.mean() == pytest.approx(found.expected_error(0.5), rel=0.02)
    assert found.expected_error(0.5) == pytest.approx(8 * found.total_error, rel=1e-12)


def test_least_squares_finds_the_same_reconstruction(rng: np.random.Generator) -> None:
    """Corollary 1: the new queries are independent, so there is one R."""
    for w in workloads(rng):
        found = orthogonal(w)
        np.testing.assert_allclose(
            w.queries @ np.linalg.pinv(found.strategy.matrix), found.reconstruction, atol=1e-8
        )
        assert found.total_error == pytest.approx(found.strategy.total_error(w), rel=RECOMPUTED)


def test_completed_and_balanced_it_is_never_worse(rng: np.random.Generator) -> None:
    for norm in (1, 2):
        better = 0
        for w in workloads(rng):
            improved = orthogonal_least_squares(w, norm)
            assert improved.sensitivity <= 1.0
            before, after = orthogonal(w, norm).total_error, improved.total_error(w)
            assert after <= before * (1 + RECOMPUTED)
            better += after < 0.99 * before
        assert better >= 3, norm


def test_words() -> None:
    w = Workload.from_matrix(np.tri(3))
    assert repr(orthogonal(w)) == "OrthogonalMechanism(3 queries from 3 over 3 blocks, sensitivity 1)"
    with pytest.raises(OptionError) as caught:
        orthogonal(w).expected_error(0.0)
    assert str(caught.value) == "epsilon is 0.0, expected a positive number"
    with pytest.raises(OptionError) as caught:
        orthogonal(w, norm=2).expected_error(1.0)
    assert str(caught.value) == (
        "the strategy has norm 2, and Theorem 5 is on Laplace noise (norm 1)\n"
        "  write: orthogonal(workload, norm=1)"
    )


def test_the_orthogonal_mechanism_is_least_and_measures_the_cells() -> None:
    """The README's statements on the figures of CIKM 2013, on smaller draws."""
    for density in (0.2, 0.4, 0.8):
        for orthogonal_error, laplace, spectral, bound in study.errors(60, 300, density, study.CLOSED, 2):
            assert bound < orthogonal_error < min(laplace, spectral)
            # E w² = τ/3 for each weight.
            assert orthogonal_error == pytest.approx(2 * 300 * density / 3, rel=0.1)


def test_queries_are_as_dense_as_said_and_never_empty() -> None:
    w = study.draw(400, 5, 0.2, np.random.default_rng(1))
    assert w.matrix.any(axis=1).all() and w.matrix.max() <= 1
    wide = study.draw(50, 400, 0.2, np.random.default_rng(1))
    assert (wide.matrix != 0).mean() == pytest.approx(0.2, abs=0.02)


@pytest.mark.parametrize(
    ("call", "columns"),
    [
        ("list(study.LOW_RANK), study.CLOSED[:2], 1", 5),  # the low-rank searches themselves take minutes
        pytest.param("[(50, 1000)], study.CLOSED, 20", 8, marks=pytest.mark.slow),
    ],
)
@pytest.mark.slow
def test_the_readme_shows_what_is_printed(call: str, columns: int) -> None:
    """Lines of its tables, as the command prints them; ``columns`` are compared."""
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    printed = subprocess.run(
        [sys.executable, "-c", f"import study; study.table('', {call})"],
        cwd=FOLDER,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    lines = re.findall(r"^\| 0.*$", printed, flags=re.MULTILINE)
    assert len(lines) % 3 == 0 and lines
    for line in lines:
        assert "|".join(line.split("|")[: columns + 1]) + "|" in readme, line
