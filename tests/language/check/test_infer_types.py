"""Curvature: what is judged convex satisfies midpoint convexity with numbers, in its own order.

Guards infer_types.py and exact_rewriting.py (sums of multiples).
"""

import itertools

import numpy as np
import pytest

from mmopt.errors import ProgramError
from mmopt.language import ATOMS, Program, check, evaluate
from mmopt.language.atoms.expression_types import Curvature
from mmopt.language.check.infer_types import KEEPS_ZEROS, Scope, infer, not_psd
from mmopt.language.syntax.syntax_tree import Block, Number, Span

TEXT = """program trial
given
    W: matrix[m, n] = workload.matrix
    G: psd[n, n] = workload.gram
    S: symmetric[n, n] = workload.gram
    c: vector[m] > 0 = workload.targets
    g: vector[m]
choose
    X: psd[n, n]
    Y: psd[n, n]
    Z: matrix[m, n]
    u: vector[m] >= 0
    v: vector[m]
    t: scalar >= 0
minimize
    {0}
strategy
    factor(X) norm 2
"""

CONVEX = [
    "trace(G @ inv(X))",
    "trace(W @ inv(X) @ W.T)",
    "trace(inv(X) @ W.T @ W)",
    "trace(W @ inv(X + Y) @ W.T) + sum(v**2)",
    "trace(W @ inv(W.T @ diag(u) @ W + G) @ W.T)",
    "trace(G @ (2 * inv(X) + inv(Y)))",
    "trace(G @ W.T @ inv(W @ X @ W.T + diag(c)) @ W @ G)",
    "max(diag(W @ inv(X) @ W.T))",
    "sum(diag(inv(X)) ** 2)",
    "W[0, :] @ inv(X) @ W[0, :].T",
    "W[0, :] @ X @ W[0, :].T + g @ v",
    "-trace(G @ root(X))",
    "trace(inv(root(X)))",
    "nuclear(Z @ G)",
    "nuclear(W @ X) + max(abs(v))",
    "sum(1 / u)",
    "sum(c / (u + 1))",
    "sum(1 / diag(X))",
    "max(sum(abs(Z), axis=0))",
    "sum(abs(Z) @ ones(n))",
    "sum(max(Z, axis=1)) - min(v)",
    "sum(abs(v)**3) + sum(u**1.5)",
    "c @ u**2 - c @ sqrt(u)",
    "(t + 1)**2 + t**-1",
    "trace(diag(c / u))",
    "sum(-(-(v**2)))",
    "trace(S @ X) + trace(X @ S)",
    "trace(inv(diag(sqrt(u))))",
    "trace([[X, W.T], [W, diag(u)]])",
    "(Z[0, 1] - v[1])**2",
    "X[0, 0]",
    "X[0, 1]",
    "sum(X[0, :])",
]

REJECTED = [
    ("trace(S @ inv(X))", "the trace of a convex matrix against one not known to be psd (write W.T @ W)"),
    ("trace(-G @ inv(X))", "the trace of a convex matrix against one not known to be psd (write W.T @ W)"),
    ("trace(inv(X) @ Y)", "a product of two expressions that both contain variables"),
    ("sum(abs(inv(X)))", "a convex function of a convex expression"),
    (
        "inv(X)[0, 1]",
        "an entry of a matrix that is curved as a whole (its diagonal is diag(F))",
    ),
    ("trace(inv(inv(X)))", "the inverse of a matrix that is not both psd and affine (or concave)"),
    ("trace(inv(X - Y))", "the inverse of a matrix that is not both psd and affine (or concave)"),
    ("trace(inv(X) - inv(Y))", "a sum of a convex and a concave part"),
    (
        "trace(W @ inv(X) @ G @ W.T)",
        "the trace of a convex matrix against one not known to be psd (write W.T @ W)",
    ),
    ("sum(v**2 * g)", "a convex expression times a factor of unknown sign"),
    ("sum(1 / v)", "a quotient that is not (a constant >= 0) / (a concave expression >= 0)"),
    ("max(sqrt(u))", "a largest (smallest) entry of a concave (convex) expression"),
    ("W[0, :] @ abs(X) @ W[0, :].T", "a convex expression times a factor of unknown sign"),
    ("nuclear(inv(X))", "a norm of a curved expression"),
    ("trace(S * inv(X))", "a convex expression times a factor of unknown sign"),
    ("trace(root(root(X) - Y))", None),
    ("trace(pinv(Z) @ Z)", "a pseudo-inverse of variables"),
    ("trace([[inv(X), W.T], [W, diag(u)]])", "a block matrix with a curved block"),
    # Symmetric, and curved the other way.
    ("lambda_max(W @ inv(X) @ (-W).T)", "a matrix product that is not of the form M.T @ F @ M"),
    ("lambda_max((W - 2 * W) @ inv(X) @ W.T)", "a matrix product that is not of the form M.T @ F @ M"),
    ("c @ diag(u**2) @ (-c)", "a matrix product that is not of the form M.T @ F @ M"),
    ("trace(inv(X) + 1)", "a number added to every entry of a matrix that is curved as a whole"),
]


def psd(rng: np.random.Generator, n: int) -> np.ndarray:
    a = rng.normal(size=(n, n))
    return a @ a.T + 0.01 * np.eye(n)


def point(rng: np.random.Generator, m: int, n: int) -> dict[str, object]:
    chosen = {"X": psd(rng, n), "Y": psd(rng, n), "Z": rng.normal(size=(m, n)), "v": rng.normal(size=m)}
    return {**chosen, "u": rng.gamma(1.0, size=m), "t": float(rng.gamma(1.0))}


def numbers(rng: np.random.Generator, m: int, n: int) -> dict[str, object]:
    w = rng.normal(size=(m, n))
    given = {"W": w, "G": psd(rng, n), "S": rng.normal(size=(n, n)), "c": rng.gamma(1.0, size=m)}
    return {**given, "g": rng.normal(size=m), "m": m, "n": n}


def test_convex_expressions_are_convex(subtests: pytest.Subtests) -> None:
    for expression in CONVEX:
        with subtests.test(expression):
            checked = check(Program.parse(TEXT.format(expression)))
            objective = checked.program.objective
            assert objective is not None and checked.objective is not None
            for seed in range(8):
                rng = np.random.default_rng(seed)
                m, n = int(rng.integers(2, 5)), int(rng.integers(2, 5))
                given, a, b = numbers(rng, m, n), point(rng, m, n), point(rng, m, n)
                weight = float(rng.uniform())
                middle = {k: weight * a[k] + (1 - weight) * b[k] for k in a}  # type: ignore[operator]
                ends = [float(evaluate(objective, {**given, **x})) for x in (a, b)]
                value = float(evaluate(objective, {**given, **middle}))
                limit = weight * ends[0] + (1 - weight) * ends[1]
                slack = 1e-9 * (1 + abs(limit) + max(map(abs, ends)))
                assert value <= limit + slack, f"seed {seed}"
                if checked.objective.curvature.is_affine:
                    assert abs(value - limit) <= slack, f"seed {seed}"
                if checked.objective.sign:
                    assert min(ends) * checked.objective.sign >= -slack, f"seed {seed}"


# Matrices: the order in which each is judged convex or concave.
MATRICES = [
    ("inv(X)", Curvature.CONVEX, True),
    ("-inv(X)", Curvature.CONCAVE, True),
    ("root(X)", Curvature.CONCAVE, True),
    ("inv(root(X + Y))", Curvature.CONVEX, True),
    ("W @ inv(X) @ W.T", Curvature.CONVEX, True),
    ("G @ inv(X + W.T @ diag(u) @ W) @ G", Curvature.CONVEX, True),
    ("inv(X).T + 3 * inv(Y) + X", Curvature.CONVEX, True),
    ("diag(1 / u)", Curvature.CONVEX, True),
    ("abs(Z)", Curvature.CONVEX, False),
    ("Z**2", Curvature.CONVEX, False),
]


# Matrices that are known to be symmetric, in whatever order their terms stand, and others.
SYMMETRIC = [
    "G @ Y + Y @ G + W.T @ Z + Z.T @ W + eye(n)",
    "G @ Y + (W.T @ Z + Y @ G.T) + (W.T @ Z).T",
    "Y @ G - W.T @ Z + G @ Y - Z.T @ W",
    "-G @ Y - Y @ G - 3",
    "G @ Y / 4 + 0.25 * Y @ G",
    "t * (W.T @ Z) + S - t * (-Z.T @ W)",
    "[[G @ Y + Y @ G, 2 * W.T], [W * 2, diag(u)]]",
]
NOT_SYMMETRIC = [
    "G @ Y - Y @ G",
    "G @ Y + Y @ G + W.T @ Z",
    "G @ Y + 2 * Y @ G",
    "Y @ G - W.T @ Z + G @ Y + Z.T @ W",
    "W.T @ Z + W.T @ Z",
    "S + (G - G + 3) @ Y",  # a number added to every entry
    "[[G @ Y + Y @ G, 2 * W.T], [W * 3, diag(u)]]",
]


def test_sums_are_symmetric_where_each_term_has_its_transpose(subtests: pytest.Subtests) -> None:
    rng = np.random.default_rng(0)
    values = {**numbers(rng, 3, 3), **point(rng, 3, 3)}
    values["S"] = values["G"]
    for expression in SYMMETRIC + NOT_SYMMETRIC:
        with subtests.test(expression):
            program = Program.parse(TEXT.format(expression))
            types = check(Program.parse(TEXT.format("t"))).types
            matrix = program.objective
            assert matrix is not None
            inferred = infer(matrix, Scope(program.source, types, frozenset({"m", "n"})))
            assert inferred.symmetric == (expression in SYMMETRIC)
            value = np.asarray(evaluate(matrix, values))
            assert np.allclose(value, value.T) == (expression in SYMMETRIC)


def test_matrices_are_convex_in_their_order(subtests: pytest.Subtests) -> None:
    for expression, curvature, whole in MATRICES:
        with subtests.test(expression):
            program = Program.parse(TEXT.format(expression))
            matrix = program.objective
            assert matrix is not None
            types = check(Program.parse(TEXT.format("t"))).types
            known = infer(matrix, Scope(program.source, types, frozenset({"m", "n"})))
            assert (known.curvature, known.loewner) == (curvature, whole)
            for seed in range(20):
                rng = np.random.default_rng(seed)
                m, n = int(rng.integers(2, 5)), int(rng.integers(2, 5))
                given, a, b = numbers(rng, m, n), point(rng, m, n), point(rng, m, n)
                middle = {k: (a[k] + b[k]) / 2 for k in a}  # type: ignore[operator]
                left, right, value = (np.asarray(evaluate(matrix, {**given, **x})) for x in (a, b, middle))
                excess = (left + right) / 2 - value
                excess = excess if curvature is Curvature.CONVEX else -excess
                least = np.linalg.eigvalsh((excess + excess.T) / 2)[0] if whole else excess.min()
                assert least >= -1e-9 * (np.abs(left).max() + np.abs(right).max()), f"seed {seed}"


@pytest.mark.quick
def test_rejected_expressions(subtests: pytest.Subtests) -> None:
    for expression, why in REJECTED:
        with subtests.test(expression):
            with pytest.raises(ProgramError) as caught:
                check(Program.parse(TEXT.format(expression)))
            if why is None:
                assert caught.value.message == "root needs a matrix known to be psd"
            else:
                assert (
                    caught.value.message == f"the objective of 'minimize' has to be convex, but this is {why}"
                )


def test_atoms_that_zeros_do_not_change_are_those_that_say_so(rng: np.random.Generator) -> None:
    for name in (
        "abs",
        "sqrt",
        "entropy",
        "huber",
        "sum",
        "norm 1",
        "norm 2",
        "exp",
        "log",
        "logistic",
        "max",
    ):
        x, more = -rng.uniform(0.1, 3.0, 3) * (1 if name == "max" else -1), (1.5,) * (name == "huber")
        with np.errstate(all="ignore"):
            short, long = (np.asarray(ATOMS[name].numpy(v, *more)) for v in (x, np.append(x, 0.0)))
        same = np.append(short, 0.0) if short.ndim else short
        assert np.allclose(long, same) == (name in KEEPS_ZEROS), name


def numbers_in_rows(rows: list[list[float]]) -> Block:
    here = Span(1, 1)
    return Block(tuple(tuple(Number(x, here) for x in row) for row in rows), here)


def test_a_matrix_of_numbers_is_psd_where_no_minor_is_negative() -> None:
    for a, b, c, d, e, f in itertools.product((-1.0, 0.0, 1.0), repeat=6):
        rows = [[a, b, c], [b, d, e], [c, e, f]]
        sets = [at for k in (1, 2, 3) for at in itertools.combinations(range(3), k)]
        minors = {", ".join(map(str, at)): np.linalg.det(np.array(rows)[np.ix_(at, at)]) for at in sets}
        fault = not_psd(numbers_in_rows(rows))
        negative = [f"it is not, as its minor of rows {at} is negative" for at in minors if minors[at] < -0.5]
        assert fault in negative if negative else fault == "", rows
    assert not_psd(numbers_in_rows([[0.3, 0.9], [0.9, 2.7]])) == ""  # as decimals; as doubles it is not
    assert not_psd(numbers_in_rows([[1.0, 2.0], [2.0, 3.9999999999]]))
    assert not_psd(numbers_in_rows([[1e200, 0.0], [0.0, 1.0]])) is None


LAPLACIAN = """program trial
given
    W: matrix[r, n] = workload.root
choose
    X: psd[n, n]
minimize
    trace(W @ inv(X) @ W.T)
subject to
    moved: X <= 1
certificate D: {kind}[n, n] >= 0 from dual(moved)
    nuclear(W @ root({root}))**2
"""


def test_a_laplacian_is_psd_where_its_weights_are_symmetric_and_not_below_0() -> None:
    plain = "diag(sum(D, axis=1)) - D"
    check(Program.parse(LAPLACIAN.format(kind="symmetric", root=plain)))
    signless = "D - eye(n)", "-D"
    for kind, root in [
        ("matrix", plain),
        ("symmetric", "diag(sum(2 * D, axis=1)) - D"),
        *(("symmetric", f"diag(sum({d}, axis=1)) - ({d})") for d in signless),
    ]:
        with pytest.raises(ProgramError, match="root needs a matrix known to be psd"):
            check(Program.parse(LAPLACIAN.format(kind=kind, root=root)))
