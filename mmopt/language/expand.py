"""``let`` of what is chosen: written once in the file, put into every line that uses it.

A name such as ``Z = [[eye(p), A], [A.T, X]]`` is a way of writing, not a variable: the compiler, the
evaluator and the checks see the lines with its expression in its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from mmopt.language.program import Program
from mmopt.language.tree import (
    Assignment,
    Certificate,
    Constraint,
    Expr,
    Name,
    names_in,
    rewrite,
    walk,
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
    for let in derived:
        expr = _put(let.expr, meant)
        if sum(1 for _ in walk(expr)) > MAX_NODES:
            message = f"'{let.name}' has more than {MAX_NODES} operations when every 'let' is put in"
            program.source.fail(let.span, message, "choose a variable and state the equality as a constraint")
        meant[let.name] = expr

    def put(e: Expr) -> Expr:
        return _put(e, meant)

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
