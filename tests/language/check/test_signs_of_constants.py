"""Signs of what is given: of numbers, and what lines of ``require`` say; exponents that are given.

Guards infer_types.py, exact_rewriting.py and the rule of powers in language/atoms/rules.py.
"""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from mmopt.errors import ProgramError
from mmopt.language import ATOMS, Program, check, to_source
from mmopt.language.atoms.expression_types import Curvature, Dim, Type
from mmopt.language.check.infer_types import infer
from mmopt.language.check.names_and_relations import Names, orders_numbers
from mmopt.language.syntax.exact_rewriting import number_of
from mmopt.language.syntax.syntax_tree import Apply

TEXT = """program trial
given
    a: scalar
    b: scalar
    c: scalar >= 0
    u: vector[n]
    v: vector[n]
parameter
    k: dim = 2
    p = 2
    beta: scalar > 0 = 1 - 0.95
require
    {0}
choose
    x: vector[n]
minimize
    sum({2}) + sum({1})
"""


def sign(requires: str, expression: str, chosen: str = "x") -> int:
    """The sign of an expression by all lines of ``require``."""
    text = TEXT.format(requires.replace("; ", "\n    ") or "a == a", expression, chosen)
    checked = check(Program.parse(text))
    total = checked.program.objective
    assert isinstance(total, Apply) and isinstance(total.args[1], Apply)
    names = Names(checked.program.source, dict(checked.types), set(checked.lines.dims))
    names.orders = [c for c in checked.program.requires if orders_numbers(c)]
    return infer(total.args[1].args[0], names.scope()).sign


NUMBERS = [
    ("50 * (1 - 0.95)", 1),
    ("1/3 - 1/2", -1),
    ("2**3 - 8.5", -1),
    ("(-2)**3", -1),
    ("sqrt(2) - 1", 1),
    ("1 - exp(0.5)", -1),
    ("log(2) - 0.69314718", 1),
    ("log(2) - 0.6931471805599453", 0),  # not surely: it is 2.3e-17
    ("sqrt(4) - 2", 0),  # a ball around 0
    ("sqrt(2)**2 - 2", 0),  # though its float is 4.4e-16
    ("1 + 1e-17 - 1 - 5e-18", 1),  # exactly, though floats give another sign
    ("0.1 + 0.2 - 0.30000000000000004", -1),
    ("log(-1)", 0),
    ("1 / (2 - 2)", 1),
    ("n - 1", 1),
    ("1 - k", -1),
    ("k - 2", 0),
    ("beta", 1),
    ("beta - 1", 0),
]
REQUIRED = [
    ("a < 1", "1 - a", 1),
    ("a <= 1", "3 * a - 3", -1),
    ("1 >= a", "2 - a", 1),
    ("a < 1", "1 + a", 0),
    ("a < 1", "0.5 - a", 0),
    ("a >= b", "a - b + c", 1),
    ("a >= b", "a - b - c", 0),
    ("a >= b", "a - 2 * b", 0),
    ("a >= b", "(a - b) / 2 + c / 3", 1),
    ("a >= b; b >= 0", "a", 1),
    ("a >= b; b >= 2; a <= 0", "2 - a", 1),
    ("u >= v", "v - u", -1),
    ("u >= v", "u[0] - v[0]", 1),
    ("u >= v", "u[0] - v[1]", 0),
    ("u > 1", "u[1] + c", 1),
    ("u + v >= 1", "u[0] + v - 1", 0),
    ("log(c) >= 0", "log(c)", 1),
    ("a == b", "a - b", 0),
    ("u[i] >= 1 for i in n", "u - 1", 0),
]


@pytest.mark.quick
def test_signs_of_numbers_and_of_what_is_required(subtests: pytest.Subtests) -> None:
    for expression, expected in NUMBERS:
        with subtests.test(expression):
            assert sign("", expression) == expected
    for requires, expression, expected in REQUIRED:
        with subtests.test(expression, requires=requires):
            assert sign(requires, expression) == expected


def test_no_sign_is_known_that_some_numbers_contradict(rng: np.random.Generator) -> None:
    """Every point of a grid that satisfies the lines has the sign, whatever the lines are."""
    grid = np.array(list(itertools.product(*[np.arange(-3, 3.5, 0.5)] * 2, np.arange(0, 3.5, 0.5), [1.0])))
    words = ("a", "b", "c", "1")
    known = 0
    for _ in range(60):
        lines = rng.integers(-2, 3, (int(rng.integers(1, 4)), 4))
        # What follows from the lines, or nearly.
        wanted = lines.T @ rng.integers(0, 3, len(lines)) + rng.integers(0, 2, 4) * rng.integers(-1, 2)
        sums = [" + ".join(f"{n} * {w}" for n, w in zip(row, words, strict=True)) for row in (*lines, wanted)]
        found = sign("; ".join(f"{one} >= 0" for one in sums[:-1]), sums[-1])
        holds = grid[(grid @ lines.T >= 0).all(axis=1)]
        assert not len(holds) or (found * (holds @ wanted) >= 0).all(), sums
        known += bool(found)
    assert known > 10


BETWEEN = [(1, np.inf), (0, 1), (-np.inf, 0)]


def test_a_power_of_a_given_exponent_is_curved_for_each_that_it_may_have(subtests: pytest.Subtests) -> None:
    for (least, most), bent, sign_ in itertools.product(BETWEEN, Curvature, (0, 1, -1)):
        with subtests.test(least=least, bent=bent, sign=sign_):
            base, rule = Type((Dim.of("n"),), sign=sign_, curvature=bent), ATOMS["pow"].rule
            out = rule(base, Type(), least=least, most=most)
            for p in (p for p in (-3, -0.5, -1, 0.25, 0.5, 1, 1.5, 2, 3) if least <= p <= most):
                one = rule(base, Type(), exponent=p)
                assert not out.curvature.is_convex or one.curvature.is_convex, p
                assert not out.curvature.is_concave or one.curvature.is_concave, p
                assert not out.sign or out.sign == one.sign, p
    base = Type(curvature=Curvature.AFFINE, sign=1)
    known = [ATOMS["pow"].rule(base, Type(), least=a, most=b).curvature for a, b in BETWEEN]
    assert known == [Curvature.CONVEX, Curvature.CONCAVE, Curvature.CONVEX]
    assert ATOMS["pow"].rule(replace(base, sign=0), Type(), least=2, most=3).is_broken


ADVICE = [
    ("", "(1 - a) * norm(x)", "state its sign under 'require', for example: 1 - a >= 0"),
    ("", "norm(x) / (1 - a)", "state its sign under 'require', for example: 1 - a >= 0"),
    (
        "",
        "norm(x) / a",
        "declare its sign: a: scalar >= 0; if it is negative, declare its absolute value, and write a minus",
    ),
    ("", "(u[i] - 1) * x[i]**2 for i in n", "the sign of a factor keeps or turns the curvature"),
    ("", "abs(x)**p", "require p >= 1 or p <= 0 (it is convex), or both p >= 0 and p <= 1 (concave)"),
    (
        "p >= 1",
        "x**p",
        "if the base may be negative, only the powers 2, 4, … are convex: declare it: x: … >= 0",
    ),
    ("", "abs(x)**sqrt(c)", "as in x**2"),
    ("", "x[i]**(i + 1) for i in n", "as in x**2"),
    ("p > 1", "abs(x)**p / (1 - p)", "a convex function is minimized, a concave one maximized"),
]


def test_what_to_write_where_a_sign_is_not_known(subtests: pytest.Subtests) -> None:
    for requires, chosen, hint in ADVICE:
        with subtests.test(chosen):
            with pytest.raises(ProgramError) as refused:
                sign(requires, "a", chosen)
            assert refused.value.hint is not None and refused.value.hint.startswith(hint)


def test_numbers_are_added_up_exactly() -> None:
    for text, value in (("-2 / 3", Fraction(-2, 3)), ("2 * (1 + 1/4)", Fraction(5, 2)), ("1/3 - 1/3", 0)):
        program = Program.parse(TEXT.format("a == a", text, "x"))
        assert isinstance(program.objective, Apply) and isinstance(program.objective.args[1], Apply)
        assert number_of(program.objective.args[1].args[0]) == value


def test_lines_are_proved_only_where_a_program_does_not_check_without(subtests: pytest.Subtests) -> None:
    for requires, chosen, lines in (
        ("a <= 1; b == 1; u[i] <= 1 for i in n", "(1 - a) * norm(x)", ["a"]),
        ("a <= 1; a < 2", "(1 - a) * x", ["a < 2"]),
        ("p >= 1; a <= 1", "abs(x)**p", ["p", "a"]),
    ):
        with subtests.test(chosen):
            text = TEXT.format(requires.replace("; ", "\n    "), "1 - a", chosen)
            checked = check(Program.parse(text))
            assert len(checked.to_prove) == len(lines)
            for line, name in zip(checked.to_prove, lines, strict=True):
                assert to_source(line.relation.left) == name.split()[0]
    # Lets know what is required of the names before them.
    text = TEXT.format("a <= 1", "a", "rest * norm(x)").replace("require", "let\n    rest = 1 - a\nrequire")
    assert check(Program.parse(text)).types["rest"].sign == 1
