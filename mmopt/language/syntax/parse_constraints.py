"""Constraints with a clause that says for which indices they hold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from mmopt.language.atoms.argument_types import Dim
from mmopt.language.syntax.parse_expression import COMPARED, parse_expr
from mmopt.language.syntax.parse_statements import constraint, dimension, listed, name_of, split_at
from mmopt.language.syntax.source_text import Source, Text
from mmopt.language.syntax.syntax_tree import (
    Apply,
    Constraint,
    Declaration,
    Entries,
    Expr,
    Family,
    Index,
    Name,
    Relation,
    walk,
)

__all__ = ["family_constraint", "with_dimensions"]

CONDITIONS = tuple(COMPARED.values())
UNSAID = "?"  # begins the dimension of an index of which the clause does not say over what it runs


def family_constraint(text: Text) -> Constraint:
    """``name: left op right for j in m``, for one index or several, perhaps with a condition."""
    head, clause = split_at(text, "for")
    assert clause is not None  # else it is no family
    found = constraint(head)
    families, where = clause_of(clause, found.relation)
    if len(families) == 1 and not where:
        return replace(found, family=families[0])
    relation = found.relation
    left, right = (Entries(side, families, where, clause.place) for side in (relation.left, relation.right))
    return replace(found, relation=replace(relation, left=left, right=right))


def clause_of(clause: Text, relation: Relation) -> tuple[tuple[Family, ...], tuple[Relation, ...]]:
    """``j in m``, ``i in n, j in m`` (or ``i in n for j in m``), ``i, j in n if |i - j| >= b``.

    Or the condition alone: then the indices are the names by which the relation takes entries, over what is
    declared of these.
    """
    runs, condition = split_at(clause, "if")
    if condition is None and "in" not in [t.text for t in clause.outer]:
        if not any(t.text in CONDITIONS for t in clause.outer):
            clause.fail("a family of constraints says over what it runs", "write: for j in m")
        runs, condition = clause.cut(clause.start, clause.start), clause
    families: list[Family] = []
    waiting: list[Text] = []
    for part in _ranges(runs):
        index, dim = split_at(part, "in")
        waiting.append(index)
        if dim is None:
            continue
        if "(" in dim.text:
            numbers = re.fullmatch(r"range\(([^(),]+)\)", dim.text)
            run = f"{index.text} in {numbers[1]}" if numbers else "j in m"
            dim.fail("a family runs over a dimension", f"write: for {run}")
        families += [Family(name_of(each), dimension(dim), each.place) for each in waiting]
        waiting = []
    if waiting:
        waiting[0].fail("a family of constraints says over what it runs", "write: for j in m")
    if condition is not None and not families:
        families = [
            Family(item.id, Dim.of(UNSAID + item.id), clause.place)
            for item in dict.fromkeys(
                item
                for side in (relation.left, relation.right)
                for node in walk(side)
                if isinstance(node, Index)
                for item in node.items
                if isinstance(item, Name)
            )
        ]
    if len(families) == 1 and condition is None:
        families = [replace(families[0], span=clause.place)]
    return tuple(families), () if condition is None else (_condition(condition),)


def _ranges(runs: Text) -> Iterator[Text]:
    """What stands between commas, and after a further ``for``."""
    for part in listed(runs):
        rest: Text | None = part
        while rest is not None:
            one, rest = split_at(rest, "for")
            if not one.text:  # no name, which is said of the whole
                yield part
                break
            yield one


def _condition(text: Text) -> Relation:
    """``left < right``, where a side may be ``|i - j|``."""
    op = next((token for token in text.outer if token.text in CONDITIONS), None)
    if op is None:
        text.fail("a condition on indices is one relation", "for example: if |i - j| >= b")

    def side(part: Text) -> Expr:
        bars = [token for token in part.tokens if token.text == "|"]
        if len(bars) == 2 and part.text[0] == part.text[-1] == "|":
            return Apply("abs", (parse_expr(part.cut(bars[0].end, bars[1].start)),), part.place)
        return parse_expr(part)

    left, right = (side(text.cut(*ends)) for ends in ((text.start, op.start), (op.end, text.end)))
    return Relation(left, op.text, right, text.place)


def with_dimensions(c: Constraint, declared: Mapping[str, Declaration], source: Source) -> Constraint:
    """The constraint with the dimensions of which its clause does not say over what they run."""
    left, right = c.relation.left, c.relation.right
    if not (isinstance(left, Entries) and isinstance(right, Entries)):
        return c
    families = tuple(
        replace(f, dim=_run_of(f, left, right, declared, source)) if f.dim.name.startswith(UNSAID) else f
        for f in left.families
    )
    sides = replace(left, families=families), replace(right, families=families)
    return replace(c, relation=replace(c.relation, left=sides[0], right=sides[1]))


def _run_of(
    f: Family, left: Entries, right: Entries, declared: Mapping[str, Declaration], source: Source
) -> Dim:
    for side in (left.body, right.body):
        for node in walk(side):
            if isinstance(node, Index) and isinstance(node.base, Name) and node.base.id in declared:
                for item, dim in zip(node.items, declared[node.base.id].dims, strict=False):
                    if isinstance(item, Name) and item.id == f.index:
                        return dim
    source.fail(f.span, f"nothing says over what '{f.index}' runs", f"write: for {f.index} in n if …")
