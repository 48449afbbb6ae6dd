"""A program: the content of its file, as frozen data, and how it is read.

The section ``neighbours`` names the set of tables that the guarantee of a program is for.
"""

import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from mmopt.display_base_classes import Displayed
from mmopt.errors import Location, OptionError, ProgramError, suggest
from mmopt.installation_and_files import programs_folder
from mmopt.language.syntax.parse_and_write_expressions import parse_expr, to_source
from mmopt.language.syntax.parse_statements import (
    assignment,
    declaration,
    is_declaration,
    multipliers,
    name_of,
    parse_constraint,
    split_at,
    start,
    step,
    string_value,
    with_dimensions,
)
from mmopt.language.syntax.program_sections import (
    CLASSES,
    ProblemClass,
    Section,
    check_sections,
    split_sections,
)
from mmopt.language.syntax.source_text import MAX_BYTES, Mistakes, Source, Text
from mmopt.language.syntax.syntax_tree import (
    Adoption,
    Assignment,
    Certificate,
    Constraint,
    Declaration,
    Entries,
    Expr,
    Meaning,
    Multiplier,
    Number,
    Span,
    Start,
    Step,
    walk,
)

NeighbourhoodKind = Literal["add-remove", "replace-one", "rows", "participation"]
NEIGHBOURHOODS: tuple[NeighbourhoodKind, ...] = get_args(NeighbourhoodKind)


@dataclass(frozen=True)
class Neighbourhood:
    """The set, with its numbers: k of ``rows k``, or b and k of ``participation separation b at most k``."""

    kind: NeighbourhoodKind
    numbers: tuple[Expr, ...] = ()
    span: Span = field(default=Span(1, 1), compare=False, repr=False)


def neighbourhood(text: Text) -> Neighbourhood:
    """Read ``add-remove``, ``replace-one``, ``rows k`` or ``participation separation b at most k``."""
    words = "".join(text.text.split())
    for kind in NEIGHBOURHOODS[:2]:
        if words == kind:
            return Neighbourhood(kind, (), text.place)
    first = text.tokens[0]
    rest = text.cut(first.end, text.end)
    if first.text == "rows" and rest.text:
        return Neighbourhood("rows", (parse_expr(rest),), text.place)
    if first.text == "participation":
        before, numbers = split_at(rest, "separation")
        apart, limit = (before, None) if numbers is None else split_at(numbers, "at")
        if not before.text and limit is not None and limit.text.startswith("most"):
            most = limit.cut(limit.tokens[0].end, limit.end)
            return Neighbourhood("participation", (parse_expr(apart), parse_expr(most)), text.place)
        text.fail(
            "a participation says how far apart two steps of one person are, and how many there are at most",
            "write: participation separation b at most k",
        )
    if first.text == "rows":
        text.fail("'rows' says how many rows of one person there are at most", "write: rows k")
    near = suggest(words, NEIGHBOURHOODS)
    text.fail(
        f"there are no neighbours '{text.text}'",
        near
        if near.startswith("did")
        else "write add-remove, replace-one, rows k (of one person), or participation separation b at most k "
        "(steps of one person)",
    )


SUFFIX = ".program"
TYPED = "<program>"  # a text from no file
# All but tabs and line ends. Shown on a terminal they could do anything, and show a text in another order.
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
T = TypeVar("T")


@dataclass(frozen=True)
class Program(Displayed):
    """One optimisation, as written in its file (see ``programs/`` and the language reference).

    ``Program.parse`` reads a text (a notebook cell), ``Program.load`` a shipped name or a path.
    """

    name: str
    source: Source = field(compare=False, repr=False)
    objective: Expr
    meaning: Meaning
    title: str = ""
    cite: str = ""
    problem_class: ProblemClass = "convex"
    formulation_of: str = ""
    about: str = field(default="", compare=False)
    proof: str = field(default="", compare=False)
    givens: tuple[Declaration, ...] = ()
    parameters: tuple[Assignment, ...] = ()
    lets: tuple[Assignment, ...] = ()
    requires: tuple[Constraint, ...] = ()
    choose: tuple[Declaration, ...] = ()
    sense: Literal["minimize", "maximize"] = "minimize"
    constraints: tuple[Constraint, ...] = ()
    steps: tuple[Step, ...] = ()
    starts: tuple[Start, ...] = ()
    search: tuple[Assignment, ...] = ()
    repair: tuple[Assignment, ...] = ()
    value: Expr | None = None
    neighbours: Neighbourhood | None = None
    adoption: Adoption | None = None
    certificate: Certificate | None = None
    bound: str = ""
    spans: tuple[tuple[str, Span], ...] = field(default=(), compare=False, repr=False)

    def __repr__(self) -> str:
        """The name with the title, or the aim; the whole text is ``text``."""
        objective: Expr | None = self.objective  # a procedure has none
        aim = f"{self.sense} {to_source(objective)}" if objective is not None else self.problem_class
        return f"Program({self.name}: {self.title or aim})"

    @property
    def changeable(self) -> tuple[Assignment, ...]:
        """The parameters of the program and of its search, which a caller may set."""
        return (*self.parameters, *self.search)

    @property
    def multipliers(self) -> tuple[Multiplier, ...]:
        """The multipliers of its certificate."""
        return self.certificate.multipliers if self.certificate else ()

    @property
    def conditions(self) -> Iterator[Entries]:
        """The clauses with a condition in objective and constraints, each without its numbers."""
        sides = [side for c in self.constraints for side in (c.relation.left, c.relation.right)]
        objective: Expr | None = self.objective  # a procedure has none
        for node in (node for e in (objective, *sides) if e is not None for node in walk(e)):
            if isinstance(node, Entries) and node.where:
                yield replace(node, body=Number(0.0, node.span))

    @property
    def text(self) -> str:
        """The program's text."""
        return "\n".join(self.source.lines)

    @staticmethod
    def parse(text: str, file: str = TYPED) -> "Program":
        """Read a program; :class:`~mmopt.errors.ProgramError` names line and column.

        A text from no file may be indented as a whole; columns are counted without that indent.
        """
        return _parsed(textwrap.dedent(text) if file == TYPED else text, file)

    @staticmethod
    def load(name: str | Path) -> "Program":
        """Read a shipped program by name, or any by its path.

        Raises :class:`~mmopt.errors.OptionError` for an unknown name,
        :class:`~mmopt.errors.ProgramError` for a file that cannot be read.
        """
        return Program.parse(*_program_text(name))


def program_names() -> list[str]:
    """Names of the shipped programs, sorted."""
    return sorted(path.stem for path in programs_folder().glob(f"*{SUFFIX}"))


def _program_text(name: str | Path) -> tuple[str, str]:
    """Text and file of a shipped program by name, or of any by its path (ends in .program or has a slash)."""
    text = str(name)
    if "\n" in text or text.startswith("program "):
        raise OptionError(
            "a name or a path is expected, and this is the text of a program",
            hint="read it first: Program.parse(text)",
        )
    if text.endswith(SUFFIX) or "/" in text or isinstance(name, Path):
        return _text_of_file(Path(text))
    shipped = program_names()
    if text not in shipped:
        by_path = f"your own program is named by its path, ending in {SUFFIX}"
        raise OptionError(f"there is no program '{text}'", hint=f"{suggest(text, shipped)} ({by_path})")
    return _text_of_file(programs_folder() / f"{text}{SUFFIX}")


def _text_of_file(path: Path) -> tuple[str, str]:
    """Text and file of a program by its path."""
    if not path.is_file():
        raise OptionError(
            f"there is no program file '{path}'", hint=f"known by name: {', '.join(program_names())}"
        )
    try:
        size = path.stat().st_size
        data = path.read_bytes() if size <= MAX_BYTES else b""
    except OSError as error:
        raise OptionError(f"the program file '{path}' cannot be read: {error.strerror}") from None
    if size > MAX_BYTES:
        raise ProgramError(
            f"a program file of {size} bytes; at most {MAX_BYTES} are read",
            where=Location(str(path), 1, 1),
            hint="a program file holds formulas; data are given with --given NAME=FILE",
        )
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        raise ProgramError(
            f"the byte 0x{data[error.start]:02x} is not UTF-8",
            where=Location(str(path), before.count("\n") + 1, len(before) - before.rfind("\n")),
            hint="save the file as UTF-8",
        ) from None
    return text, str(path)


# Keyed by the text, so an edited file is read anew; many small solves of one program read it once.
@lru_cache(maxsize=128)
def _parsed(text: str, file: str) -> Program:
    """The program of a text that is not too long and has no control characters."""
    if len(text) > MAX_BYTES:
        raise ProgramError(
            f"a program of {len(text)} characters; at most {MAX_BYTES} are read",
            where=Location(file, 1, 1),
            hint="a program file holds formulas; data are given with --given NAME=FILE",
        )
    # Line ends of any system, and the mark that some editors put before the first line.
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    source = Source(file, tuple(lines))
    for number, line in enumerate(lines, 1):
        if control := CONTROL.search(line):
            shown = Source(file, tuple(CONTROL.sub("?", line) for line in lines))
            shown.fail(
                Span(number, control.start() + 1),
                f"the control character U+{ord(control.group()):04X} cannot stand in a program",
                "remove it (an editor may not show it); is this a text file?",
            )
    sections = split_sections(source)
    source.require(
        "program" in sections, Span(1, 1), "a program begins with its name", "write: program my_program"
    )
    return _assembled(source, sections)


def _assembled(source: Source, sections: dict[str, Section]) -> Program:
    """The program of these sections, each read as its kind is."""
    mistakes = Mistakes()

    def each(name: str, read: Callable[[Text], T]) -> tuple[T, ...]:
        values: list[T] = []
        for statement in sections[name].statements if name in sections else ():
            with mistakes.noting():
                values.append(read(statement))
        return tuple(values)

    def word(name: str, default: str = "") -> str:
        if name not in sections:
            return default
        text = sections[name].single()
        text.require(
            text.text.replace("_", "a").isalnum(),
            f"'{name}' takes one word, not '{text.text}'",
            "letters, digits and _",
        )
        return text.text

    def one(name: str, read: Callable[[Text], T], default: T | None) -> T | None:
        value = default
        with mistakes.noting():
            value = read(sections[name].single()) if name in sections else default
        return value

    # The one class whose name is of two words.
    is_closed_form = one("class", lambda text: text.text.split(), None) == ["closed", "form"]
    class_name = "closed form" if is_closed_form else word("class", "convex")
    if class_name not in CLASSES:
        text = sections["class"].single()
        text.fail(
            f"class '{class_name}' is not one of those that this version solves",
            f"known: {', '.join(CLASSES)}",
        )
    if word("language", "1") != "1":
        text = sections["language"].single()
        text.fail(f"language '{text.text}' is not one that this version reads", "known: 1")
    if "minimize" in sections and "maximize" in sections:
        source.fail(sections["maximize"].span, "a program has one objective; this is a second")
    sense = "maximize" if "maximize" in sections else "minimize"
    # Every constraint gets a name, so that multipliers and messages can speak of it.
    constraints = enumerate(each("subject to", parse_constraint), 1)
    named = tuple(c if c.name else replace(c, name=f"constraint_{i}") for i, c in constraints)
    givens, choose = each("given", declaration), each("choose", declaration)
    parameters, lets = each("parameter", assignment), each("let", assignment)
    requires = each("require", partial(parse_constraint, strict=True))
    objective, value = one(sense, parse_expr, None), one("value", parse_expr, None)
    steps, starts, search = each("steps", step), each("start", start), each("search", assignment)
    repair, neighbours = each("repair", assignment), one("neighbours", neighbourhood, None)
    mistakes.refuse("names and shapes are checked once these are fixed")
    declared = {a.name: a.declared for a in (*parameters, *lets) if a.declared}
    declared |= {d.name: d for d in (*givens, *choose)}
    fields: dict[str, Any] = {
        "name": word("program"),
        "source": source,
        "title": one("title", string_value, ""),
        "cite": one("source", string_value, ""),
        "problem_class": class_name,
        "formulation_of": word("formulation of"),
        "about": one("about", attrgetter("text"), ""),
        "proof": one("proof", attrgetter("text"), ""),
        "givens": givens,
        "parameters": parameters,
        "requires": tuple(with_dimensions(c, declared, source) for c in requires),
        "lets": lets,
        "choose": choose,
        "sense": sense,
        "objective": objective,
        "constraints": tuple(with_dimensions(c, declared, source) for c in named),
        "steps": steps,
        "starts": starts,
        "search": search,
        "repair": repair,
        "value": value,
        "meaning": _meaning(source, sections),
        "neighbours": neighbours,
        "adoption": _adoption(sections["from strategy"]) if "from strategy" in sections else None,
        "certificate": _certificate(sections["certificate"]) if "certificate" in sections else None,
        "bound": word("bound"),
        "spans": tuple((name, section.span) for name, section in sections.items()),
    }
    mistakes.refuse()
    check_sections(source, class_name, sections)
    return Program(**fields)


def _adoption(section: Section) -> Adoption:
    """Read the section ``from strategy``."""
    section.source.require(
        section.statements and is_declaration(section.statements[0]),
        section.span,
        "'from strategy' begins with the strategy's name",
        "write: from strategy A: matrix[p, n]",
    )
    section.source.require(
        len(section.statements) > 1,
        section.span,
        "'from strategy' sets the variables",
        "for example X = A.T @ A, below it",
    )
    first, *rest = section.statements
    return Adoption(declaration(first), tuple(assignment(text) for text in rest))


def _meaning(source: Source, sections: dict[str, Section]) -> Meaning:
    """Read the section ``strategy`` or ``covariance``, where there is one."""
    if "strategy" in sections and "covariance" in sections:
        source.fail(sections["covariance"].span, "a solution is a strategy or a covariance, not both")
    if "strategy" in sections:
        text = sections["strategy"].single()
        left, right = split_at(text, "norm")
        if right is None or right.text not in ("1", "2"):
            text.fail("a strategy says its norm, 1 or 2", "write: factor(X) norm 2")
        return Meaning("strategy", parse_expr(left), int(right.text))
    if "covariance" in sections:
        text = sections["covariance"].single()
        left, right = split_at(text, "on")
        if right is None:
            text.fail("a covariance says its basis", "write: Sigma on B")
        return Meaning("covariance", parse_expr(left), 2, name_of(right))
    return Meaning("none", Number(0.0, sections["program"].span))


def _certificate(section: Section) -> Certificate:
    """Read the section ``certificate``: multipliers, then one expression."""
    listed: list[Multiplier] = []
    for position, text in enumerate(section.statements):
        if is_declaration(text):
            listed.extend(multipliers(text))
        elif position == len(section.statements) - 1:
            return Certificate(tuple(listed), parse_expr(text))
        else:
            text.fail("a certificate lists its multipliers, then one expression")
    section.source.fail(section.span, "a certificate ends with an expression, the bound")
