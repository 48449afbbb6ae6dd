"""The printed coverage against the law that is drawn: exactly where it can be summed, else by releases.

Guards standard_errors_and_intervals.py, measured_and_simulated_releases.py, privacy/noise.py.
"""

import csv
import io
import itertools
import math
from dataclasses import replace
from fractions import Fraction
from functools import reduce

import numpy as np
import pytest
import scipy.sparse

import mmopt
from mmopt.driver.templates import templates
from mmopt.errors import OptionError
from mmopt.mechanism import (
    measure,
    measured_and_simulated_releases as measurement,
    plan,
    standard_errors_and_intervals as accuracy,
)
from mmopt.mechanism.release_writing import answers_frame
from mmopt.mechanism.standard_errors_and_intervals import _half_width, _query_interval
from mmopt.privacy import Privacy
from mmopt.privacy.noise import LAPLACE as LAPLACE_NOISE, laplace_quantile, noise_for, simulate
from mmopt.privacy.rounding.norms_and_measured_integers import MAX_ROWS
from mmopt.strategies import Strategy
from mmopt.workloads import Product, Workload
from mmopt.workloads.factors_and_products import predicates, prefix, total
from tests.privacy.rounding.test_integer_factors import (
    DATA as TABLE,
    columns_normalised,
    strategy_of,
    workload,
)

QUERIES = Workload.from_matrix(np.vstack([np.eye(6), np.tri(6)]))
CELLS = np.array([3, 0, 7, 1, 0, 12])
FORMS = ("cells", "hierarchy", "dense", "product", "union", "marginals")
GAUSSIAN = [Privacy(rho=0.1), Privacy(rho=0.5), Privacy(rho=2.0), Privacy(1.0, 1e-6)]
LAPLACE = [Privacy(epsilon=e) for e in (0.5, 1.0, 3.0)]


def release(form: str, norm: int):
    """Workload, strategy and data."""
    rng = np.random.default_rng(0)
    matrices = {
        "cells": np.eye(6),
        "hierarchy": np.vstack([np.eye(6), np.kron(np.eye(3), np.ones(2)), np.ones(6)]),
        "dense": np.tri(6) + 0.2 * rng.normal(size=(6, 6)),
    }
    if form in matrices:
        return QUERIES, columns_normalised(matrices[form], norm), CELLS
    return workload(), strategy_of(form, norm), TABLE


def law(norm: int, scale: float) -> np.ndarray:
    """Probabilities of -400 … 400."""
    k = np.arange(-400, 401)
    weights = np.exp(-np.abs(k) / scale if norm == 1 else -(k**2) / (2 * scale**2))
    return weights / weights.sum()


def added(laws: list[np.ndarray]) -> np.ndarray:
    """The law of a sum."""
    return reduce(lambda a, b: np.convolve(a, b, "same"), laws)


@pytest.mark.quick
def test_the_width_is_the_least_that_covers_and_the_coverage_is_exact(subtests):
    """Sums of equal terms, of one and twice another, and of two scales: convolved, and counted."""
    for confidence, norm, scale in itertools.product([0.5, 0.95, 0.999], [1, 2], [0.2, 0.5, 1.0, 3.0]):
        with subtests.test(f"{norm}, {scale}, {confidence}"):
            two = np.zeros(801)
            two[::2] = law(norm, scale)[200:601]  # of twice a term
            cases = [
                (((1.0,), (scale,), (1,)), law(norm, scale), 1.0),
                (((1.0,), (scale,), (4,)), added([law(norm, scale)] * 4), 1.0),
                (((0.5, 1.0), (scale, scale), (1, 1)), added([law(norm, scale), two]), 0.5),
                (
                    ((1.0, 1.0), (0.7, scale), (2, 1)),
                    added([law(norm, 0.7), law(norm, 0.7), law(norm, scale)]),
                    1.0,
                ),
            ]
            for terms, chances, step in cases:
                covered = np.array([chances[400 - t : 401 + t].sum() for t in range(400)])
                least = int(np.argmax(covered >= confidence))
                width, coverage, is_exact = _half_width(*terms, noise_for(norm), confidence)
                assert is_exact and width == pytest.approx(least * step, abs=1e-6)
                assert coverage == pytest.approx(covered[least], abs=1e-9)


@pytest.mark.quick
def test_an_error_on_no_lattice_is_covered_and_not_by_much_more(subtests):
    """Against all sums of a few integers, with their chances."""
    for norm, sizes in itertools.product([1, 2], [(1.0, 2**-0.5), (1.0, 0.3**0.5, 0.2**0.5, 0.11)]):
        with subtests.test(f"{norm}, {sizes}"):
            scale = 0.8
            values, chances = np.zeros(1), np.ones(1)
            k = np.arange(-11, 12)
            for size in sizes:
                own = law(norm, scale)[389:412]
                values = np.add.outer(values, size * k).ravel()
                chances = np.multiply.outer(chances, own).ravel()
            width, coverage, is_exact = _half_width(
                sizes, (scale,) * len(sizes), (1,) * len(sizes), noise_for(norm), 0.95
            )
            exact = chances[np.abs(values) <= width].sum()
            assert 0.95 <= coverage <= exact == pytest.approx(coverage, abs=0.02) and not is_exact
            assert chances[np.abs(values) <= 0.9 * width].sum() < 0.95 + 0.01


def test_laplace_noise_of_a_large_scale_is_as_the_continuous(subtests):
    for confidence in [0.5, 0.95, 0.999]:
        with subtests.test(str(confidence)):
            scale = 2.0**30
            width, coverage, is_exact = _half_width((1.0,), (scale,), (1,), LAPLACE_NOISE, confidence)
            assert is_exact
            assert width == pytest.approx(-math.log(1 - confidence) * scale, rel=6e-3)
            assert confidence <= coverage == pytest.approx(-math.expm1(-width / scale), abs=2e-5)
            many, *_ = _half_width((1.0,), (scale,), (10_000,), LAPLACE_NOISE, 0.95)
            assert many == pytest.approx(1.95996 * 100 * math.sqrt(2) * scale, rel=2e-3)


def test_simulated_noise_has_the_law_of_the_drawn(subtests):
    for norm, scale in itertools.product([1, 2], [0.3, 1.0, 5.0]):
        with subtests.test(f"{norm}, {scale}"):
            draws = simulate(noise_for(norm), np.zeros(40_000, dtype=np.int64), scale, 3)
            for k in range(-3, 4):
                chance = law(norm, scale)[400 + k]
                assert abs(np.mean(draws == k) - chance) <= 5 * math.sqrt(chance / 40_000)


@pytest.mark.quick
@pytest.mark.parametrize("draw", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_intervals_cover_as_printed(draw, rng, subtests):
    """Estimates are linear in the noise: 4,000 draws of it through the coefficients, a few through data."""
    for form in FORMS:
        privacy = rng.choice([*GAUSSIAN, *LAPLACE])
        with subtests.test(f"{form}, {privacy}"):
            w, strategy, x = release(form, 1 if privacy.is_pure else 2)
            found = plan(w, strategy, privacy)
            truth = w.answers(x).astype(np.float64)
            interval = found.intervals(0.95)
            assert (interval.coverage >= 0.95).all()
            scales = np.repeat([p.relative * found.scale for p in found.parts], [p.rows for p in found.parts])
            noise = simulate(
                found.law, np.zeros(4000 * len(scales), dtype=np.int64), np.tile(scales, 4000), 7
            )
            noise = np.ldexp(noise.reshape(4000, -1).T, -found.fineness)
            errors = accuracy._coefficients(found.law, found.integer, found.scale, found.fineness) @ noise
            spread = np.sqrt(interval.coverage * (1 - interval.coverage) / 4000)
            observed = (np.abs(errors) <= interval.widths[:, None]).mean(axis=1)
            assert (np.abs(observed - interval.coverage) <= 4.5 * spread + 1 / 4000).all()
            np.testing.assert_allclose(errors.std(axis=1), found.standard_errors, rtol=0.12)
            for seed in range(3):
                answers = measure(found, x, simulate=seed)
                assert (answers.coverage == interval.coverage).all()
                np.testing.assert_allclose(
                    answers.high - answers.low, 2 * interval.widths, rtol=1e-6, atol=1e-6
                )
                assert (np.abs(answers.estimates - truth) < 12 * found.standard_errors + 1e-9).all()


@pytest.mark.quick
def test_where_coefficients_are_too_many_intervals_cover_at_least(monkeypatch, subtests):
    monkeypatch.setattr(accuracy, "_MOST_COEFFICIENTS", 0)
    for privacy in [Privacy(rho=0.5), Privacy(epsilon=1.0), Privacy(epsilon=0.01)]:
        with subtests.test(str(privacy)):
            norm = 1 if privacy.is_pure else 2
            w, strategy, _ = release("marginals", norm)
            with monkeypatch.context() as patch:
                patch.setattr(accuracy, "_MOST_COEFFICIENTS", 10**9)
                few = plan(w, strategy, privacy).intervals(0.95)
            found = plan(w, strategy, privacy)
            many = found.intervals(0.95)
            assert not many.is_exact and (many.coverage == 0.95).all()
            assert (many.widths >= few.widths * (1 - 1e-3) - (1 if norm == 2 else 0)).all()
            assert (many.widths <= 1.4 * few.widths).all()
            if norm == 2:  # normal on a finer lattice
                assert found.fineness > 20
                coarse = replace(found, fineness=0).intervals(0.95)
                assert (coarse.widths > 1.3 * few.widths).all() and not coarse.is_exact


def test_errors_that_are_bounds_are_said_to_be(monkeypatch, tmp_path):
    """Without coefficients, of a union: on the screen, in the manifest and where the folder is read."""
    w = Workload.of(
        domain={"a": [1, 2, 3, 4, 5], "b": [1, 2, 3, 4, 5]}, workload=[{"marginals": {"ways": 1}}]
    )
    strategy = templates(w, 2, ["union"]).solution(w)
    data = {"a": [1, 2, 5], "b": [5, 5, 1]}
    few = mmopt.release(data, w, {"rho": 0.5}, strategy=strategy, simulate=1)
    monkeypatch.setattr(accuracy, "_MOST_COEFFICIENTS", 0)
    many = mmopt.release(data, w, {"rho": 0.5}, strategy=strategy, simulate=1)
    assert "errors" not in few.manifest["accuracy"] and many.rmse > 1.05 * few.rmse
    words = many.manifest["accuracy"]["errors"]
    assert words.startswith("an upper bound") and words == many.plan.why_bounds
    assert dict(many.rows())["rmse"].endswith(f"({words})")
    assert "accuracy.errors" not in mmopt.load_release(many.save(tmp_path / "out"), w).unchecked


@pytest.mark.quick
def test_a_width_for_any_laplace_sum_covers_single_counts(monkeypatch, subtests):
    """Noise on whole numbers reaches the next one, where continuous noise of its scale does not."""
    monkeypatch.setattr(accuracy, "_MOST_COEFFICIENTS", 0)
    cells = Workload.from_matrix(np.eye(4))
    for confidence in (0.5, 0.9, 0.95, 0.99):
        with subtests.test(str(confidence)):
            for epsilon in np.geomspace(0.05, 4.0, 10):
                found = plan(cells, Strategy(np.eye(4), 1), Privacy(epsilon=float(epsilon)))
                most = math.floor(found.intervals(confidence).widths[0])
                assert law(1, found.scale)[400 - most : 401 + most].sum() >= confidence


def test_a_bound_for_any_laplace_sum_is_little_wider_than_one_variable_needs():
    for missed, more in ((0.1, 1.06), (0.05, 1.021), (0.01, 1.002)):
        single = -math.log(missed) / math.sqrt(2)  # its quantile in standard errors
        assert single < laplace_quantile(missed) < more * single


def test_whole_answers_are_whole():
    """Least squares of whole numbers that are whole themselves, such as sums of counts."""
    w, strategy, x = release("cells", 1)
    found = plan(w, strategy, Privacy(epsilon=1.0))
    for seed in range(20):
        answers = measure(found, x * 10**6, simulate=seed)
        for values in (answers.estimates, answers.low, answers.high):
            np.testing.assert_array_equal(values, np.rint(values))


def test_queries_that_are_not_whole_are_held_as_printed(monkeypatch, rng, subtests):
    """An end lies on the truth itself, where neither rounding nor whole numbers may leave it out."""
    for size, privacy in itertools.product(
        (1 / 3, 0.1, 1e-9, 1 / 330e6), (Privacy(rho=1.0), Privacy(epsilon=10.0))
    ):
        confidence = float(rng.choice([0.5, 0.9, 0.95]))
        with subtests.test(f"{size}, {confidence}, {privacy}"):
            found = plan(
                Workload.from_matrix(size * np.eye(1)),
                Strategy(np.eye(1), 1 if privacy.is_pure else 2),
                privacy,
            )
            chances, drawn = law(found.integer.norm, found.scale), range(-9, 10)
            for count in (3, 20, 6_000_002):
                held = 0.0
                for z in drawn:
                    monkeypatch.setattr(measurement, "simulate", lambda _, exact, *__, z=z: exact + z)
                    answers = measure(found, np.array([count]), simulate=0, confidence=confidence)
                    (row,) = csv.DictReader(io.StringIO(answers_frame(answers).to_csv()))
                    if Fraction(row["low"]) <= Fraction(size) * count <= Fraction(row["high"]):
                        held += chances[400 + z]
                    assert answers.low[0] <= answers.estimates[0] <= answers.high[0]
                assert held >= float(row["coverage"])


def test_a_law_without_end_is_never_covered_wholly():
    found = plan(QUERIES, Strategy(np.eye(6)), Privacy(rho=300.0))
    answers = measure(found, CELLS)
    assert (answers.coverage < 1).all()
    assert set(answers_frame(answers)["coverage"]) == {0.999999}


def test_whole_numbers_are_of_queries_of_whole_numbers():
    matrix = np.array([[1.0, -2.0, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 2.0]])
    sparse = scipy.sparse.csr_array(matrix)
    for given in (matrix, sparse):
        assert measurement._are_whole(Workload.from_matrix(given).blocks[0]).tolist() == [True, False, True]
    for factor, whole in ((predicates(matrix), False), (predicates(matrix[::2]), True), (prefix(3), True)):
        assert measurement._are_whole(Product((factor, total(2)))).tolist() == [whole] * factor.rows


def test_a_count_with_much_noise_is_covered_as_printed(subtests):
    """|z| <= t of whole z, summed; a normal quantile of 491.95 covers 491, and that too seldom."""
    for scale, (norm, confidence) in itertools.product(
        [251.0, 456.0, 1000.0, 3e4], [(2, 0.5), (2, 0.95), (1, 0.9), (1, 0.95)]
    ):
        with subtests.test(f"{norm}, {scale}, {confidence}"):
            privacy = Privacy(rho=1 / (2 * scale**2)) if norm == 2 else Privacy(epsilon=1 / scale)
            found = plan(Workload.from_matrix(np.eye(1)), Strategy(np.eye(1), norm), privacy)
            interval = found.intervals(confidence)
            k = np.arange(-40 * scale, 40 * scale + 1)
            weights = np.exp(-np.abs(k) / found.scale if norm == 1 else -np.square(k / found.scale) / 2)
            covered = weights[np.abs(k) <= interval.widths[0]].sum() / weights.sum()
            assert confidence <= interval.coverage[0] <= covered + 1e-9 <= interval.coverage[0] + 0.01
            assert not interval.is_exact or covered == pytest.approx(interval.coverage[0], abs=1e-6)


def test_intervals_hold_what_rounding_biases_the_most_rows():
    """Queries without an integer basis: 2^31 rows of one cell, whose answers are off by a multiple of it."""
    w = Workload.from_matrix(np.log(np.arange(5.0) + 2)[None, :])
    found = plan(w, Strategy(w.queries), Privacy(8.0, 1e-6))
    interval = found.intervals(0.95)
    x = np.zeros(5, dtype=np.int64)
    for cell in range(5):
        x[:] = 0
        x[cell] = MAX_ROWS
        off = found.integer.estimate(found.integer.answers(x))[0] - w.queries[0, cell] * MAX_ROWS
        z = found.standard_errors[0] * np.random.default_rng(cell).normal(size=2000)
        assert (np.abs(off + z) <= interval.widths[0]).mean() >= 0.93
    assert not interval.is_exact


def test_intervals_are_read_only_and_a_confidence_is_one_that_is_computed():
    found = plan(QUERIES, Strategy(np.eye(6)), Privacy(rho=0.1))
    for values in (measure(found, CELLS, simulate=1).coverage, found.intervals(0.95).widths):
        with pytest.raises(ValueError, match="read-only"):
            values[0] = 1.0
    most = found.intervals(1 - 1e-8)
    assert (most.coverage >= 1 - 1e-8).all() and (most.widths > 5.5 * found.standard_errors).all()
    with pytest.raises(OptionError, match="the most that is computed is 1 - 1e-08"):
        found.intervals(1 - 1e-12)


def test_two_terms_of_much_noise_are_covered_as_printed(subtests):
    """Steps of 1, hardly smeared by 0.001 of another term, are not those of 0.001."""
    for sizes, norm, scales in itertools.product(
        [(0.001, 1.0), (0.618, 1.0), (0.3, 1.0)], [1, 2], [(33.0, 623.0), (300.0, 500.0)]
    ):
        with subtests.test(f"{norm}, {sizes}, {scales}"):
            laws = []
            for scale in scales:
                k = np.arange(-30 * scale, 30 * scale + 1)
                weights = np.exp(-np.abs(k) / scale if norm == 1 else -np.square(k / scale) / 2)
                laws.append((k, weights / weights.sum()))
            (k, chances), (other, weights) = laws
            below = np.concatenate([[0.0], np.cumsum(weights)])
            for confidence in (0.5, 0.9, 0.95, 0.99):
                width, coverage, is_exact = _half_width(sizes, scales, (1, 1), noise_for(norm), confidence)
                ends = [
                    np.searchsorted(other, end - sizes[0] * k, side)
                    for end, side in ((-width, "left"), (width, "right"))
                ]
                exact = chances @ (below[ends[1]] - below[ends[0]])
                assert confidence <= coverage <= exact + 1e-9 <= coverage + 0.04
                assert not is_exact or coverage == pytest.approx(exact, abs=1e-9)


@pytest.mark.quick
def test_a_small_coefficient_of_much_noise_is_not_left_out(subtests):
    """Noise of a small scale is nearly always 0: the other term is all of the error that there is."""
    for norm, small in itertools.product([1, 2], [2e-11, 2e-13]):
        with subtests.test(f"{norm}, {small}"):
            noise = noise_for(norm)
            width, coverage, is_exact = _query_interval(
                np.array([1.0, small]), np.array([0.05, 2000.0]), noise, 0.95
            )
            assert width >= 1.9 * small * math.sqrt(noise.variance(2000.0)) and not is_exact
            assert 0.95 <= coverage < 1.0
