"""Names from elsewhere: each is refused, and what is written instead has its value and its curvature.

Guards names_from_elsewhere.py.
"""

import ast
import re
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
import scipy.linalg
import scipy.special

from mmopt.errors import ProgramError
from mmopt.language import Program, check, evaluate
from mmopt.language.atoms.expression_types import SCALAR, Curvature, Dim, column, matrix
from mmopt.language.atoms.table_of_atoms import FUNCTIONS
from mmopt.language.check.infer_types import taken_as_one
from mmopt.language.check.names_and_relations import Names
from mmopt.language.syntax.names_from_elsewhere import INSTEAD, KINDS_INSTEAD, NONE, instead
from mmopt.language.syntax.parse_and_write_expressions import parse_expr
from mmopt.language.syntax.source_text import Source, Text
from mmopt.language.syntax.syntax_tree import Expr

M, N = 3, 4
# The meaning of a name that neither cvxpy nor numpy and scipy have, or that means something else there.
MEANT: Mapping[str, Any] = MappingProxyType(
    {
        "I": np.eye,
        "average": np.mean,
        "eigmax": cp.lambda_max,
        "eigmin": cp.lambda_min,
        "fro": lambda a: cp.norm(a, "fro"),
        "hcat": lambda a, b: cp.hstack([a, b]),
        "hinge": lambda x: cp.pos(1 - x),
        "hinge_loss": lambda x: cp.pos(1 - x),
        "inverse": np.linalg.inv,
        "invpos": cp.inv_pos,
        "lambdamax": cp.lambda_max,
        "lambdamin": cp.lambda_min,
        "ln": cp.log,
        "max_elemwise": cp.maximum,
        "max_entries": cp.max,
        "min_elemwise": cp.minimum,
        "min_entries": cp.min,
        "mul_elemwise": cp.multiply,
        "norm_1": cp.norm1,
        "norm_2": cp.norm2,
        "norm_fro": lambda a: cp.norm(a, "fro"),
        "norm_nuc": cp.normNuc,
        "normInf": cp.norm_inf,
        "nuclear_norm": cp.normNuc,
        "nuclearnorm": cp.normNuc,
        "operatornorm": cp.sigma_max,
        "ones": lambda shape: np.ones(shape),
        "pow": cp.power,
        "pow_abs": lambda x, p: cp.power(cp.abs(x), p),
        "pow_p": cp.power,
        "pow_pos": lambda x, p: cp.power(cp.pos(x), p),
        "quadform": cp.quad_form,
        "range": lambda n: n,
        "relu": cp.pos,
        "sigmamax": cp.sigma_max,
        "softplus": cp.logistic,
        "spectral_norm": cp.sigma_max,
        "speye": np.eye,
        "square_pos": lambda x: cp.square(cp.pos(x)),
        "sum_entries": cp.sum,
        "sum_square": cp.sum_squares,
        "sumsq": cp.sum_squares,
        "sumsquares": cp.sum_squares,
        "total_variation": cp.tv,
        "tr": cp.trace,
        "vcat": lambda a, b: cp.vstack([a, b]),
        "zeros": lambda *shape: np.zeros(shape if isinstance(shape[0], int) else shape[0]),
    }
)
PLACES = (cp, np, np.linalg, scipy.linalg, scipy.special)
EXACT = [form for form, value in INSTEAD.items() if not value.startswith(NONE)]
# The arguments of names that only have another name here, and of what takes more than one kind.
ARGUMENTS = {"rank": "A", "inv": "P", "lambda_max": "P", "lambda_min": "P", "logdet": "P", "root": "P"}
ARGUMENTS |= {
    "nuclear": "A",
    "sigma_max": "A",
    "trace": "X",
    "rel_entropy": "x, y",
    "max": "x, y",
    "min": "x, y",
}
SHAPES = {"x": (N,), "y": (N,), "A": (M, N), "B": (M, N), "C": (M, N), "D": (M, N), "X": (N, N), "P": (N, N)}
TYPES = {name: column(Dim.of("n"), sign=1) for name in "xy"}
TYPES |= {name: matrix(Dim.of("m"), Dim.of("n")) for name in "ABCD"}
TYPES |= {
    "X": matrix(Dim.of("n"), Dim.of("n")),
    "P": matrix(Dim.of("n"), Dim.of("n"), symmetric=True, psd=True),
}
TYPES |= {"s": replace(SCALAR, sign=1), "t": replace(SCALAR, sign=1)}
PROGRAM = """program trial
given
    W: matrix[m, n] = workload.matrix
choose
    x: vector[n]
minimize
    {}
"""


def called(form: str) -> str:
    """The form with arguments."""
    value = INSTEAD[form]
    is_renamed = form.isidentifier() and value.isidentifier()
    one = form in ("max_entries", "amax", "min_entries", "amin")
    library = "np." if form.partition("(")[0] in FUNCTIONS else ""
    return f"{form}({'x' if one else ARGUMENTS.get(value, 'x')})" if is_renamed else f"{library}{form}"


def drawn(rng: np.random.Generator) -> dict[str, Any]:
    values: dict[str, Any] = {name: rng.uniform(0.2, 2.0, shape) for name, shape in SHAPES.items()}
    values["P"] = values["P"] @ values["P"].T + np.eye(N)
    return values | {"n": N, "m": M, "p": 3, "s": 2.0, "t": 0.7, "k": 2}


def meaning(form: str) -> Any:
    """The function or value that a form names where it comes from."""
    name = re.split(r"\W", form.removeprefix("np."))[0]
    places = [vars(place)[name] for place in PLACES if hasattr(place, name)]
    return MEANT.get(name, *places[:1])


def meant(form: str, env: Mapping[str, Any]) -> Any:
    """The value of a form where it comes from."""
    return eval(form, {**env, re.split(r"\W", form)[0]: np if form.startswith("np.") else meaning(form)})


def is_of_cvxpy(meaning: Any) -> bool:
    return getattr(meaning, "__module__", "").startswith(("cvxpy", __name__))


def read(text: str) -> Expr:
    return parse_expr(Text(Source("t", (text,)), text, 1, 1))


def hint_of(expression: str) -> str:
    """The hint of the error of an expression in an objective."""
    with pytest.raises(ProgramError) as refused:
        check(Program.parse(PROGRAM.format(expression)))
    return refused.value.hint


def replacement(form: str) -> str:
    return hint_of(called(form)).removeprefix("write ").partition(", where ")[0]


def test_what_is_written_instead_has_the_same_value(
    rng: np.random.Generator, subtests: pytest.Subtests
) -> None:
    assert len(EXACT) > 80
    for form in EXACT:
        with subtests.test(form):
            env, here = drawn(rng), replacement(form)
            theirs = meant(called(form), env)
            theirs = theirs.value if isinstance(theirs, cp.Expression) else theirs
            np.testing.assert_allclose(
                np.squeeze(evaluate(read(here), env)), np.squeeze(theirs), rtol=1e-12, atol=1e-12
            )


def test_what_is_written_instead_has_the_curvature_that_cvxpy_gives(subtests: pytest.Subtests) -> None:
    """The first argument is chosen, others are given."""
    for form in EXACT:
        first = re.search(r"\((\w)[,)]", called(form))
        if first is None or first[1] not in TYPES or not is_of_cvxpy(meaning(form)):
            continue
        a, here = first[1], replacement(form)
        chosen = cp.Variable(SHAPES[a], PSD=a == "P", nonneg=a == "x")
        theirs = meant(called(form), {**drawn(np.random.default_rng(1)), a: chosen})
        types = TYPES | {a: replace(TYPES[a], curvature=Curvature.AFFINE)}
        names = Names(Source("t", (here,)), types, {"m", "n"})
        ours = names.infer(taken_as_one(read(re.sub(r"\bp\b", "3", here)), names.scope())).curvature
        with subtests.test(form):
            assert ours.is_convex >= theirs.is_convex() and ours.is_concave >= theirs.is_concave()


def test_what_has_no_form_is_refused_with_a_sentence(subtests: pytest.Subtests) -> None:
    """The functions that a sentence names are there; arguments of a row stand for themselves in it."""
    for form, value in INSTEAD.items():
        with subtests.test(form):
            names = {n.id: n.id for n in ast.walk(ast.parse(form)) if isinstance(n, ast.Name)}
            assert set(re.findall(r"(\w+)\(", value)) <= set(FUNCTIONS)
            assert not value.startswith(NONE) or hint_of(form) == value.format(**names)


def test_no_row_is_in_the_language() -> None:
    """A name that becomes an atom leaves the table, or keeps a row for arguments that the atom refuses."""
    for form in INSTEAD:
        assert form not in FUNCTIONS and hint_of(form.replace("[m, n]", "(m, n)")) != f"write {form}"


def test_arguments_stand_in_place_and_calls_inside_are_replaced(subtests: pytest.Subtests) -> None:
    cases = {
        "cp.sum_squares(cp.multiply(A, B) @ x - b)": "write sum((A * B @ x - b)**2)",
        "kl_div(A @ x, q)": "write rel_entropy(A @ x, q) - A @ x + q",
        "np.linalg.norm(x - y, np.inf)": "write norm(x - y, inf)",
        "x.T.dot(y)": "write x.T @ y",
        "(A @ x).mean()": "write sum(A @ x) / n, where n is the number of entries of (A @ x)",
        "cp.sum(cp.quad_form(x, P))": "write sum(x.T @ P @ x), where P is psd",
        "cp.log_sum_exp(A, axis=1)": "write logsumexp(A, axis=1)",
        "cp.maximum(x, y, 0)": "write max(x, y, 0)",
        "np.vstack((A, B, A))": (
            "vstack([A, B]) is [[A], [B]], where both are matrices; for vectors, the rows are [[A.T], [B.T]]"
        ),
        "f.g(x)": "no library is needed: atoms have bare names",
        "norm(x + y, 3)": "not in the language: sum(abs(x + y)**3), its power 3, has the same minimum point",
    }
    for expression, hint in cases.items():
        with subtests.test(expression):
            assert hint_of(expression) == hint


@pytest.mark.parametrize("dims", ["", "[n]", "[m, n]"])
def test_a_kind_from_elsewhere_is_refused_and_what_replaces_it_is_a_declaration(dims: str) -> None:
    program = PROGRAM.replace("x: vector[n]", "{}").format("{}", "sum(W)")
    for kind, value in KINDS_INSTEAD.items():
        with pytest.raises(ProgramError) as refused:
            check(Program.parse(program.format(f"z: {kind}{dims}")))
        hint = refused.value.hint
        assert hint.partition(" ")[0] == value.partition(" ")[0]
        declared = re.search(r"z: \w+(\[[^]]*\])?( >= 0)?", hint)
        assert (declared is None) is ("complex" in hint)
        if declared is not None:
            check(Program.parse(program.format(declared[0]) + "subject to\n    c: sum(z) <= 1\n"))


def test_a_misspelt_name_from_elsewhere() -> None:
    """The nearest name, of atoms and of these; of the latter with what is written in its place."""
    assert hint_of("sum(sqaure(x))") == "did you mean 'square'? write x**2"
    assert hint_of("sum(sqrtt(x))") == "did you mean 'sqrt'?"


def test_what_is_no_name_has_no_row() -> None:
    assert [instead(text) for text in ("…", "lambda", "x", "x.y")] == ["", "", "", ""]
