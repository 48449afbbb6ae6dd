"""Places of nodes in the text of a program, and the size of an explanation.

Guards places_in_the_text.py.
"""

from collections.abc import Iterator

import pytest

from mmopt import Program, explain
from mmopt.errors import Location, TimeLimitError
from mmopt.language import program_names
from mmopt.language.check.curvature_survey import MOST_OF_LINE, survey
from mmopt.language.check.infer_types import taken_as_one
from mmopt.language.check.whole_program import split_lets
from mmopt.language.syntax.parse_and_write_expressions import parse_expr, parse_relation
from mmopt.language.syntax.source_text import Source, Text
from mmopt.language.syntax.syntax_tree import Entries, Expr, Name, children, rewrite
from mmopt.limits import deadline
from mmopt.report.explain.explained_facts import NodeFacts
from mmopt.report.explain.places_in_the_text import Places

OWN = """program own
given
    S: psd[n, n]
    c: vector[n]
choose
    x: vector[n] >= 0
    y: vector[n]
    t: scalar
let
    gain = {0}
    more = max(gain, sum(c * y), 2)
minimize
    {1}
subject to
    a: {2}
    b: {3}
    d: {4}
    e: {5}
"""
LINES = (
    "norm(x - (y + c), 1)",
    "0.5 * x.T @ S @ x + more + log(1 + exp(t))",
    "sum(abs(x[i] - y[i]) for i in n if i >= 1) <= (t + 3)",
    "-((x + y).T @ c) + huber(t, 2) <= sum(x)",
    "[[diag(x), 0 * S], [(0 * S).T, S + diag(y)]] >> 0",
    "sum_smallest(x + y, 2) >= norm(S @ x, 2) ** 2 - t",
)


def text_at(program: Program, where: Location, around: str = "{}") -> Text:
    """The text at a place, without its comments."""
    whole = "\n".join(program.source.lines)
    start = sum(len(line) + 1 for line in program.source.lines[: where.line - 1]) + where.column - 1
    piece = whole[start : start + where.width]
    bare = "\n".join(line.partition("#")[0].rstrip() for line in piece.split("\n"))
    bare = around.format(bare)
    return Text(Source("", tuple(bare.split("\n"))), bare, 1, 1)


def read_at(program: Program, where: Location, are_entries: bool) -> Expr:
    """The expression at a place; entries stand in brackets."""
    if are_entries:
        return children(parse_expr(text_at(program, where, "sum({})")))[0]
    return parse_expr(text_at(program, where))


def meant(expr: Expr, program: Program) -> Expr:
    """The expression with every let of what is chosen put in."""
    for let in reversed(split_lets(program)[1]):
        expr = rewrite(expr, lambda e, let=let: let.expr if e == Name(let.name, let.span) else None)
    return expr


def reads_as_its_nodes(program: Program) -> tuple[int, int]:
    """How many nodes have a place, and have none; each place reads as its node."""
    surveyed = survey(program)
    places, counts = Places(surveyed.checked.written), [0, 0]
    for line in surveyed.lines:
        scope = surveyed.checked.lines.inside(line.constraint.family if line.constraint else None)
        for node in (n for side in line.sides for n in side.nodes()):
            where = places.of(node.expr)
            counts[where is None] += 1
            if where is not None:
                read = meant(read_at(program, where, isinstance(node.expr, Entries)), program)
                assert node.expr in (read, taken_as_one(read, scope)), text_at(program, where).text
        where = places.of_line(line.name)
        assert where is not None
        if line.constraint is None:
            assert where == places.of(line.sides[0].expr)
        else:
            read_line = parse_relation(text_at(program, where))
            written = next(c for c in surveyed.checked.written.constraints if c.name == line.name)
            assert read_line == written.relation
    return counts[0], counts[1]


def test_the_text_at_a_place_reads_as_the_node() -> None:
    counts = [reads_as_its_nodes(Program.load(name)) for name in program_names()]
    assert sum(placed for placed, _ in counts) > 700
    assert sum(none for _, none in counts) == 0


@pytest.mark.parametrize("space", [" ", "\n            ", "  # so (that\n\n  # and [this\n            "])
def test_over_several_lines(space: str) -> None:
    """Comments and indentation in between count, and brackets in comments do not."""
    clauses = (" for i in n if i >= 1", "§for§i§in§n§if§i§>=§1")
    lines = [line.replace(*clauses).replace(" ", space).replace("§", " ") for line in LINES]
    placed, none = reads_as_its_nodes(Program.parse(OWN.format(*lines), "own.program"))
    # What became a sum of squares, logistic, or two nodes of one text has none.
    assert (placed, none) == (67, 9)


def nodes_of(node: NodeFacts) -> Iterator[NodeFacts]:
    yield node
    for part in node.parts:
        yield from nodes_of(part)


def long_program(lines: int, terms: int) -> str:
    """A program of long lines."""
    sums = [" + ".join(f"sum(({i + j} * x{j % 9} - {j})**2)" for j in range(terms)) for i in range(lines)]
    chosen = "\n".join(f"    x{j}: vector[n]" for j in range(9))
    below = "\n".join(f"    l{i}: {words} <= 5" for i, words in enumerate(sums))
    head = f"program long\ngiven\n    c: vector[n]\nchoose\n{chosen}\nminimize\n    sum(x0)\n"
    return f"{head}subject to\n{below}\n"


def doubled(times: int) -> str:
    """A program with lets each of which has the one before it twice."""
    lets = "\n".join(f"    y{i} = abs(y{i - 1}) + y{i - 1}" for i in range(1, times))
    return (
        "program doubled\ngiven\n    c: vector[n]\nchoose\n    x: vector[n]\nlet\n    y0 = abs(x)\n"
        f"{lets}\nminimize\n    sum(y{times - 1})\n"
    )


def deep(times: int, before: str, after: str) -> str:
    """A program with so many brackets inside each other."""
    whole = f"{before * times}t{after * times}"
    return f"program deep\ngiven\n    c: vector[n]\nchoose\n    t: scalar\nminimize\n    {whole}\n"


SIZES = {
    "few long lines": long_program(2, 85),
    "many lines": long_program(40, 3),
    "lines within the limit": long_program(4, 40),
    "lets": doubled(12),
    "products": deep(38, "2 * (", ")"),
    "signs": deep(38, "-(", ")"),
    "transposes": deep(38, "(", ").T"),
    "powers": deep(20, "exp(1 + ", ")"),
}


@pytest.mark.parametrize("name", SIZES)
def test_an_explanation_is_as_long_as_the_program(name: str) -> None:
    """Each has at most so many characters for one of the text, beside the style of the page."""
    program = Program.parse(SIZES[name])
    e, size = explain(program), len(SIZES[name]) + 1000
    assert len(e.html()) < 150 * size and len(e.text()) < 60 * size and len(e.latex()) < 60 * size
    assert len(str(e.summary())) < 100 * size


def test_a_tree_of_very_many_parts_is_left_out() -> None:
    lines = {line.name: line for line in explain(Program.parse(long_program(1, 85))).lines}
    words = (
        f"Its parts are not shown: this expression has more than {MOST_OF_LINE}. All of them were checked."
    )
    assert lines["minimize"].left_out == "" and lines["minimize"].sides[0].parts
    assert lines["l0"].left_out == words and not lines["l0"].sides[0].parts
    e = explain(Program.parse(long_program(6, 40)))
    words = "Its parts are not shown: the expressions have more than 1,600 in all. All of them were checked."
    assert [line.left_out for line in e.lines] == [""] * 5 + [words] * 2
    assert words in " ".join(e.text().split()) and words in e.html()


def test_a_formula_that_comes_again_is_named() -> None:
    (line,) = explain(Program.parse(doubled(3))).lines
    nodes = list(nodes_of(line.sides[0]))
    named = {node.number: node for node in nodes if node.number}
    again = [node for node in nodes if node.same]
    assert list(named) == list(range(1, len(named) + 1)) and again
    for node in again:
        first = named[node.same]
        assert node.formula == first.formula and node.rule == first.rule and not node.parts
        assert nodes.index(first) < nodes.index(node) and len(list(nodes_of(first))) > 2
    text = explain(Program.parse(doubled(3))).text()
    assert "(1) a sum of convex parts" in text and "as (1) above" in text


def test_a_time_limit_ends_an_explanation() -> None:
    program = Program.parse(long_program(2, 3))
    with deadline(-10.0), pytest.raises(TimeLimitError):
        explain(program)
