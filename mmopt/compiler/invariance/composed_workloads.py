"""How a program behaves on a workload put together of others: of blocks, or as a Kronecker product.

*Blocks* (no query touches cells of two of them): every array is block diagonal, and a number that is made of
it is the sum over the blocks (a trace) or the largest (a maximum, a variable that bounds a family of
lines). *Kronecker product* of workloads: every array is the Kronecker product of those of the factors, and a
number their product. Which of it holds follows from the same words of the table of atoms as in
``under_actions.py``. A number of the program's own (``<= 2``, a parameter of 3) would be there once for every
factor: all such have to be one.

Both are theorems with one proof: feasible points of the parts make one of the whole, multipliers of the
parts make some of the whole, and their objective and bound are both the sum (or largest, or product) of the
parts'. If objective and bound agree in the parts, they agree in the whole.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass

from mmopt.compiler.invariance.workload_actions import SOURCE_AXES
from mmopt.language import Checked
from mmopt.language.atoms.argument_types import SCALAR
from mmopt.language.atoms.table_of_atoms import ATOMS
from mmopt.language.check.infer_types import Scope, infer
from mmopt.language.syntax.syntax_tree import (
    Apply,
    Block,
    Entries,
    Expr,
    Index,
    Name,
    Number,
    children,
    walk,
)

__all__ = ["LARGEST_PART", "SUM", "Composition", "of_blocks", "of_factors"]

SUM, LARGEST_PART = "sum", "largest"

# A function of each part alone: of zero it is zero, so that nothing appears between blocks.
_KEPT = frozenset({"linear", "product", "transpose", "diagonal", "inverse", "spectral", "factor", "identity"})
_NO_FACTORS = frozenset({"linear", "soft", "spectrum", ""})


@dataclass(frozen=True)
class Composition:
    """How the parts' numbers make the whole's (``SUM``, ``LARGEST_PART``, or "product"); "" and why not."""

    kind: str
    why_not: str = ""


class _NotSo(Exception):
    """An expression that does not go with the parts; the text says which."""


def _composition(checked: Checked, own: frozenset[str], reading: Generator[str, None, str]) -> Composition:
    """What a reading of the program comes to, which names each line before it looks at it."""
    if passed := _passed(checked, own):
        return Composition("", f"{passed} does not come from the workload")
    line = ""
    try:
        while True:
            line = next(reading)
    except StopIteration as end:
        return Composition(end.value)
    except _NotSo as found:
        return Composition("", f"{line}: {found}")


def _passed(checked: Checked, own: frozenset[str]) -> str:
    """The first array that does not come from the workload as a whole; "" when all do."""
    program = checked.program
    for d in program.givens:
        if d.dims and (d.name in own or d.source not in SOURCE_AXES):
            return f"the given '{d.name}'"
    for p in program.parameters:
        if p.name in own and (p.name not in checked.types or checked.types[p.name].dims):
            return f"the parameter '{p.name}'"
    return ""


# -- blocks ----------------------------------------------------------------------------------------------


@dataclass
class _Blocks:
    """Says of a number how it is made of the parts': "sum", "largest", "shared", or "each" (the same for all,
    or one per entry). Arrays are "each" when they are block diagonal, vectors whatever they hold."""

    scope: Scope
    shared: frozenset[str]

    def visit(self, expr: Expr) -> str:
        match expr:
            case Number():
                return "each"
            case Name(id=name):
                if name in self.shared:
                    return "shared"
                if name in self.scope.dims:
                    raise _NotSo(f"the count '{name}'")
                return "each"
            case Index(base=base):
                return self.visit(base)
            case Block():
                if {self.visit(child) for child in children(expr)} - {"each", "shared"}:
                    raise _NotSo("a block matrix with a number made of all parts")
                return "each"
            case Entries():
                raise _NotSo("entries taken one by one")
            case Apply():
                return self._apply(expr)

    def _apply(self, expr: Apply) -> str:
        word, over = ATOMS[expr.atom].equivariance, dict(expr.options).get("axis")
        if word in ("identity", "ones"):
            return "each"
        known = infer(expr, self.scope)
        kinds = [self.visit(a) for a in expr.args]
        if word in _KEPT - {"product"} or word == "entrywise" or (word == "product" and not known.is_scalar):
            return self._kept(expr, kinds)
        if word == "extreme":
            argument, made = infer(expr.args[0], self.scope), LARGEST_PART
            if expr.atom == "min" or ((over is not None or argument.is_matrix) and argument.sign <= 0):
                raise _NotSo(f"'{expr.atom}' of what is zero between the blocks")
        elif word in ("sum", "trace", "norm", "product"):
            # A product about one query or cell of a family lies within one part.
            indices = self.scope.indices or {}
            made = "each" if any(isinstance(e, Name) and e.id in indices for e in walk(expr)) else SUM
        else:
            raise _NotSo(f"'{expr.atom}'")
        if set(kinds) - {"each"}:
            raise _NotSo(f"'{expr.atom}' of an array made of all parts")
        return made if over is None else "each"

    def _kept(self, expr: Apply, kinds: list[str]) -> str:
        args, atom = [infer(a, self.scope) for a in expr.args], ATOMS[expr.atom]
        matrices = [t for t in args if t.is_matrix]
        if matrices and atom.equivariance != "product":
            spoiled = atom.unitless or (atom.alike and len(matrices) < len(args))
            spoiled |= expr.atom == "div" and args[1].is_matrix
            spoiled |= expr.atom == "pow" and not infer(expr.args[1], self.scope).sign > 0
            if spoiled:
                raise _NotSo(f"'{expr.atom}' of what is zero between the blocks")
        other = set(kinds) - {"each"}
        if not other:
            return "each"
        if len(other) > 1:
            raise _NotSo(f"'{expr.atom}' of numbers that are made of the parts in different ways")
        kind = other.pop()
        same = len(set(kinds)) == 1
        if expr.atom == "add" and (same or kind != SUM):
            return kind
        if expr.atom in ("mul", "div") and not same:
            at = kinds.index(kind)  # the other is a factor that is the same for all parts
            factor = args[1 - at]
            is_number = factor.is_scalar and factor.is_constant and (kind == SUM or factor.sign > 0)
            if is_number and (expr.atom == "mul" or at == 0):
                return kind
        raise _NotSo(f"'{expr.atom}' of a number made of all parts")


def of_blocks(checked: Checked, own: frozenset[str] = frozenset()) -> Composition:
    """How the objective of a workload of independent blocks is made of theirs."""
    return _composition(checked, own, _read_blocks(checked))


def _read_blocks(checked: Checked) -> Generator[str, None, str]:
    program = checked.program
    shared = frozenset(d.name for d in program.choose if not d.dims)
    visitor = _Blocks(checked.scope, shared)
    for let in program.lets:
        yield let.name
        if visitor.visit(let.expr) != "each":
            raise _NotSo("a number made of all parts")
    yield "the objective"
    kind = visitor.visit(program.objective)
    if kind == "each":
        raise _NotSo("a number that is not made of the parts")
    # One number that bounds lines of all parts, and nothing else, is as large as the largest asks.
    if shared and not (len(shared) == 1 and isinstance(program.objective, Name)):
        raise _NotSo("numbers are chosen for all parts together")
    for c in program.constraints:
        yield f"constraint '{c.name}'"
        visitor.scope = checked.scope.inside(c.family)
        sides = [visitor.visit(c.relation.left), visitor.visit(c.relation.right)]
        if SUM in sides:
            raise _NotSo("a limit on all parts together")
        larger = sides[1] if c.relation.op in ("<=", "<<") else sides[0]
        is_bound = larger == "shared" and c.relation.op != "==" and sides.count("shared") == 1
        if "shared" in sides and not is_bound:
            raise _NotSo("the chosen number does not only bound")
    return LARGEST_PART if kind in ("shared", LARGEST_PART) else SUM


# -- Kronecker products ----------------------------------------------------------------------------------


def _factors(expr: Expr, scope: Scope, others: frozenset[str]) -> None:
    """Refuse an expression whose value for a product is not the product of those for the factors."""
    if isinstance(expr, Block | Entries):
        raise _NotSo("a block matrix" if isinstance(expr, Block) else "entries taken one by one")
    if isinstance(expr, Number) and expr.value not in (0.0, 1.0):
        raise _NotSo(f"the number {expr.value:g}")
    if isinstance(expr, Name) and expr.id in others:
        raise _NotSo(f"the number '{expr.id}'")
    inner = children(expr)
    if isinstance(expr, Apply):
        atom = ATOMS[expr.atom]
        if atom.unitless or atom.equivariance in _NO_FACTORS:
            raise _NotSo(f"'{expr.atom}'")
        if atom.equivariance == "extreme" and not infer(expr.args[0], scope).sign > 0:
            raise _NotSo(f"'{expr.atom}' of what may be negative")
        if expr.atom == "pow":
            inner = inner[:1]  # the exponent is the same number in every factor
        elif atom.takes_dim:
            inner = ()
    for child in inner:
        _factors(child, scope, others)


def of_factors(
    checked: Checked, own: frozenset[str] = frozenset(), numbers: Mapping[str, float] | None = None
) -> Composition:
    """Whether the objective of a Kronecker product is the product of those of the factors.

    ``numbers``: the parameters that are numbers; one that is missing may have any value.
    """
    ones = {name for name, number in (numbers or {}).items() if number == 1.0}
    return _composition(checked, own, _read_factors(checked, ones))


def _read_factors(checked: Checked, ones: set[str]) -> Generator[str, None, str]:
    program, types = checked.program, checked.types
    arrays = {p.name for p in program.parameters if p.name in types and types[p.name].dims}
    others = frozenset(p.name for p in program.parameters) - arrays - ones
    counted = {name for d in program.choose for dim in d.dims for name in dim.symbols}
    yield "what is chosen"
    if sized := sorted(others & counted):
        raise _NotSo(f"the count '{sized[0]}'")
    for computed in (*(p for p in program.parameters if p.name in arrays), *program.lets):
        yield computed.name
        _factors(computed.expr, checked.scope, others)
    yield "the objective"
    _factors(program.objective, checked.scope, others)
    for c in program.constraints:
        yield f"constraint '{c.name}'"
        scope, r = checked.scope.inside(c.family), c.relation
        if r.op not in ("<=", ">=", "=="):
            raise _NotSo("a matrix inequality")
        small, large = (r.right, r.left) if r.op == ">=" else (r.left, r.right)
        for side in (small, large):
            _factors(side, scope, others)
        # 0 <= a <= b and 0 <= c <= d give a c <= b d.
        if r.op != "==" and not infer(small, scope).sign > 0:
            raise _NotSo("a side that may be negative")
    if program.certificate is not None:
        yield "the certificate"
        _factors(program.certificate.expr, checked.scope, others)
    if program.value is not None:
        yield "the value"
        of_value = checked.scope.with_types(objective=checked.objective or SCALAR)
        _factors(program.value, of_value, others)
    return "product"
