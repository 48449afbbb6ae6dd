"""An explanation arranged in sections of paragraphs, tables and trees, the same for every output."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from mmopt.errors import counted
from mmopt.language.typeset import Sentence
from mmopt.report.explain.explained_facts import Compiled, Facts, LineFacts, NodeFacts, SolvedFacts, Statement
from mmopt.report.program_tables_and_forecasts import Sizes, cones_table, givens_table, solvers_table
from mmopt.report.table_style import Row, Table, figure, pairs_table, rows_table


@dataclass(frozen=True)
class Paragraph:
    """Words with formulas between them; ``tone`` is "" or "strong" (a heading) or "loud" (a mistake)."""

    words: Sentence
    tone: str = ""


@dataclass(frozen=True)
class Prose:
    """Text of the program file with its formulas; an empty line ends a paragraph."""

    words: Sentence


@dataclass(frozen=True)
class Excerpt:
    """Text of the program file as it is: a line with a caret below it.

    With a title it is the whole file, shown on a click, in colours in a terminal, and not in LaTeX.
    """

    text: str
    title: str = ""


@dataclass(frozen=True)
class Listing:
    """Lines of a program: label, formula, words."""

    lines: tuple[Statement, ...]


@dataclass(frozen=True)
class Tree:
    """An expression with the types of all its nodes."""

    node: NodeFacts


Block = Paragraph | Prose | Excerpt | Listing | Table | Tree


@dataclass(frozen=True)
class DocumentSection:
    """A section; its ``level`` is 1 for the whole document, 2 for a part of it, more inside a part."""

    title: str
    blocks: tuple[Block, ...]
    level: int


# Columns of names and sizes, which are never broken: other columns are wrapped.
UNBROKEN_COLUMNS = ("name", "data", "target", "from", "shape", "constraint", "solver", "cone", "quantity")
UNITS = {"s": "all queries are multiplied by s", "t": "all targets by t"}
LEGEND = (
    "Each node has its shape, its sign where known, its curvature in the variables, and the rule that "
    "gives it. The mark ⪯ means curvature in the order of psd matrices; without it the curvature of a "
    "matrix is entry by entry."
)


def arranged(facts: Facts) -> Iterator[DocumentSection]:
    """The sections of an explanation, in the order in which one reads them."""
    is_blamed = any(line.blamed for line in facts.lines)
    rows = (
        ("program", facts.name),
        ("source", facts.cite),
        ("class", f"{facts.problem_class}, which a line is not" if is_blamed else facts.problem_class),
        ("formulation of", facts.formulation_of),
    )
    heading: tuple[Block, ...] = (
        pairs_table(row for row in rows if row[1]),
        *[Prose(facts.about)] * bool(facts.about),
    )
    yield DocumentSection(facts.title or facts.name, heading, 1)
    givens = [givens_table(facts.givens)] * bool(facts.givens)
    written: tuple[Block, ...] = (
        Listing(facts.statements),
        *givens,
        Excerpt(facts.file_text.rstrip(), "its text"),
    )
    yield DocumentSection("The program", written, 2)
    if facts.lines:
        fit = all(_fits(n, w) for line in facts.lines for n, w in zip(line.sides, line.wanted, strict=True))
        title = "Why it is convex" if fit and not is_blamed else "Curvature"
        yield DocumentSection(title, tuple(_curvature(facts.lines)), 2)
    if facts.repair and not is_blamed:
        yield DocumentSection("The repair", tuple(Paragraph(words) for words in facts.repair), 2)
    bound: list[Paragraph | Prose] = [
        *([Paragraph((facts.bound.formula,))] if facts.bound.formula else []),
        *(Paragraph(words) for words in facts.bound.sentences),
        *((Paragraph(("Proof",), "strong"), Prose(facts.bound.proof)) if facts.bound.proof else ()),
    ]
    if not is_blamed:
        yield DocumentSection(
            "What its author claims" if facts.bound.is_claim else "What is proved", tuple(bound), 2
        )
    yield from _numbers(facts, 2)
    for step in facts.steps:
        inner = step.explanation
        if inner.name == facts.name:
            yield DocumentSection(f"Factor '{step.name}'", (), 2)
        else:
            yield DocumentSection(f"Step '{step.name}': {inner.name}", (Paragraph((inner.title,)),), 2)
            yield DocumentSection("Its program", (Listing(inner.statements),), 3)
        yield from _numbers(inner, 3)


def _numbers(facts: Facts, level: int) -> Iterator[DocumentSection]:
    """The sections with numbers: those of the compiled program, and of the solution, where there are any."""
    if facts.compiled is not None:
        yield from _compiled(facts.compiled, level)
    if facts.solved is not None:
        yield DocumentSection("At the solution", tuple(_solved(facts.solved)), level)


def _curvature(lines: tuple[LineFacts, ...]) -> Iterator[Block]:
    """For each side of each line a verdict and its tree; and what is to blame, where a line is not convex."""
    yield Paragraph((LEGEND,))
    for line in lines:
        yield Paragraph((f"{line.name}: ", line.formula), "strong")
        sides = ("left side", "right side") if len(line.sides) > 1 else ("objective",)
        for where, node, wanted in zip(sides, line.sides, line.wanted, strict=True):
            shown: Sentence = () if node.parts else (node.formula, ", ")
            words, tone = _verdict(node, wanted, line)
            yield Paragraph((f"{where}: ", *shown, words), tone)
            if node.parts:
                yield Tree(node)
        if line.left_out:
            yield Paragraph((line.left_out,))
        if line.blamed:
            hint = f" ({line.blamed.hint})" if line.blamed.hint else ""
            yield Paragraph((f"Not convex: {line.blamed.message}{hint}",), "loud")
            if line.blamed.where and (excerpt := line.blamed.where.excerpt()):
                yield Excerpt(f"{line.blamed.where}\n{excerpt}")


def _verdict(node: NodeFacts, wanted: str, line: LineFacts) -> tuple[str, str]:
    """The curvature of a side compared with the wanted one, in words; and the tone of these words."""
    fits = _fits(node, wanted)
    if fits and node.blamed:
        order = "in the order of psd matrices" if node.order else "entry by entry"
        return f"{node.curvature} {order}, which is not the order of the relation", "loud"
    if not fits:  # without a blamed node it is a fact, not a mistake
        return (f"{node.curvature}; it has to be {wanted}", "loud") if line.blamed else (node.curvature, "")
    so = "" if node.curvature == wanted else f"so {wanted}, "
    return f"{node.curvature}, {so}as required", ""


def _fits(node: NodeFacts, wanted: str) -> bool:
    """Whether a side's curvature is the wanted one, or affine, which always will do."""
    return node.curvature in ("constant", "affine", wanted)


def _compiled(c: Compiled, level: int) -> Iterator[DocumentSection]:
    """The sections of a compiled program: its givens, reductions, units, cones and solvers."""
    dims = ", ".join(f"{name} = {size:,}" for name, size in c.dims)
    givens = _table(
        ("data", "from", "shape", "figures", "entries"),
        (((g.name,), g.origin, g.shape, g.figures, (g.preview,) if g.preview else "") for g in c.givens),
    )
    blocks: tuple[Block, ...] = (
        *[Paragraph((f"Dimensions: {dims}.",))] * bool(dims),
        *[givens] * bool(c.givens),
    )
    if blocks or c.counts:
        yield DocumentSection(
            f"With the workload: {c.workload}" if c.counts else "With its numbers", blocks, level
        )
    if c.reductions:
        yield DocumentSection("Reductions", tuple(Paragraph((text,)) for text in c.reductions), level)
    if c.refusal or c.sizes is None:
        yield DocumentSection("What the solver gets", (Paragraph((f"{c.refusal}.",)),), level)
        return
    yield DocumentSection("Units", tuple(_units(c)), level)
    handed = _table(
        ("name", "in the program", "passed to a conic solver as"),
        ((h.name, (h.formula,), tuple(part for how in h.how for part in ("; ", *how))[1:]) for h in c.handed),
    )
    yield DocumentSection("What the solver gets", (handed, *_cones(c, c.sizes)), level)
    yield DocumentSection(
        "Solvers",
        (
            solvers_table(c.sizes),
            Paragraph(("Other solvers that cvxpy finds here can be named as well.",)),
            Paragraph((f"{c.choice}.",), "loud" if c.sizes.refusal is not None else ""),
        ),
        level,
    )


def _units(c: Compiled) -> Iterator[Block]:
    """How the optimum and the variables grow with the units, and the factors used."""
    if c.scaled is None:
        yield Paragraph(
            ("Objective and constraints have no common scaling, so the program is solved unscaled.",)
        )
    elif not c.scaled:
        yield Paragraph(("A kernel takes the program by component, unscaled.",))
    elif all(s.power.plain == "1" for s in c.scaled):
        yield Paragraph(("Neither the optimum nor the variables are scaled: nothing is multiplied back.",))
    else:
        letters = {power[0] for s in c.scaled for power in s.power.plain.split()}
        when = " and ".join(words for letter, words in UNITS.items() if letter in letters)
        words = (
            f"{f'When {when}' if when else 'What is passed is far from one:'}, the optimum is multiplied "
            "by the factors below. The compiler uses this to give the solver numbers near 1, and "
            "multiplies back afterwards."
        ).replace(":,", ":")
        yield Paragraph((words,))
        rows = (((s.name,), (s.power,), figure(s.factor, 4)) for s in c.scaled)
        yield _table(("quantity", "multiplied by", "factor here"), rows, ("factor here",))


def _cones(c: Compiled, sizes: Sizes) -> Iterator[Block]:
    """The cones, and the size of the problem in the solver's form; ``sizes`` are those of ``c``, not None."""
    yield cones_table(sizes)
    before = "Without the reductions: " * bool(c.reductions)
    words = f"{before}{counted(sizes.variables, 'unknown')}, including those that the blocks add."
    if c.matrix is not None:
        m = c.matrix
        words += (
            f" The constraint matrix for {m.solver}: {m.rows:,} × {m.columns:,} with {m.nonzeros:,} nonzeros"
            f" ({m.nonzeros / max(m.rows * m.columns, 1):.2g} of all entries)"
            f"{', with a quadratic objective' if m.is_quadratic else ''}."
        )
    elif c.matrix_words:
        words += f" Constraint matrix: {c.matrix_words}."
    yield Paragraph((words,))


def _table(header: Sequence[str], rows: Iterable[Row], right: Collection[str] = ()) -> Table:
    """A table with ``UNBROKEN_COLUMNS``; the first cell of each row, its name, is never broken either."""
    rows_with_names = ((name if isinstance(name, tuple) else (name,), *rest) for name, *rest in rows)
    return rows_table(header, rows_with_names, right, whole=UNBROKEN_COLUMNS)


def _solved(solved: SolvedFacts) -> Iterator[Block]:
    """The figures of a solution, and the constraints with slack and multipliers."""
    yield pairs_table(solved.rows)
    if not solved.lines:
        return
    rows = (
        (
            line.name,
            "-" if line.tight is None else f"{line.tight:,} of {line.count:,}",
            figure(line.total, 5) if line.multipliers else "-",
            f"{line.zero:,} of {line.multipliers:,}" if line.multipliers else "-",
            "; ".join(
                [
                    *(f"{name}: {figure(value, 4)}" for name, value in line.largest),
                    *filter(None, [line.words]),
                ]
            ),
        )
        for line in solved.lines
    )
    numbers = ("tight", "sum", "zero")
    yield _table(("constraint", *numbers, "largest multipliers"), rows, numbers)
    if solved.legend:
        yield Paragraph((solved.legend,))
