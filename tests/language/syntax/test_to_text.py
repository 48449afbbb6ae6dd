"""Text written from a tree reads back as the same tree, with no bracket that could go.

Guards parse_and_write_expressions.py, syntax_tree.py.
"""

import pytest
from hypothesis import given, settings, strategies as st

from mmopt.errors import ProgramError
from mmopt.language import Program, program_names, to_source
from mmopt.language.atoms.table_of_atoms import ATOMS, FUNCTIONS
from mmopt.language.syntax.parse_and_write_expressions import parse_expr
from mmopt.language.syntax.source_text import Source, Text
from mmopt.language.syntax.syntax_tree import (
    Apply,
    Assignment,
    Block,
    Expr,
    Index,
    Name,
    Number,
    Repeat,
    Span,
    Step,
    SubProgram,
)

HERE = Span(1, 1)


def parse(text: str) -> Expr:
    return parse_expr(Text(Source("t", (text,)), text, 1, 1), FUNCTIONS)


def expressions(program: Program) -> list[Expr]:
    """All expressions of a program."""
    found = [a.expr for a in (*program.lets, *program.repair, *program.parameters)]
    found += [
        e for c in (*program.constraints, *program.requires) for e in (c.relation.left, c.relation.right)
    ]
    found += [e for step in program.steps for e in of_step(step)]
    found += [a.expr for start in program.starts for a in start.values]
    found += [e for e in (program.objective, program.value) if e is not None]
    found += [program.meaning.expr] if program.meaning else []
    return found + ([program.certificate.expr] if program.certificate else [])


def test_expressions_of_shipped_programs(subtests: pytest.Subtests) -> None:
    for name in program_names():
        with subtests.test(name):
            for expr in expressions(Program.load(name)):
                assert parse(to_source(expr)) == expr


def of_step(step: Step) -> list[Expr]:
    match step:
        case Assignment(expr=expr):
            return [expr]
        case SubProgram(arguments=arguments):
            return [e for _, e in arguments]
        case Repeat(times=times, until=until, steps=steps):
            ends = [until.left, until.right] if until else []
            return [times, *ends, *(e for inner in steps for e in of_step(inner))]


def trees() -> st.SearchStrategy[Expr]:
    numbers = st.one_of(st.integers(0, 10**20), st.floats(0, 1e299))
    leaves: st.SearchStrategy[Expr] = st.one_of(
        st.sampled_from(["x", "W", "alpha_1", "λ", "step.strategy"]).map(lambda n: Name(n, HERE)),
        numbers.map(lambda v: Number(float(v), HERE)),
    )

    def above(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
        def apply(name: str) -> st.SearchStrategy[Expr]:
            atom = ATOMS[name]
            options = st.sampled_from([(), (("axis", 0),), (("axis", 1),)]) if atom.axis else st.just(())
            args = st.tuples(*[inner] * atom.arity)
            return st.builds(lambda a, o: Apply(name, a, HERE, o), args, options)

        item = st.one_of(st.none(), inner)
        index = st.builds(
            lambda b, i: Index(b, tuple(i), HERE), inner, st.lists(item, min_size=1, max_size=2)
        )
        row = st.lists(inner, min_size=2, max_size=2).map(tuple)
        block = st.lists(row, min_size=1, max_size=2).map(lambda rows: Block(tuple(rows), HERE))
        return st.one_of(st.sampled_from(sorted(ATOMS)).flatmap(apply), index, block)

    return st.recursive(leaves, above, max_leaves=12)


@settings(max_examples=40)
@given(trees())
def test_random_trees(tree: Expr) -> None:
    assert parse(to_source(tree)) == tree


@settings(max_examples=30)
@given(trees())
def test_every_bracket_is_needed(tree: Expr) -> None:
    """Without any one pair of grouping brackets the text reads otherwise, or not at all."""
    text = to_source(tree)
    for start, char in enumerate(text):
        if char != "(" or (start and (text[start - 1].isalnum() or text[start - 1] == "_")):
            continue
        depth, end = 1, start
        while depth:
            end += 1
            depth += (text[end] == "(") - (text[end] == ")")
        if (
            text[start + 1 : end].replace(".", "").replace("e+", "").replace("e-", "").isalnum()
            and text[end + 1 : end + 2] == "."
        ):
            continue  # (2).T: whether 2.T reads as well depends on how the number is written
        less = text[:start] + text[start + 1 : end] + text[end + 1 :]
        try:
            other = parse(less)
        except ProgramError:
            continue
        assert other != tree, (text, less)


WRITTEN = [
    "a + b - c * d / e @ f",
    "a - (b - c) - (d + e)",
    "a @ (b @ c)",
    "-a**2",
    "(-a)**2",
    "a**-b**c",
    "(a**b)**c",
    "-(a + b).T",
    "(a @ b).T[0, :]",
    "inv(X).T.T",
    "(2).T",
    "sum(A * A, axis=0) / 2.5e-07",
    "[[X, W[j, :].T], [W[j, :], u[j]]]",
    "--a",
]


def test_as_one_writes_it(subtests: pytest.Subtests) -> None:
    for text in WRITTEN:
        with subtests.test(text):
            assert to_source(parse(text)) == text
