"""Programs as a student writes them, with each kind of cone, are solved, and proved by their lines alone.

Guards compiler/lines_and_cones.py.
"""

# ruff: noqa: E501 - a section stands on one line

import numpy as np
import pytest
from edited_programs import without_reach

from mmopt import Program, Workload, solve
from mmopt.errors import SolverError

_W = "given\n    W: matrix[r, n] = workload.root\n"
_DESIGN = "choose\n    d: vector[n] >= 0\n{0}\nsubject to\n    total: sum(d) <= 1\nstrategy\n    diag(sqrt(d)) norm 2\n"
_STRATEGY = "choose\n    X: psd[n, n]\n{0}\nstrategy\n    factor(X) norm 2\n"
_VECTOR = "choose\n    x: vector[n]\n{0}\nstrategy\n    eye(n) norm 2\n"

_LINES: dict[str, str] = {
    "a_optimal": _DESIGN.format("minimize\n    trace(inv(W @ diag(d) @ W.T))"),
    "d_optimal": _DESIGN.format("maximize\n    logdet(W @ diag(d) @ W.T)"),
    "e_optimal": _DESIGN.format("maximize\n    lambda_min(W @ diag(d) @ W.T)"),
    "entropic": _DESIGN.format("maximize\n    sum(entropy(d)) + 0.1 * logdet(W @ diag(d) @ W.T)"),
    "minimax": (
        "choose\n    X: psd[n, n]\n    t: scalar\nminimize\n    t\nsubject to\n    cost: diag(X) <= 1\n"
        "    each: diag(W @ inv(X) @ W.T) <= t\nstrategy\n    factor(X) norm 2\n"
    ),
    "caps": _STRATEGY.format(
        "minimize\n    trace(W @ inv(X) @ W.T)\nsubject to\n    cost: X[i, i] <= 1 for i in n\n"
        "    caps: W[j, :] @ inv(X) @ W[j, :].T <= 8 for j in r"
    ),
    "gamma_2": _STRATEGY.format(
        "minimize\n    max(diag(W @ inv(X) @ W.T))\nsubject to\n    cost: diag(X) <= 1"
    ),
    "banded": _STRATEGY.format(
        "minimize\n    trace(W @ inv(X) @ W.T)\nsubject to\n    cost: diag(X) <= 1\n"
        "    band: X[i, j] == 0 for |i - j| >= 3"
    ),
    "toeplitz": _STRATEGY.format(
        "minimize\n    trace(W @ inv(X) @ W.T)\nsubject to\n    cost: diag(X) <= 1\n"
        "    shift: X[i, j] == X[i + 1, j + 1] for i, j in n - 1"
    ),
    "linear": _VECTOR.format(
        "minimize\n    c @ x\nsubject to\n    low: W @ x >= 1\n    up: norm(x, inf) <= 10"
    ),
    "quadratic": _VECTOR.format(
        "minimize\n    sum((W @ x)**2) + c @ x\nsubject to\n    whole: sum(x) == 1\n    low: x >= 0"
    ),
    "robust": _VECTOR.format(
        "minimize\n    sum(huber(W @ (x - c))) + 0.1 * norm(x, 1) + norm(x)\nsubject to\n    some: max(sum(x), 2) <= 5"
    ),
    "fractions": (
        "choose\n    d: vector[n] >= 0\nmaximize\n    sum(d**0.3) - sum(d**1.5) - sum(rel_entropy(d, ones(n)))\n"
        "subject to\n    pairs: sum(d[i] * d0[i] for i in n if i > 0) <= 3\nstrategy\n    eye(n) norm 2\n"
    ),
}

_GIVEN = {"linear": "c", "quadratic": "c", "robust": "c", "fractions": "d0"}


def _text(name: str) -> str:
    given = f"    {_GIVEN[name]}: vector[n] >= 0\n" if name in _GIVEN else ""
    return f"program {name}\n{_W}{given}{_LINES[name]}"


STUDENT_PROGRAMS: dict[str, str] = {name: _text(name) for name in _LINES}


def givens_of(name: str, n: int) -> dict[str, np.ndarray]:
    """The givens of the program over n cells."""
    return {_GIVEN[name]: 1.0 + np.arange(n) / n} if name in _GIVEN else {}


@pytest.mark.parametrize("n", [5, pytest.param(16, marks=pytest.mark.nightly)])
def test_it_is_solved_and_proved(n: int, rng: np.random.Generator, subtests: pytest.Subtests) -> None:
    for name in rng.permutation(list(STUDENT_PROGRAMS)).tolist()[: n + 1]:
        with subtests.test(name):
            program = Program.parse(STUDENT_PROGRAMS[name])
            found = solve(np.tri(n), program, givens=givens_of(name, n), solver="clarabel")
            assert found.bound_grade == "proved" and -1e-9 <= found.gap <= 1e-4


def test_known_optima() -> None:
    """Over as many points as unknowns the D-optimal design is uniform; of diagonal queries all are known."""
    w = np.diag([1.0, 2.0, 4.0])
    known = {
        "d_optimal": np.log(np.prod(np.diag(w) ** 2 / 3)),
        "a_optimal": (1 + 1 / 2 + 1 / 4) ** 2,
        "e_optimal": 1 / (1 + 1 / 4 + 1 / 16),
    }
    for name, value in known.items():
        found = solve(Workload.from_matrix(w), Program.parse(STUDENT_PROGRAMS[name]))
        assert found.objective == pytest.approx(value, rel=1e-5), name


def test_what_the_gap_is_is_said() -> None:
    w = Workload.from_matrix(np.tri(4))
    found = solve(w, Program.parse(STUDENT_PROGRAMS["d_optimal"]))
    assert found.gap == found.bound - found.objective > -1e-9
    assert dict(found.rows())["gap"].endswith("(proved; their distance: the objective has a logarithm)")
    assert found.summary()["gap_is"] == "their distance: the objective has a logarithm"
    found = solve(w, Program.parse(STUDENT_PROGRAMS["e_optimal"]))
    assert "absolute" not in dict(found.rows())["gap"] and "gap_is" not in found.summary()


def test_lines_for_pairs_that_cannot_hold_are_named() -> None:
    text = STUDENT_PROGRAMS["banded"]
    text = text.replace("X[i, j] == 0 for |i - j| >= 3", "X[i, j] >= 2 for i, j in n if i < j")
    with pytest.raises(SolverError) as error:
        solve(Workload.from_matrix(np.tri(5)), Program.parse(text))
    assert without_reach(error.value.message) == (
        "'banded' has no feasible point: 'cost' and 'band' cannot hold together with 'X' psd"
    )


SHORTER = """
program shorter
given
    a: vector[n]
    A: matrix[m, n]
    b: vector[m]
choose
    x: vector[n] >= 0
{sense}
    a @ x
subject to
    some: {line}
    all:  x <= 2
"""


def test_a_family_over_a_shorter_range_says_nothing_of_the_other_entries(subtests: pytest.Subtests) -> None:
    # The second row, left out, would leave nothing of the last entry.
    a, big, b = np.arange(1.0, 6.0), np.vstack([np.ones(5), np.eye(5)[4]]), np.array([3.0, 0.0])
    givens = {"a": a, "A": big, "b": b}
    for line, sense, optimum in [
        ("x[i] >= 1 for i in n - 2", "minimize", 1 + 2 + 3),
        ("x[i] >= a[i] / 5 for i in n - 2", "minimize", (1 + 4 + 9) / 5),
        ("1 - x[i] <= 0 for i in n - 3", "minimize", 1 + 2),  # what is compared with zero is tight
        ("x[i]**2 <= 1 for i in n - 3", "maximize", 1 + 2 + 2 * (3 + 4 + 5)),
        ("A[k, :] @ x <= b[k] for k in m - 1", "maximize", 4 * 1 + 5 * 2),
        ("(A @ x)[k] <= b[k] for k in m - 1", "maximize", 4 * 1 + 5 * 2),
        ("[[1, x[i]], [x[i], 1]] >> 0 for i in n - 3", "maximize", 1 + 2 + 2 * (3 + 4 + 5)),
    ]:
        with subtests.test(line=line, sense=sense):
            found = solve(np.eye(5), Program.parse(SHORTER.format(sense=sense, line=line)), givens=givens)
            assert found.objective == pytest.approx(optimum, rel=1e-5)
            assert found.bound == pytest.approx(optimum, rel=1e-5) and found.bound_grade == "proved"
