"""What is chosen, as declared: psd matrices are lifted only where the program inverts them."""

import numpy as np
import pytest

from mmopt import Program, Workload, solve
from mmopt.compiler import bind
from mmopt.driver.judge.restored_lines import restored
from mmopt.driver.judge.violations import as_declared, violations
from mmopt.language import check
from mmopt.numerics.ball_functions import is_semidefinite
from mmopt.numerics.balls import exact
from mmopt.numerics.matrix_functions import EIGENVALUE_FLOOR

# The textbook's semidefinite programs: the optimum of each is singular.
MAX_CUT = """program max_cut
given
    C: matrix[n, n]
choose
    X: psd[n, n]
maximize
    trace(C @ X)
subject to
    diag(X) == 1
"""
NEAREST_CORRELATION = MAX_CUT.replace("maximize", "minimize").replace("trace(C @ X)", "sum((X - C)**2)")
LEAST_TRACE = """program least_trace
given
    C: matrix[n, n]
choose
    X: psd[n, n]
minimize
    trace(X)
subject to
    X[0, 1] >= 1
"""


def test_singular_optima_are_solved_and_proved(rng: np.random.Generator, subtests: pytest.Subtests) -> None:
    for n in [5, 10]:
        for text in [MAX_CUT, NEAREST_CORRELATION, LEAST_TRACE]:
            with subtests.test(n=n, text=text):
                for _ in range(5):
                    c = rng.normal(size=(n, n))
                    found = solve(np.eye(2), Program.parse(text), givens={"C": c + c.T})
                    assert found.derived_grade == "proved"
                    assert found.derived_gap is not None and -1e-9 <= found.derived_gap <= 1e-6
                    if text == LEAST_TRACE:
                        assert found.objective == pytest.approx(2.0, rel=1e-8)


@pytest.mark.quick
def test_restored_lines_hold(rng: np.random.Generator, subtests: pytest.Subtests) -> None:
    for line in ["diag(X) == 1", "X[0, 1] >= 1", "trace(X) <= 2"]:
        with subtests.test(line):
            for _ in range(3):
                program = Program.parse(MAX_CUT.replace("diag(X) == 1", line))
                instance = bind(check(program), Workload.from_matrix(np.eye(2)), {"C": np.eye(5)})
                a = rng.normal(size=(5, 5))
                before = {"X": a @ a.T}

                def missed(point: dict[str, np.ndarray]) -> float:
                    return next(v.amount for v in violations(instance, point) if v.kind == "constraint")

                if missed(before) > 0.0:
                    assert missed(restored(instance, before)) <= 1e-14
                else:
                    assert (restored(instance, before)["X"] == before["X"]).all()


@pytest.mark.quick
def test_a_matrix_is_lifted_where_it_is_inverted_alone(rng: np.random.Generator) -> None:
    for _ in range(5):
        a = rng.normal(size=(3, 6))
        singular = a.T @ a
        plain = Program.parse(MAX_CUT)
        clipped = as_declared(plain.choose[0], singular, plain)
        assert is_semidefinite(exact(clipped))
        assert np.abs(clipped - singular).max() <= 1e-12 * np.trace(singular)
        inverting = Program.parse(
            MAX_CUT.replace("maximize", "minimize").replace("C @ X", "C.T @ inv(X) @ C")
        )
        lifted = as_declared(inverting.choose[0], singular, inverting)
        largest = np.linalg.eigvalsh(singular)[-1]
        assert np.linalg.eigvalsh(lifted)[0] == pytest.approx(EIGENVALUE_FLOOR * largest, rel=1e-3)
