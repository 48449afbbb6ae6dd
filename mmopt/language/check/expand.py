"""``let`` of what is chosen: written once in the file, put into every line that uses it.

A name such as ``Z = [[eye(p), A], [A.T, X]]`` is a way of writing, not a variable: the compiler, the
evaluator and the checks see the lines with its expression in its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from mmopt.language.syntax.expression import MAX_NESTING
from mmopt.language.syntax.program import Program
from mmopt.language.syntax.tree import (
    Assignment,
    Certificate,
    Constraint,
    Expr,
    Name,
    children,
    names_in,
    rewrite,
)

__all__ = ["MAX_NODES", "expand", "split_lets"]

MAX_NODES = 20_000  # of one expression, when everything is put in


def split_lets(program: Program) -> tuple[tuple[Assignment, ...], tuple[Assignment, ...]]:
    """The lets of what is given, and those that use what is chosen (directly or through another)."""
    chosen = {d.name for d in program.choose}
    given, derived = [], []
    for let in program.lets:
        if names_in(let.expr) & chosen:
            chosen.add(let.name)
            derived.append(let)
        else:
            given.append(let)
    return tuple(given), tuple(derived)


def expand(program: Program) -> Program:
    """The program without lets of what is chosen.

    Raises :class:`~mmopt.errors.ProgramError` when an expression grows too large.
    """
    given, derived = split_lets(program)
    if not derived:
        return program
    meant: dict[str, Expr] = {}
    sizes: dict[str, tuple[int, int]] = {}

    def put(e: Expr) -> Expr:
        _measured(e, sizes, program)
        return _put(e, meant)

    for let in derived:
        meant[let.name], sizes[let.name] = put(let.expr), _measured(let.expr, sizes, program)

    def line(c: Constraint) -> Constraint:
        r = c.relation
        return replace(c, relation=replace(r, left=put(r.left), right=put(r.right)))

    def value(a: Assignment) -> Assignment:
        return replace(a, expr=put(a.expr))

    certificate, meaning, adoption = program.certificate, program.meaning, program.adoption
    return replace(
        program,
        lets=given,
        objective=None if program.objective is None else put(program.objective),
        constraints=tuple(map(line, program.constraints)),
        repair=tuple(map(value, program.repair)),
        value=None if program.value is None else put(program.value),
        meaning=None if meaning is None else replace(meaning, expr=put(meaning.expr)),
        adoption=None if adoption is None else replace(adoption, values=tuple(map(value, adoption.values))),
        certificate=None if certificate is None else _starts(certificate, meant),
    )


def _measured(expr: Expr, known: Mapping[str, tuple[int, int]], program: Program) -> tuple[int, int]:
    """How many operations an expression has, and how many inside each other, when every 'let' is put in.

    Names of lets have those of ``known``; nothing is put in for it.
    """
    if isinstance(expr, Name):
        return known.get(expr.id, (1, 1))
    inside = [_measured(child, known, program) for child in children(expr)]
    nodes, depth = 1 + sum(n for n, _ in inside), 1 + max((d for _, d in inside), default=0)
    for found, limit, words in ((nodes, MAX_NODES, ""), (depth, MAX_NESTING, " inside each other")):
        if found > limit:
            message = f"more than {limit} operations{words} when every 'let' is put in"
            hint = "choose a variable and state the equality as a constraint"
            program.source.fail(expr.span, message, hint)
    return nodes, depth


def _put(expr: Expr, meant: Mapping[str, Expr]) -> Expr:
    return rewrite(expr, lambda e: meant.get(e.id) if isinstance(e, Name) else None)


def _starts(certificate: Certificate, meant: Mapping[str, Expr]) -> Certificate:
    """Multipliers may start from the point; the bound itself uses what is given only."""
    return replace(
        certificate,
        multipliers=tuple(
            replace(m, start=_put(m.start, meant)) if m.start is not None else m
            for m in certificate.multipliers
        ),
    )
