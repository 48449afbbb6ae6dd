"""Products that are not formed are the products.

Guards number_systems.py, numerics/ball_inverse.py, numerics/float_functions.py.
"""

from typing import Any

import numpy as np
import pytest
import tolerances
from symmetric_workloads import random_products

from mmopt.errors import ProgramError
from mmopt.language import evaluate, evaluate_ball
from mmopt.language.atoms.table_of_atoms import FUNCTIONS
from mmopt.language.evaluate.number_systems import BALLS, PLAIN, ByComponent, Numbers
from mmopt.language.syntax.parse_and_write_expressions import parse_expr
from mmopt.language.syntax.source_text import Source, Text
from mmopt.numerics.balls import Ball
from mmopt.numerics.component_arrays import Level, Space, Split, lift
from mmopt.numerics.float_functions import Diagonal
from mmopt.symmetry import symmetry
from mmopt.testing.problem_registry import marginals


def drawn(rng: np.random.Generator) -> Split:
    """The queries with a target by component: rows and columns have orbits."""
    while True:
        workload = marginals([2, 3, 4], [0, 1, 2], target=1.0) if rng.random() < 0.5 else random_products(rng)
        found = symmetry(workload, True)
        if found is not None and workload.has_all_targets:
            left, right = found.sources["workload.representation"], found.sources["workload.basis"]
            parts = tuple(a @ b for a, b in zip(left.parts, right.parts, strict=True))
            return Split(left.rows, right.columns, parts)


def times(numbers: Numbers, left: Any, right: Any) -> Any:
    return ByComponent(numbers).product(left, right)


def diagonal(numbers: Numbers, left: Split, right: Split) -> Level:
    algebra = ByComponent(numbers)
    return algebra.of_diagonal("diag", algebra.diagonal(left, right))


def level(rng: np.random.Generator, space: Space) -> Level:
    return Level(space, rng.uniform(0.5, 2.0, size=len(space.sizes)))


def test_scaling_and_diagonal(rng: np.random.Generator) -> None:
    queries = drawn(rng)
    p, q = level(rng, queries.columns), level(rng, queries.rows)
    scaled = times(PLAIN, times(PLAIN, Diagonal(q), queries), Diagonal(p))
    dense = lift(q)[:, None] * lift(queries) * lift(p)
    np.testing.assert_allclose(lift(scaled), dense, rtol=tolerances.FINE, atol=tolerances.ROUNDING)
    turned = Split(queries.columns, queries.rows, tuple(part.T for part in queries.parts))
    found = diagonal(PLAIN, scaled, turned)
    expected = np.einsum("ij,ij->i", dense, lift(queries))
    np.testing.assert_allclose(lift(found), expected, rtol=tolerances.FINE, atol=tolerances.ROUNDING)
    both = times(PLAIN, Diagonal(p), Diagonal(p))
    assert isinstance(both, Diagonal)
    np.testing.assert_array_equal(both.entries.values, p.values**2)
    np.testing.assert_array_equal(times(PLAIN, Diagonal(p), p).values, p.values**2)
    formed = ByComponent(PLAIN).whole(Diagonal(p))
    expected = times(PLAIN, queries, formed)
    for one, two in zip(times(PLAIN, queries, Diagonal(p)).parts, expected.parts, strict=True):
        np.testing.assert_allclose(one, two, rtol=tolerances.ROUNDING)


def test_balls_contain_the_plain_values(rng: np.random.Generator) -> None:
    queries = drawn(rng)
    q = level(rng, queries.rows)
    turned = Split(queries.columns, queries.rows, tuple(part.T for part in queries.parts))
    plain = diagonal(PLAIN, times(PLAIN, Diagonal(q), queries), turned)
    exact = [Split(m.rows, m.columns, tuple(map(BALLS.exact, m.parts))) for m in (queries, turned)]
    ball = diagonal(
        BALLS, times(BALLS, Diagonal(Level(q.space, BALLS.exact(q.values))), exact[0]), exact[1]
    ).values
    assert isinstance(ball, Ball)
    assert (np.abs(ball.mid - plain.values) <= 2 * ball.rad).all()
    assert ball.rad.max() <= tolerances.ROUNDING * np.abs(plain.values).max()


def test_what_splits_differently_is_refused(rng: np.random.Generator) -> None:
    queries = drawn(rng)
    while queries.rows.matches(queries.columns):
        queries = drawn(rng)
    other = drawn(rng)
    while other.rows.matches(queries.rows):
        other = drawn(rng)
    with pytest.raises(ProgramError) as raised:
        times(PLAIN, Diagonal(level(rng, other.rows)), queries)
    assert str(raised.value).startswith("'matmul' of values that split differently: Space(")
    with pytest.raises(ProgramError, match="'diag' of values that split differently"):
        diagonal(
            PLAIN, queries, Split(queries.columns, queries.columns, tuple(p.T @ p for p in queries.parts))
        )


def test_diagonals_around_an_inverse(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for numbers in (PLAIN, BALLS):
        with subtests.test(str(numbers)):
            queries = drawn(rng)
            parts = []
            for part in queries.parts:
                rows = rng.normal(size=(part.shape[1] + 1, part.shape[1]))
                parts.append(rows.T @ rows)
            matrix = Split(queries.columns, queries.columns, tuple(parts))
            turned = Split(queries.columns, queries.rows, tuple(part.T for part in queries.parts))
            names = {"W": queries, "X": matrix, "V": turned}
            product = lift(queries) @ np.linalg.pinv(lift(matrix)) @ lift(turned)
            for atom, expected in (("diag", np.diag(product)), ("trace", np.trace(product))):
                text = f"{atom}(W @ inv(X) @ V)"
                expr = parse_expr(Text(Source("t", (text,)), text, 1, 1), FUNCTIONS)
                found = evaluate_ball(expr, names) if numbers is BALLS else evaluate(expr, names)
                if isinstance(found, Level):
                    values = found.values.mid if isinstance(found.values, Ball) else found.values
                    found = Level(found.space, values)
                    np.testing.assert_allclose(lift(found), expected, rtol=tolerances.FINE)
                else:
                    assert float(getattr(found, "mid", found)) == pytest.approx(expected, rel=tolerances.FINE)
