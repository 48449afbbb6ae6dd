"""Every mistake in a constraint, with its place (between « and ») and the full text of its error."""

# ruff: noqa: E501 - a message stands on one line, as it is printed

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from mmopt.errors import ProgramError
from mmopt.language import Program, check
from mmopt.language.check.relation_checks import rank_residual
from mmopt.numerics.matrix_functions import polar

# Marked constraint, message, hint.
CONSTRAINTS = [
    ("diag(X) «<» 1", "'<' describes a set that is not closed", "write <="),
    ("diag(X) «>» 0", "'>' describes a set that is not closed", "write >="),
    ("«diag(X)»", "a constraint is a relation", "write <=, >= or == between numbers, >> 0 for psd"),
    ("diag(X) «=» 1", "'=' is not a relation of a constraint", "write =="),
    ("diag(X) «!=» 1", "'!=' is not a relation of a constraint", "write =="),
    ("0 <= u «<=» 1", "a second relation '<=' in one constraint", "write two constraints"),
    ("diag(X) «<=»", "nothing stands after '<='", "a constraint is a relation of two sides"),
    ("«<=» 1", "nothing stands before '<='", "a constraint is a relation of two sides"),
    ("diag(X) <= 1 for «j»", "a family of constraints says over what it runs", "write: for j in m"),
    ("diag(X) <= 1 for «j in q»", "the dimension 'q' is not defined", "known: m, n"),
    (
        "diag(X) <= 1 for «u in m»",
        "'u' has another meaning already",
        "name the index of this family otherwise",
    ),
    ("diag(X) <= 1 for j in «range(m)»", "a family runs over a dimension", "write: for j in m"),
    ("diag(X) <= 1 for i in «range(n - 1)»", "a family runs over a dimension", "write: for i in n - 1"),
    (
        "«diag(X)» <= 1 for j, i in m",
        "a number is expected for each j, i, this is a vector of length n",
        "a family of vectors or of matrix inequalities has one index and no condition",
    ),
    (
        "W[:, «j»] @ u <= 1 for j in m",
        "'j' runs over m, the entries here are counted by n",
        "write: for j in n",
    ),
    (
        "u[«j»] <= 1 for i in m",
        "an index is a whole number or the index of a family",
        "write W[0, :], or W[j, :] with 'for j in m' after the constraint",
    ),
    (
        "«inv(X)» <= 1",
        "'constraint_1': the smaller side has to be convex, and it is convex as a whole, not entry by entry (compare with << or >>, or take its diag)",
        "the rules: python -m pydoc mmopt.language",
    ),
    ("X >> «1»", "'>>' compares symmetric matrices, this is a number", "write 0, or a multiple of eye(n)"),
    (
        "X >> «u»",
        "'>>' compares symmetric matrices, this is a vector of length m",
        "between vectors write <= or >=",
    ),
    (
        "«u» >> 0",
        "'>>' compares symmetric matrices, this is a vector of length m",
        "between vectors write <= or >=",
    ),
    ("«W» >> 0", "'>>' compares symmetric matrices, this is a matrix (m, n)", ""),
    (
        "[[X, «W[j, :]»], [W[j, :], u[j]]] >> 0 for j in m",
        "block (1, 2) is a row of length n; n rows fit here",
        "turn it with .T",
    ),
    (
        "[[X, W[j, :].T], [«W[0, :]», u[j]]] >> 0 for j in m",
        "'>>' compares symmetric matrices, this is a matrix (n + 1, n + 1) that is not known to be symmetric",
        "block (2, 1) has to be the transpose of block (1, 2)",
    ),
    (
        "[[X, W[j, :].T], [«2 * W[j, :]», u[j]]] >> 0 for j in m",
        "'>>' compares symmetric matrices, this is a matrix (n + 1, n + 1) that is not known to be symmetric",
        "block (2, 1) has to be the transpose of block (1, 2)",
    ),
    (
        "[[X, (2*W).T], [«W * 2», diag(u)]] >> 0",
        "'>>' compares symmetric matrices, this is a matrix (m + n, m + n) that is not known to be symmetric",
        "block (2, 1) has to be the transpose of block (1, 2)",
    ),
    (
        "[[«G», W.T], [W, diag(u)]] >> 0",
        "'>>' compares symmetric matrices, this is a matrix (m + n, m + n) that is not known to be symmetric",
        "block (1, 1) has to be symmetric: declare it psd or symmetric",
    ),
    (
        "«norm(u)» >= 1",
        "'constraint_1': the larger side has to be concave, and it is convex",
        "what is convex can be kept below a limit, not above one; is this meant: norm(u) <= 1",
    ),
    (
        "1 <= «diag(inv(X))»",
        "'constraint_1': the larger side has to be concave, and it is convex",
        "what is convex can be kept below a limit, not above one; is this meant: 1 >= diag(inv(X))",
    ),
    (
        "«norm(u)» == 1",
        "'constraint_1': both sides of '==' have to be affine, and it is convex",
        "what is convex can be at most a limit, not equal to one: norm(u) <= 1",
    ),
    (
        "1 == «sum(sqrt(u))»",
        "'constraint_1': both sides of '==' have to be affine, and it is concave",
        "what is concave can be at least a limit, not equal to one: 1 <= sum(sqrt(u))",
    ),
    (
        "«inv(X)» == eye(n)",
        "'constraint_1': both sides of '==' have to be affine, and it is convex",
        "what is convex can be at most a limit, not equal to one: inv(X) << eye(n)",
    ),
    (
        "«sqrt(u)» <= 1",
        "'constraint_1': the smaller side has to be convex, and it is concave",
        "what is concave can be kept above a limit, not below one; is this meant: sqrt(u) >= 1",
    ),
    (
        "u >= «sqrt(u)»",
        "'constraint_1': the smaller side has to be convex, and it is concave",
        "what is concave can be kept above a limit, not below one; is this meant: u <= sqrt(u)",
    ),
    (
        "«diag(inv(X)) <= u»",
        "a vector of length n <= a vector of length m: both sides need the same shape",
        "",
    ),
    (
        "«lambda»: u <= 1",
        "'lambda' is a word of Python and cannot be a name",
        "call the multiplier mu, d or p",
    ),
    ("«sum»: u <= 1", "'sum' is a word of the language and cannot be a name", ""),
    ("a:« »", "a constraint is a relation", "write <=, >= or == between numbers, >> 0 for psd"),
    ("«W @ u» <= 1", "a matrix (m, n) @ a vector of length m: n columns meet m rows", ""),
    ("«W.T @ u <= W»", "a vector of length n <= a matrix (m, n): both sides need the same shape", ""),
    (
        "«root(X)» << 0",
        "'constraint_1': the smaller side has to be convex, and it is concave",
        "what is concave can be kept above a limit, not below one; is this meant: root(X) >> 0",
    ),
    (
        "X >> «root(X)»",
        "'constraint_1': the smaller side has to be convex, and it is concave",
        "what is concave can be kept above a limit, not below one; is this meant: X << root(X)",
    ),
    ("«0 >> 0»", "'>>' compares symmetric matrices, both sides are numbers", "write >= 0"),
    ("u <= 1 and u «>=» 0", "a second relation '>=' in one constraint", "write two constraints"),
    ("«(u <= 1)»", "a constraint is a relation", "write <=, >= or == between numbers, >> 0 for psd"),
    (
        "sum(u) <= 1 «foreach» j in m",
        "an operator is missing before 'foreach'",
        "the operators are + - * / ** @ [ ] ( ) and .T",
    ),
    (
        "u[j] <= 1 for «lambda» in m",
        "'lambda' is a word of Python and cannot be a name",
        "call the multiplier mu, d or p",
    ),
    (
        "u[j] <= 1 for j in 2«m»",
        "an operator is missing before 'm'",
        "the operators are + - * / ** @ [ ] ( ) and .T",
    ),
    ("u[j] <= 1 for j in m«-»", "nothing stands after '-'", "the operators are + - * / ** @ [ ] ( ) and .T"),
    ("u[j] <= 1 for j in«»", "a dimension is missing here", "for example n or 2*n"),
    (
        "«abs(X)» << eye(n)",
        "'constraint_1': the smaller side has to be convex, and it is convex entry by entry, not as a whole (compare with <= or >=)",
        "the rules: python -m pydoc mmopt.language",
    ),
    ("u[j] <= 1 for «for» in m", "'for' is a word of Python and cannot be a name", ""),
    (
        "[[X, W[j, :].T], [«W[j, :].T», u[j]]] >> 0 for j in m",
        "block (2, 1) is a vector of length n; 1 row fits here",
        "turn it with .T",
    ),
    (
        "[[X, «0»], [0, diag(u)]] >> 0",
        "block (1, 2) is a number; n rows fit here",
        "in a block a vector is a column, W[j, :] is a row, a number is one entry",
    ),
    (
        "[[X, «W»], [W.T, diag(u)]] >> 0",
        "block (1, 2) is a matrix (m, n); n rows fit here",
        "turn it with .T",
    ),
    (
        "«X ** 2» << eye(n)",
        "'constraint_1': the smaller side has to be convex, and it is convex entry by entry, not as a whole (compare with <= or >=)",
        "the rules: python -m pydoc mmopt.language",
    ),
]


@pytest.mark.parametrize(("marked", "message", "hint"), CONSTRAINTS)
def test_mistake_in_a_constraint(
    marked: str,
    message: str,
    hint: str,
    program: Callable[..., str],
    refused: Callable[[str, str, str], None],
) -> None:
    refused(program(objective="sum(u)", constraint=marked), message, hint)


PROGRAM = """\
program trial
class  rank
given
    W: matrix[m, n] = workload.matrix
choose
    A: matrix[n, n]
    X: psd[n, n]
let
    Z = [[eye(n), A], [A.T, X]]
minimize
    trace(W @ inv(X) @ W.T)
subject to
    gram: Z >> 0
    exact: rank(Z) == n
strategy
    A norm 1
"""
ONE = "write: exact: rank(Z) == p"
WRONG = [
    (
        "class  rank",
        "class  convex",
        "rank(Z)",
        "'exact': a rank constraint is not convex",
        "write 'class rank'",
    ),
    (
        "    exact: rank(Z) == n\n",
        "",
        "class",
        "a program of class 'rank' has one rank constraint, this has 0",
        ONE,
    ),
    (
        "exact: rank(Z) == n",
        "exact: rank(Z) == n\n    again: rank(X) == n",
        "again: rank(X) == n",
        "a program of class 'rank' has one rank constraint, this has 2",
        ONE,
    ),
    ("rank(Z) == n", "rank(Z) <= n", "rank(Z) <= n", "a rank is given by '==' to one number", ONE),
    (
        "rank(Z) == n",
        "rank(inv(X)) == n",
        "inv(X)",
        "the matrix whose rank is given has to be symmetric and affine in what is chosen",
        "for example Z = [[eye(p), A], [A.T, X]]",
    ),
    (
        "rank(Z) == n",
        "rank(A) == n",
        "A",
        "the matrix whose rank is given has to be symmetric and affine in what is chosen",
        "for example Z = [[eye(p), A], [A.T, X]]",
    ),
    ("rank(Z) == n", "rank(Z) == trace(X)", "trace(X)", "a rank is a given number, this is a number", ONE),
    (
        "rank(Z) == n",
        "rank(Z) == diag(X)",
        "diag(X)",
        "a rank is a given number, this is a vector of length n",
        ONE,
    ),
]


def test_the_program_checks() -> None:
    assert set(check(Program.parse(PROGRAM)).constraints) == {"gram", "exact"}


@pytest.mark.parametrize(("old", "new", "at", "message", "hint"), WRONG, ids=lambda value: value[:20])
def test_mistakes(old: str, new: str, at: str, message: str, hint: str) -> None:
    assert PROGRAM.count(old) == 1
    with pytest.raises(ProgramError) as refused:
        check(Program.parse(PROGRAM.replace(old, new)))
    error = refused.value
    assert (error.message, error.hint) == (message, hint)
    line, caret = str(error).splitlines()[1:3]
    start = caret.index("^")
    assert at.startswith(line[start : start + caret.count("^")].strip()), (line, caret)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_residual_is_the_first_singular_value_beyond_the_rank(rank: int, rng: np.random.Generator) -> None:
    rows = rng.normal(size=(rank, 5))
    exact = rows.T @ rows
    assert rank_residual(exact, rank) < 1e-14
    values = np.linalg.svd(exact + 1e-3 * np.eye(5), compute_uv=False)
    assert rank_residual(exact + 1e-3 * np.eye(5), rank) == pytest.approx(values[rank] / values[0])
    assert rank_residual(exact, rank + 1) == 1.0, "a rank too low misses it too"
    assert rank_residual(7.0 * exact, rank) == pytest.approx(rank_residual(exact, rank), abs=1e-14)


def test_residual_of_nothing() -> None:
    assert rank_residual(np.zeros((2, 2)), 0) == 0.0
    assert rank_residual(np.zeros((2, 2)), 1) == 1.0
    assert rank_residual(np.eye(2), 2) == 0.0
    assert rank_residual(np.eye(2), 3) == 1.0


def test_polar_is_the_nearest_orthogonal_matrix(rng: np.random.Generator) -> None:
    m = rng.normal(size=(4, 4))
    p = polar(m)
    assert p @ p.T == pytest.approx(np.eye(4), abs=1e-12)
    stretch = p.T @ m
    assert stretch == pytest.approx(stretch.T, abs=1e-12) and np.linalg.eigvalsh(stretch)[0] >= 0
    for _ in range(20):
        other = np.linalg.qr(rng.normal(size=(4, 4)))[0]
        assert np.linalg.norm(m - p) <= np.linalg.norm(m - other)
    assert np.isnan(polar(np.array([[np.inf, 0.0], [0.0, 1.0]]))).all()


LOGARITHMS = [
    ("minimize", "-logdet(X)", True),
    ("maximize", "2 * g - sum(log(u)) / 3", True),
    ("maximize", "sum(log(v[i] + i) for i in m if i > 0)", True),
    ("maximize", "trace(X) * log(3)", False),
    ("maximize", "sum(v[i] * log(i + u[i]) for i in m)", False),
    ("maximize", "trace(X) + h + log(m)", False),
    ("maximize", "trace(X) / log(h)", False),
    ("minimize", "logsumexp(v)", False),
]


@pytest.mark.quick
@pytest.mark.parametrize(("sense", "objective", "is_one"), LOGARITHMS, ids=[o for _, o, _ in LOGARITHMS])
def test_only_the_logarithm_of_what_is_chosen_makes_an_objective_one(
    sense: str, objective: str, is_one: bool
) -> None:
    let = "g = logdet(X)" if "g" in objective.split() else "unused = 1"
    checked = check(
        Program.parse(
            f"""program one
given
    W: matrix[m, n] = workload.root
    u: vector[m] > 0
let
    h = log(sum(u))
    {let}
choose
    X: psd[n, n]
    v: vector[m] >= 0
{sense}
    {objective}
subject to
    diag(X) <= 1
strategy
    factor(X) norm 2
"""
        )
    )
    assert checked.is_logarithmic == is_one
