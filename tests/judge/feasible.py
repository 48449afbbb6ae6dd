"""Whether a point is feasible at τ, at sixty digits, by a definition written here anew.

A point is feasible at τ when every line holds after each of its terms is changed by at most the part τ: an
inequality may be missed by τ times the sum of the absolute terms, an equation in both directions, and to the
diagonal of a matrix line τ times that sum of each of its entries is added before it is psd. Every entry is
kept as a sum of terms by what they are of, so that like terms are joined as they are added.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb, arb_mat, ctx
from judge import balls
from judge.lines import Env, value

from mmopt.language.syntax.program import Program
from mmopt.language.syntax.syntax_tree import Apply, Block, Constraint, Expr, Index, Name, Number, Relation

LINEAR = ("add", "sub", "neg", "sum", "trace", "diag", "transpose", "mul", "div", "matmul")
NUMBER = ("",)


@dataclass(frozen=True)
class Terms:
    """A sum of amounts by what they are of: an entry of what is chosen, an atom, or a number."""

    of: Mapping[tuple[Any, ...], arb]

    def __add__(self, other: "Terms") -> "Terms":
        known = self.of.keys() | other.of.keys()
        return Terms({k: self.of.get(k, arb(0)) + other.of.get(k, arb(0)) for k in known})

    def __radd__(self, zero: int) -> "Terms":
        return self

    def __neg__(self) -> "Terms":
        return Terms({k: -v for k, v in self.of.items()})

    def __mul__(self, other: "Terms") -> "Terms":
        numbers, rest = (self, other) if self.of.keys() <= {NUMBER} else (other, self)
        by = numbers.of.get(NUMBER, arb(0))
        return Terms({k: v * by for k, v in rest.of.items()})

    @property
    def whole(self) -> arb:
        return sum(self.of.values(), arb(0))

    @property
    def size(self) -> arb:
        return sum(map(abs, self.of.values()), arb(0))


def _named(key: tuple[Any, ...], amounts: Any) -> Any:
    found = np.empty(np.shape(amounts), dtype=object)
    for at in np.ndindex(found.shape):
        found[at] = Terms({key if key == NUMBER else (*key, at): np.asarray(amounts, dtype=object)[at]})
    return found


def _is_chosen(expr: Expr, chosen: frozenset[str]) -> bool:
    match expr:
        case Name(id=name):
            return name in chosen
        case Apply(args=args):
            return any(_is_chosen(a, chosen) for a in args)
        case Index(base=base):
            return _is_chosen(base, chosen)
        case Block(rows=rows):
            return any(_is_chosen(e, chosen) for row in rows for e in row)
    return False


def _inverts(expr: Expr) -> bool:
    """Whether a factor of a product is an inverse."""
    match expr:
        case Apply(atom="matmul" | "diag" | "trace", args=args):
            return any(map(_inverts, args))
    return isinstance(expr, Apply) and expr.atom == "inv"


def terms(expr: Expr, env: Env, chosen: frozenset[str]) -> Any:
    """The entries of an expression as sums of terms."""
    if not _is_chosen(expr, chosen):
        return _named(NUMBER, value(expr, env))
    match expr:
        case Name(id=name):
            return _named((name,), value(expr, env))
        case Index(base=base, items=items):
            at = tuple(slice(None) if i is None else int(float(value(i, env))) for i in items)
            return np.asarray(terms(base, env, chosen), dtype=object)[at]
        case Block(rows=rows):
            shapes = [[np.atleast_2d(_laid(e, env)).shape for e in row] for row in rows]
            parts = [
                [np.reshape(terms(e, env, chosen), s) for e, s in zip(row, shape, strict=True)]
                for row, shape in zip(rows, shapes, strict=True)
            ]
            return np.block(parts)
        case Apply(atom=atom, args=args) if atom in LINEAR and not _inverts(expr):
            several = atom in ("mul", "matmul") and all(_is_chosen(a, chosen) for a in args)
            if not several and not (atom == "div" and _is_chosen(args[1], chosen)):
                return _combined(
                    atom, [np.asarray(terms(a, env, chosen), dtype=object) for a in args], expr, env
                )
    return _named((str(expr),), value(expr, env))


def _laid(expr: Expr, env: Env) -> Any:
    """The numbers of a part of a block, a vector as it lies there."""
    found = np.asarray(value(Block(((expr,),), expr.span), env), dtype=object)
    return np.zeros(found.shape)


def _combined(atom: str, args: list[Any], expr: Apply, env: Env) -> Any:
    match atom:
        case "add":
            return args[0] + args[1]
        case "sub":
            return args[0] + (-args[1])
        case "neg":
            return -args[0]
        case "mul":
            return args[0] * args[1]
        case "div":
            return args[0] * _named(NUMBER, 1 / np.asarray(value(expr.args[1], env), dtype=object))
        case "matmul":
            return args[0] @ args[1]
        case "sum":
            return np.sum(args[0], **dict(expr.options))
        case "transpose":
            return args[0].T
        case "trace":
            return np.trace(args[0])
    if args[0].ndim == 2:
        return np.diagonal(args[0])
    found = np.full((len(args[0]),) * 2, Terms({}), dtype=object)
    np.fill_diagonal(found, args[0])
    return found


def _has_sign(value: Any, sign: str) -> bool:
    return bool(np.all(value > 0 if sign == ">" else value >= 0))


def missed(program: Program, env: Env, sizes: Mapping[str, int], tau: float) -> list[str]:
    """The lines, and declared signs, that a point misses at τ; [] where it is feasible."""
    chosen = frozenset(d.name for d in program.choose)
    with ctx.workdps(balls.DIGITS[0]):
        found = [d.name for d in program.choose if d.sign and not _has_sign(np.asarray(env[d.name]), d.sign)]
        for c in program.constraints:
            count = 1 if c.family is None else c.family.dim.value(sizes)
            each = (env if c.family is None else {**env, c.family.index: float(i)} for i in range(count))
            found += [c.name for inner in each if not all(_holds(c, inner, chosen, arb(tau)))]
    return found


def _holds(c: Constraint, env: Env, chosen: frozenset[str], tau: arb) -> Iterator[bool]:
    r: Relation = c.relation
    large, small = (r.left, r.right) if r.op in (">=", ">>", "==") else (r.right, r.left)
    if r.op in (">>", "<<"):
        zero = Number(0.0, r.span)
        of = [e for e in (large, small) if e != zero]
        both = [np.asarray(terms(e, env, chosen), dtype=object) for e in of]
        whole = (-both[0] if large == zero else both[0]) if len(both) == 1 else both[0] + (-both[1])
        yield _is_psd(whole, tau)
        return
    difference = np.asarray(terms(large, env, chosen), dtype=object) + (
        -np.asarray(terms(small, env, chosen), dtype=object)
    )
    for entry in np.ravel(difference):
        off = abs(entry.whole) if r.op == "==" else -entry.whole
        yield bool(off <= tau * entry.size)


def _is_psd(whole: Any, tau: arb) -> bool:
    """A row of zeros is left out; else D F D + τ has to be definite, D the roots of one over the sizes."""
    sizes = [t.size for t in np.diagonal(whole)]
    kept = [i for i, size in enumerate(sizes) if size > 0]
    entries = [[t.whole for t in row] for row in whole]
    if any(x != 0 for i, row in enumerate(entries) if i not in kept for x in row):
        return False
    if not kept:
        return True
    by = [1 / balls.root(sizes[i]) for i in kept]
    scaled = [[entries[i][j] * by[a] * by[b] for b, j in enumerate(kept)] for a, i in enumerate(kept)]
    for i, row in enumerate(scaled):
        row[i] += tau
    return balls.is_positive_definite(arb_mat(scaled))
