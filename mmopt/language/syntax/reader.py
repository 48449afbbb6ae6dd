"""From the text of a program to what it says: sections, then the statements in them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from mmopt.errors import Location, ProgramError
from mmopt.language.atoms.table import FUNCTIONS
from mmopt.language.syntax.expression import parse_expr
from mmopt.language.syntax.sections import Section, split_sections
from mmopt.language.syntax.source import MAX_BYTES, Source, Text
from mmopt.language.syntax.statements import (
    assignment,
    constraint,
    declaration,
    is_declaration,
    multipliers,
    name_of,
    split_at,
    start,
    string_value,
)
from mmopt.language.syntax.steps import step
from mmopt.language.syntax.tree import Adoption, Certificate, Expr, Meaning, Multiplier, Span

__all__ = ["CLASSES", "read_fields"]

CLASSES = ("convex", "rank", "smooth", "closed form", "procedure")

# Tabs and line ends apart. Shown on a terminal they could do anything.
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
T = TypeVar("T")


def read_fields(text: str, file: str) -> dict[str, Any]:
    """What a program says, by the names of :class:`~mmopt.language.syntax.program.Program`'s fields.

    The first mistake is raised as a :class:`~mmopt.errors.ProgramError`.
    """
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
        if found := CONTROL.search(line):
            message = f"the control character U+{ord(found.group()):04X} cannot stand in a program"
            shown = Source(file, tuple(CONTROL.sub("?", line) for line in lines))
            shown.fail(Span(number, found.start() + 1), message, "is this a text file?")
    sections = {section.name: section for section in split_sections(source)}
    if "program" not in sections:
        source.fail(Span(1, 1), "a program begins with its name", "write: program my_program")
    return _assemble(source, sections)


def _assemble(source: Source, sections: Mapping[str, Section]) -> dict[str, Any]:
    def each(name: str, read: Callable[[Text], T]) -> tuple[T, ...]:
        return tuple(read(s) for s in sections[name].statements) if name in sections else ()

    def word(name: str, default: str = "") -> str:
        if name not in sections:
            return default
        text = sections[name].single()
        if not text.text.replace("_", "a").isalnum():
            text.fail(f"'{name}' takes one word, not '{text.text}'", hint="letters, digits and _")
        return text.text

    def quoted(name: str) -> str:
        return string_value(sections[name].single()) if name in sections else ""

    def prose(name: str) -> str:
        return sections[name].single().text if name in sections else ""

    def expression(name: str) -> Expr | None:
        return parse_expr(sections[name].single(), FUNCTIONS) if name in sections else None

    klass = "closed form" if _says(sections, "class", "closed form") else word("class", "convex")
    if klass not in CLASSES:
        text = sections["class"].single()
        text.fail(f"class '{klass}' is not one of those that this version solves", hint=_known(CLASSES))
    if word("language", "1") != "1":
        text = sections["language"].single()
        text.fail(f"language '{text.text}' is not one that this version reads", hint="known: 1")
    if "minimize" in sections and "maximize" in sections:
        source.fail(sections["maximize"].span, "a program has one objective; this is a second")
    sense = "maximize" if "maximize" in sections else "minimize"
    # Every constraint gets a name, so that multipliers and messages can speak of it.
    constraints = enumerate(each("subject to", constraint), 1)
    named = tuple(c if c.name else replace(c, name=f"constraint_{i}") for i, c in constraints)
    return {
        "name": word("program"),
        "source": source,
        "title": quoted("title"),
        "cite": quoted("source"),
        "klass": klass,
        "formulation_of": word("formulation of"),
        "about": prose("about"),
        "proof": prose("proof"),
        "givens": each("given", declaration),
        "parameters": each("parameter", assignment),
        "requires": each("require", constraint),
        "lets": each("let", assignment),
        "choose": each("choose", declaration),
        "sense": sense,
        "objective": expression(sense),
        "constraints": named,
        "steps": each("steps", step),
        "starts": each("start", start),
        "repair": each("repair", assignment),
        "value": expression("value"),
        "meaning": _meaning(source, sections),
        "adoption": _adoption(sections["from strategy"]) if "from strategy" in sections else None,
        "certificate": _certificate(sections["certificate"]) if "certificate" in sections else None,
        "bound": word("bound"),
        "spans": tuple((name, section.span) for name, section in sections.items()),
    }


def _known(words: tuple[str, ...]) -> str:
    return f"known: {', '.join(words)}"


def _says(sections: Mapping[str, Section], name: str, words: str) -> bool:
    return name in sections and sections[name].single().text.split() == words.split()


def _adoption(section: Section) -> Adoption:
    if not section.statements or not is_declaration(section.statements[0]):
        hint = "write: from strategy A: matrix[p, n]"
        section.source.fail(section.span, "'from strategy' begins with the strategy's name", hint)
    if len(section.statements) == 1:
        hint = "for example X = A.T @ A, below it"
        section.source.fail(section.span, "'from strategy' says what the chosen variables are", hint)
    first, *rest = section.statements
    return Adoption(declaration(first), tuple(assignment(text) for text in rest))


def _meaning(source: Source, sections: Mapping[str, Section]) -> Meaning | None:
    if "strategy" in sections and "covariance" in sections:
        source.fail(sections["covariance"].span, "a solution is a strategy or a covariance, not both")
    if "strategy" in sections:
        text = sections["strategy"].single()
        left, right = split_at(text, "norm")
        if right is None or right.text not in ("1", "2"):
            text.fail("a strategy says its norm, 1 or 2", hint="write: factor(X) norm 2")
        return Meaning("strategy", parse_expr(left, FUNCTIONS), int(right.text))
    if "covariance" in sections:
        text = sections["covariance"].single()
        left, right = split_at(text, "on")
        if right is None:
            text.fail("a covariance says its basis", hint="write: Sigma on B")
        return Meaning("covariance", parse_expr(left, FUNCTIONS), 2, name_of(right))
    return None


def _certificate(section: Section) -> Certificate:
    found: list[Multiplier] = []
    for position, text in enumerate(section.statements):
        if is_declaration(text):
            found.extend(multipliers(text))
        elif position == len(section.statements) - 1:
            return Certificate(tuple(found), parse_expr(text, FUNCTIONS))
        else:
            text.fail("a certificate lists its multipliers, then one expression")
    section.source.fail(section.span, "a certificate ends with an expression, the bound")
