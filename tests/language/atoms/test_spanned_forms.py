"""Values over cells that are not listed, next to the dense ones that they stand for.

Guards numerics/component_arrays.py, component_forms.py.
"""

from typing import Any

import numpy as np
import pytest
import tolerances
from dense_row_space import DenseSectors, dense_sectors, few_of_many

from mmopt.compiler import bind
from mmopt.driver.judge.score_and_meaning import bound_of, candidate
from mmopt.errors import OptionError, ProgramError
from mmopt.language import evaluate, evaluate_ball, shipped
from mmopt.language.atoms.table_of_atoms import FUNCTIONS
from mmopt.language.syntax.parse_and_write_expressions import parse_expr
from mmopt.language.syntax.source_text import Source, Text
from mmopt.numerics.arrays import Array
from mmopt.numerics.balls import Ball
from mmopt.numerics.component_arrays import Measure, Split
from mmopt.sectors.functions_of_few import Mixture
from mmopt.sectors.row_space_cells_and_targets import RowSpaceCells
from mmopt.workloads import Workload


class Case:
    """A workload with a random X and a random measure, over cells that are not listed and densely."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.workload = few_of_many(rng)
        self.rows: DenseSectors = dense_sectors(self.workload)
        self.cells = RowSpaceCells.of(self.rows, self.workload)
        root = self.rows.root
        self.root = Split(root.rows, self.cells, root.parts)
        half = rng.normal(size=(len(self.rows.basis),) * 2)
        self.gram = half @ half.T + len(half) * np.eye(len(half))
        self.mixture = random_mixture(rng, self.workload)
        basis, n = self.rows.basis, self.workload.n
        # The inverse on the span, as W inv(X) W.T has it.
        self.inverse = basis.T @ np.linalg.inv(self.gram) @ basis / n**2
        x = Split(self.cells, self.cells, (self.gram,))
        self.env = {"W": self.root, "X": x, "d": Measure(self.cells, self.mixture), "p": self.workload.n}

    @property
    def profile(self) -> Array:
        return self.rows.profile([self.gram])

    def value(self, text: str) -> Any:
        return evaluate(parsed(text), self.env)

    def ball(self, text: str) -> Any:
        return evaluate_ball(parsed(text), self.env)


def random_mixture(rng: np.random.Generator, workload: Workload) -> Mixture:
    """Three products and a cell."""
    factors = [rng.uniform(0.1, 1.0, size=(3, size)) for size in workload.domain.shape]
    mixture = Mixture(rng.uniform(0.5, 2.0, size=3), tuple(f / f.sum(axis=1, keepdims=True) for f in factors))
    cell = np.array([[int(rng.integers(size)) for size in workload.domain.shape]])
    found = mixture.with_cells(cell)
    return Mixture(found.weights + 0.1, found.factors)


def parsed(text: str) -> Any:
    return parse_expr(Text(Source("t", (text,)), text, 1, 1), FUNCTIONS)


def test_a_line_is_that_of_the_dense_matrices(rng: np.random.Generator) -> None:
    case = Case(rng)
    w = case.workload.matrix
    d = case.rows.measure(case.mixture)
    expected = {
        "max(diag(X))": case.profile.max(),
        "max(diag(X) / 3)": case.profile.max() / 3,
        "max(2 * diag(X))": 2 * case.profile.max(),
        "trace(W @ inv(X) @ W.T)": np.trace(w @ case.inverse @ w.T),
        "max(diag(W.T @ W))": np.square(w).sum(axis=0).max(),
        "sum(d)": d.sum(),
        "nuclear(W @ diag(sqrt(d)))": np.linalg.norm(w * np.sqrt(d), "nuc"),
        "nuclear(W @ diag(sqrt(d)))**2 / sum(d)": np.linalg.norm(w * np.sqrt(d), "nuc") ** 2 / d.sum(),
    }
    for text, value in expected.items():
        assert case.value(text) == pytest.approx(value, rel=tolerances.SHAPE), text
        ball = case.ball(text)
        assert ball.lower <= value * (1 + tolerances.ROUNDING), text
        assert ball.upper >= value * (1 - tolerances.ROUNDING), text
        if "max" not in text:
            assert float(ball.rad) <= tolerances.SHAPE * value, text
        else:
            assert float(ball.upper) <= value * (1 + tolerances.SHAPE), text


def test_the_repair_scales_and_adds_nothing(rng: np.random.Generator) -> None:
    case = Case(rng)
    found = case.value("X / max(diag(X)) + diag(1 - diag(X / max(diag(X))))")
    np.testing.assert_allclose(found.parts[0], case.gram / case.profile.max(), rtol=tolerances.SHAPE)


REFUSED = [
    ("trace(X)", "'trace' has no form by components for a matrix that splits into components"),
    ("nuclear(W)", "'nuclear' has no form by components for a matrix that splits into components"),
    ("inv(X)", "'inv' has no form by components for a matrix that splits into components"),
    ("sum(diag(X))", "'sum' has no form by components for a vector over cells that are not listed"),
    ("min(diag(X))", "'min' has no form by components for a vector over cells that are not listed"),
    ("diag(d)", "'diag' has no form by components for a vector over cells that are not listed"),
    (
        "W @ X",
        "'matmul' has no form by components for a matrix that splits into components, a matrix that "
        "splits into components",
    ),
    (
        "diag(X) + d",
        "'add' has no form by components for a vector over cells that are not listed, a vector over "
        "cells that are not listed",
    ),
    (
        "inv(X) @ W.T",
        "the inverse of a matrix over cells that are not listed has no form but between queries",
    ),
]


def test_what_would_take_the_cells_is_refused(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for text, word in REFUSED:
        with subtests.test(text):
            with pytest.raises(ProgramError) as refused:
                Case(rng).value(text)
            assert refused.value.message == word


def test_nothing_that_is_claimed_is_beside_a_profile(rng: np.random.Generator) -> None:
    with pytest.raises(ProgramError) as refused:
        Case(rng).ball("trace(W @ inv(X + diag(1 - diag(X))) @ W.T)")
    assert refused.value.message == (
        "'sub' has no form by components for a number, a vector over cells that are not listed"
    )


@pytest.mark.quick
def test_a_point_of_the_program_is_worth_what_it_is_densely(rng: np.random.Generator) -> None:
    case = Case(rng)
    instance = bind(shipped("l2_strategy"), case.workload, {}, {"workload.root": case.root})
    found = candidate(instance, {"X": case.env["X"]})
    w, n = case.workload.matrix, case.workload.n
    dense = case.profile.max() * np.trace(w @ case.inverse @ w.T)
    assert found.is_feasible
    assert found.proved
    assert dense <= found.objective <= dense * (1 + tolerances.SHAPE)
    bound = bound_of(instance, {"sensitivity": case.env["d"]})
    assert bound is not None
    d = case.rows.measure(case.mixture)
    exact = bound_of(bind(shipped("l2_strategy"), case.workload), {"sensitivity": d})
    assert exact is not None
    assert exact * (1 - tolerances.SHAPE) <= bound <= exact * (1 + tolerances.ROUNDING)
    assert n == case.cells.size


def test_a_measure_is_not_negative(rng: np.random.Generator) -> None:
    case = Case(rng)
    weights, factors = case.mixture.weights, case.mixture.factors
    with pytest.raises(OptionError) as refused:
        Measure(case.cells, Mixture(-weights, factors))
    assert refused.value.message == "a measure has weights and factors that are finite and not negative"
    with pytest.raises(OptionError) as refused:
        Measure(case.cells, Mixture(weights[1:], factors))
    assert refused.value.message == "a measure has one weight for each product, and a row in every factor"


@pytest.mark.quick
def test_radii_move_the_largest_entry(rng: np.random.Generator) -> None:
    case = Case(rng)
    column = case.rows.basis[:, int(case.profile.argmax())]
    rad = 1e-3 * np.abs(case.gram)
    wide = Split(case.cells, case.cells, (Ball(case.gram, rad),))
    found = evaluate_ball(parsed("max(diag(X))"), {**case.env, "X": wide})
    moved = case.gram + rad * np.sign(np.outer(column, column))
    assert float(found.upper) >= column @ moved @ column


def test_what_the_root_of_a_measure_is_off_by_is_charged(rng: np.random.Generator) -> None:
    case = Case(rng)
    measure = Measure(case.cells, case.mixture)
    off = 1e-3
    # As of a measure whose moments are known to a thousandth only.
    measure.__dict__["moments"] = measure.moments._replace(offs=(off,))
    found = evaluate_ball(parsed("W @ diag(sqrt(d))"), {**case.env, "d": measure})
    (part,) = found.parts
    assert (part.rad >= off * np.linalg.norm(part.mid, axis=1, keepdims=True)).all()
