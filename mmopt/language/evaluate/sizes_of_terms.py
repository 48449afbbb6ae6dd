"""The size of what a line is made of: for each entry the sum of the absolute values of its terms.

An entry is a sum of numbers, of chosen entries times numbers, and of atoms of these; an atom is one term, as
is a product of what is chosen, or around an inverse. The sizes are an expression of the language, evaluated
as any other is. Where like terms may cancel (a name stands twice, or sums are summed) they are joined: what
multiplies a term is then a derivative.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from mmopt.language.evaluate.differentiate import Tape
from mmopt.language.evaluate.evaluator import Env, Memo, evaluate
from mmopt.language.syntax.syntax_tree import (
    Apply,
    Block,
    Entries,
    Expr,
    Index,
    Name,
    Number,
    chain,
    children,
    names_in,
    rewrite,
)
from mmopt.numerics.arrays import Array

__all__ = ["applied", "has_atoms", "sizes_of_terms", "sum_of_joined"]

PRODUCTS = frozenset({"mul", "matmul", "div"})
SUMS = frozenset({"sum", "trace", "matmul"})
THROUGH = SUMS | PRODUCTS | {"add", "sub", "neg", "transpose", "diag", "toeplitz"}


def sizes_of_terms(
    expr: Expr, env: Env, chosen: frozenset[str], at: Array, memo: Memo | None = None
) -> Array:
    """The sizes of entries of dense numbers, where ``at`` is not 0; ``chosen`` names what is not given."""
    leaves = list(_leaves(expr, chosen))
    known = dict.fromkeys(leaves)
    if len(known) == len(leaves) and _sums(expr, chosen) < 2:
        rest = rewrite(expr, lambda e: applied("mul", Number(0.0, e.span), e) if e in known else None)
        sizes = evaluate(_absolute(expr, chosen), env, memo) + np.abs(evaluate(rest, env, memo))
        return np.broadcast_to(sizes, np.shape(at))
    found = np.zeros(np.shape(at))
    for entry, terms in _joined(expr, env, known, at, memo):
        found[entry] = sum(float(np.abs(term).sum()) for term in terms)
    return found


def sum_of_joined(
    expr: Expr, env: Env, chosen: frozenset[str], at: Array, memo: Memo | None = None
) -> Array | None:
    """The values of entries where ``at`` is not 0, like terms joined; None where no term stands twice."""
    leaves = list(_leaves(expr, chosen))
    known = dict.fromkeys(leaves)
    if len(known) == len(leaves):
        return None
    found = np.zeros(np.shape(at))
    for entry, terms in _joined(expr, env, known, at, memo):
        found[entry] = sum(float(term.sum()) for term in terms)
    return found


def _joined(
    expr: Expr, env: Env, leaves: Mapping[Expr, None], at: Array, memo: Memo | None
) -> Iterator[tuple[tuple[int, ...], list[Array]]]:
    """For each entry where ``at`` is not 0: what is added, and each of the terms times what multiplies it."""
    names = {leaf: Name(f"term {number}", leaf.span) for number, leaf in enumerate(leaves)}
    values = {name.id: np.asarray(evaluate(leaf, env, memo), dtype=float) for leaf, name in names.items()}
    tape = Tape(rewrite(expr, names.get), {**env, **values}, list(values))
    rest, (_, pull) = tape.run({n: np.zeros(v.shape) for n, v in values.items()})[0], tape.run(values)
    rest = np.broadcast_to(rest, np.shape(at))
    for entry in map(tuple, np.argwhere(at)):
        bar = np.zeros(rest.shape)
        bar[entry if rest.shape else ()] = 1.0
        with np.errstate(over="ignore", invalid="ignore"):
            yield entry, [rest[entry], *(d * values[n] for n, d in pull(bar).items())]


def has_atoms(expr: Expr, chosen: frozenset[str]) -> bool:
    """Whether a term is an atom, or a product of what is chosen: its arguments are rounded first."""
    return any(isinstance(leaf, Apply) for leaf in _leaves(expr, chosen))


def applied(atom: str, *args: Expr) -> Expr:
    """What the atom does to expressions, as an expression."""
    return Apply(atom, args, args[0].span)


def _is_term(e: Expr, chosen: frozenset[str]) -> bool:
    """Whether something chosen is one term: a name, an atom, a product of several, or around an inverse."""
    match e:
        case Apply(atom="mul" | "div" as atom, args=(a, b)):
            return bool(names_in(b) & chosen) and (atom == "div" or bool(names_in(a) & chosen))
        case Apply(atom=atom, args=args) if atom in THROUGH:
            factors = chain(args[0] if atom in ("diag", "trace") else e)
            own = [f for f in factors if names_in(f) & chosen]
            is_inverse = isinstance(own[0], Apply) and own[0].atom == "inv"
            return len(factors) > 1 and (is_inverse or len(own) > 1)
        case Entries(body=body):
            return not all(isinstance(leaf, Name) for leaf in _leaves(body, chosen))
    return not isinstance(e, Index | Block)


def _leaves(e: Expr, chosen: frozenset[str]) -> Iterator[Expr]:
    """The terms, but for what they are multiplied by."""
    if not names_in(e) & chosen:
        return
    if _is_term(e, chosen):
        yield e
        return
    for child in children(e):
        yield from _leaves(child, chosen)


def _sums(e: Expr, chosen: frozenset[str]) -> int:
    """How often what is summed is summed again, on the way to a term; ``A @ X @ B`` is one sum."""
    if not names_in(e) & chosen or _is_term(e, chosen):
        return 0
    factors = chain(e) if isinstance(e, Apply) and e.atom == "matmul" else children(e)
    return int(isinstance(e, Apply) and e.atom in SUMS) + max(_sums(f, chosen) for f in factors)


def _absolute(expr: Expr, chosen: frozenset[str]) -> Expr:
    """The sum of the sizes of the terms, numbers that are added left out."""

    def change(e: Expr) -> Expr | None:
        if not names_in(e) & chosen:
            return applied("mul", Number(0.0, e.span), e)
        if _is_term(e, chosen):
            return applied("abs", e)
        match e:
            case Apply(atom="neg" | "sub" as atom, args=args):
                inner = [rewrite(a, change) for a in args]
                return inner[0] if atom == "neg" else applied("add", *inner)
            case Apply(atom=atom, args=args) if atom in PRODUCTS:
                by = [rewrite(a, change) if names_in(a) & chosen else applied("abs", a) for a in args]
                return applied(atom, *by)
            case Index(base=base):
                return replace(e, base=rewrite(base, change))
            case Entries(body=body):
                return replace(e, body=rewrite(body, change))
        return None

    return rewrite(expr, change)
