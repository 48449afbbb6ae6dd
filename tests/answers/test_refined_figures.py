"""Figures of refined answers against least squares in rational numbers.

Guards refined_answers.py, and what read_and_recheck_folder.py reads of them.
"""

import dataclasses
import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

import mmopt
from mmopt.answers.read_and_recheck_folder import _facts_of_refined
from mmopt.answers.refined_answers import Nearest, figures_of, nearest_counts
from mmopt.numerics.arrays import Array
from mmopt.results import Frame


def fractions(values: Array) -> list[Fraction]:
    return [Fraction(float(value)) for value in values]


def solved(rows: list[list[Fraction]]) -> list[Fraction]:
    """The solution of a square system, its right side the last column."""
    for i in range(len(rows)):
        p = next(r for r in range(i, len(rows)) if rows[r][i])
        rows[i], rows[p] = rows[p], rows[i]
        rows[i] = [value / rows[i][i] for value in rows[i]]
        for r in range(len(rows)):
            if r != i and rows[r][i]:
                rows[r] = [a - rows[r][i] * b for a, b in zip(rows[r], rows[i], strict=True)]
    return [row[-1] for row in rows]


def best(matrix: Array, estimates: Array, errors: Array, sums: Array, totals: Array) -> list[Fraction]:
    """Answers of the best counts, which are not negative here, with exact totals: a system of Lagrange."""
    m, n, q = len(matrix), matrix.shape[1], len(sums)
    queries, known = [fractions(row) for row in matrix], [fractions(row) for row in sums]
    weights, y = [1 / s**2 for s in fractions(errors)], fractions(estimates)
    rows = [
        [sum(weights[k] * queries[k][i] * queries[k][j] for k in range(m)) for j in range(n)]
        + [known[t][i] for t in range(q)]
        + [sum(weights[k] * queries[k][i] * y[k] for k in range(m))]
        for i in range(n)
    ]
    rows += [[*known[t], *([Fraction(0)] * q), Fraction(float(totals[t]))] for t in range(q)]
    x = solved(rows)[:n]
    assert min(x) > 0
    return [sum(a * b for a, b in zip(row, x, strict=True)) for row in queries]


def squares(answers: list[Fraction], estimates: Array, errors: Array) -> Fraction:
    terms = zip(answers, fractions(estimates), fractions(errors), strict=True)
    return sum((((a - y) / s) ** 2 for a, y, s in terms), Fraction(0))


def test_no_figure_is_better_than_it_is(rng: np.random.Generator, subtests: pytest.Subtests) -> None:
    """Whatever the estimates are: released ones add up, those of an edited folder may not."""
    for size, noise, known in itertools.product([1e2, 1e6, 1e8], [0.0, 1.0, 20.0], [False, True]):
        with subtests.test(f"{size:g}, {noise}, {known}"):
            matrix = np.vstack([np.eye(6), np.kron(np.eye(3), np.ones(2)), np.kron(np.ones(3), np.eye(2))])
            counts = np.rint(size * rng.uniform(1.0, 2.0, 6))
            errors = rng.uniform(0.3, 3.0, len(matrix))
            estimates = matrix @ (counts + rng.normal(size=6)) + noise * errors * rng.normal(size=len(matrix))
            sums, totals = np.ones((int(known), 6)), np.full(int(known), counts.sum())
            near = nearest_counts(matrix, estimates, errors, sums, totals)
            answers = matrix @ near.counts
            optimal = best(matrix, estimates, errors, sums, totals)
            least = squares(optimal, estimates, errors)
            slack = Fraction(1e-6 / 0.3) if known else 0  # totals are kept up to 1e-6, and may be used up
            for written in (answers, np.round(answers, 1), None):
                figures = figures_of(matrix, estimates, errors, sums, totals, near, written)
                shown = fractions(answers if written is None else written)
                assert figures.bound <= least
                assert figures.gap <= (1e-6 if size < 1e8 and not known else 1e-4) or (
                    written is not None and written is not answers
                )
                if written is None:
                    continue
                assert figures.objective >= squares(shown, estimates, errors)
                far = max(abs(a - b) / s for a, b, s in zip(shown, optimal, fractions(errors), strict=True))
                assert far <= Fraction(figures.distance) + slack


def test_an_edited_estimate_is_no_perfect_fit() -> None:
    """QR leaves out what no counts take away: of released answers, which add up, it is nothing."""
    domain = mmopt.Domain.of(a=["x", "y"], b=["p", "q"])
    workload = domain.marginal("a") + domain.marginal("a", "b")
    rows = {"a": ["x", "y"] * 50, "b": ["p", "p", "q", "q"] * 25}
    release = mmopt.release(rows, workload, {"rho": 1.0}, simulate=3)
    estimate = release.answers["estimate"].copy()
    estimate[0] += 40.0
    answers = type(release.answers)(
        {**release.answers.columns, "estimate": estimate}, release.answers.metadata
    )
    edited = dataclasses.replace(release, answers=answers).refine()
    errors = np.asarray(release.answers["standard_error"])
    value = float(np.sum(((edited.answers["refined"] - estimate) / errors) ** 2))
    about = edited.manifest["refined"]
    assert about["objective"] >= value * (1 - 1e-12) > 100.0 and about["bound"] > 100.0


def test_a_total_of_0_holds_a_count_whose_estimate_is_above() -> None:
    matrix, estimates, errors = np.eye(4), np.array([300.0, 10.0, 320.0, 50.0]), np.ones(4)
    sums, totals = np.array([[1.0, 1, 1, 1], [0, 0, 0, 1]]), np.array([600.0, 0.0])
    near = nearest_counts(matrix, estimates, errors, sums, totals)
    figures = figures_of(matrix, estimates, errors, sums, totals, near)
    assert figures.objective == pytest.approx(2800, rel=1e-9) and figures.bound > 2800 * (1 - 1e-7)
    assert near.counts == pytest.approx([290.0, 0.0, 310.0, 0.0], abs=1e-6)


def test_many_squares_are_read_back(rng: np.random.Generator) -> None:
    """The proved sum is above what floats add up to, by more than other figures may be off."""
    count, none = 150_000, np.zeros(0)
    estimates, errors = rng.normal(size=count), np.ones(count)
    near = Nearest(None, np.zeros(count), np.maximum(estimates, 0.0), (none, none), 1e9, "")
    one_each, no_rule = sparse.eye_array(count, format="csr"), sparse.csr_array((0, count))
    figures = figures_of(one_each, estimates, errors, no_rule, none, near, near.counts)
    answers = Frame({"estimate": estimates, "standard_error": errors, "refined": near.counts})
    for part, is_kept in ((1.0, True), (1.0 + 1e-10, False), (1.0 - 1e-10, False)):
        about = {"objective": part * figures.objective, "bound": 0.0, "whole": None}
        assert (_facts_of_refined(about, answers)["objective"] == about["objective"]) == is_kept
