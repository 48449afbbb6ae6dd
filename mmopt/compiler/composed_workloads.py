"""The objective of a program on a workload of independent blocks or factors, made of those of the parts.

*Blocks* (no query touches cells of two of them): every array is block diagonal, and a number that is made of
it is the sum over the blocks (a trace) or the largest (a maximum, a variable that bounds a family of lines).
*Kronecker product* of workloads: every array is the Kronecker product of those of the factors, and a number
their product. Which of these holds follows from the same words of the table of atoms as in
``actions_on_expressions.py``. A number in the program itself (``<= 2``, a parameter of 3) would count once
for every factor: all such have to be one.

Both are theorems with one proof: feasible points of the parts make one of the whole, multipliers of the
parts make some of the whole, and their objective and bound are both the sum (or largest, or product) of the
parts'. If objective and bound agree in the parts, they agree in the whole.
"""

from collections.abc import Generator, Mapping
from dataclasses import dataclass

from mmopt.compiler.actions_on_expressions import SOURCE_AXES
from mmopt.language import ATOMS, Checked
from mmopt.language.atoms.expression_types import SCALAR
from mmopt.language.check.infer_types import Scope, infer
from mmopt.language.syntax.syntax_tree import Apply, Block, Entries, Expr, Index, Name, Number, children, walk

SUM, LARGEST_PART = "sum", "largest"

# Words of atoms that act on each part alone; where zero becomes zero nothing appears between blocks.
_PART_BY_PART = frozenset(
    {"linear", "entrywise", "product", "transpose", "diagonal", "inverse", "spectral", "factor", "identity"}
)
# Words of atoms whose value for a Kronecker product is not the product of those for the factors.
_NO_PRODUCT = frozenset({"linear", "soft", "spectrum", ""})


@dataclass(frozen=True)
class Composition:
    """How the parts' numbers make the whole's (``SUM``, ``LARGEST_PART``, or "product"); "" and why not."""

    kind: str
    why_not: str = ""


class _NotComposed(Exception):
    """An expression whose value is not made of those of the parts; the text says which."""


def _require(holds: object, why: str) -> None:
    """Raise ``_NotComposed`` with this text unless it holds."""
    if not holds:
        raise _NotComposed(why)


def _composition(checked: Checked, passed: frozenset[str], reading: Generator[str, None, str]) -> Composition:
    """The result of a reading of the program, a generator that yields the name of each line before it reads
    the line, and returns how the objective is made."""
    if array := _array_from_outside(checked, passed):
        return Composition("", f"{array} does not come from the workload")
    line = ""
    try:
        while True:
            line = next(reading)
    except StopIteration as end:
        return Composition(end.value)
    except _NotComposed as reason:
        return Composition("", f"{line}: {reason}")


def _array_from_outside(checked: Checked, passed: frozenset[str]) -> str:
    """The first array that does not come from the workload as a whole; "" when all do."""
    types, program = checked.types, checked.program
    given = [d.name for d in program.givens if d.dims and (d.name in passed or d.source not in SOURCE_AXES)]
    arrays = [p.name for p in program.parameters if p.name not in types or types[p.name].dims]
    named = [f"the given '{n}'" for n in given] + [f"the parameter '{n}'" for n in arrays if n in passed]
    return next(iter(named), "")


@dataclass
class _BlockVisitor:
    """The visitor that tells how an expression is made of its values for the blocks.

    ``visit`` returns "sum", "largest", "shared" (one number, chosen for all blocks), or "each" (the same for
    all, or one per entry). Matrices are "each" when they are block diagonal, vectors always.

    shared : the numbers that are chosen.
    """

    scope: Scope
    shared: frozenset[str]

    def visit(self, expr: Expr) -> str:
        """How the value is made of the blocks'; ``_NotComposed`` where it is not."""
        match expr:
            case Name(id=name) if name in self.shared:
                return "shared"
            case Name(id=name) if name in self.scope.dims:
                raise _NotComposed(f"the count '{name}'")
            case Number() | Name():
                return "each"
            case Index(base=base):
                return self.visit(base)
            case Block():
                _require(
                    not {self.visit(child) for child in children(expr)} - {"each", "shared"},
                    "a block matrix with a number made of all parts",
                )
                return "each"
            case Entries():
                raise _NotComposed("entries taken one by one")
            case Apply():
                return self._apply(expr)

    def _apply(self, expr: Apply) -> str:
        """The kind of an atom's value, by its word ``equivariance`` and the kinds of its arguments."""
        word, over = ATOMS[expr.atom].equivariance, dict(expr.options).get("axis")
        if word in ("identity", "ones"):
            return "each"
        inferred = infer(expr, self.scope)
        kinds = [self.visit(a) for a in expr.args]
        if word in _PART_BY_PART and not (word == "product" and inferred.is_scalar):
            return self._part_by_part(expr, kinds)
        if word == "extreme":
            argument, whole = infer(expr.args[0], self.scope), LARGEST_PART
            _require(
                expr.atom != "min" and ((over is None and not argument.is_matrix) or argument.sign > 0),
                f"'{expr.atom}' of what is zero between the blocks",
            )
        elif word in ("sum", "trace", "norm", "product"):
            # A product about one query or cell of a family lies within one part.
            indices = self.scope.indices or {}
            whole = "each" if any(isinstance(e, Name) and e.id in indices for e in walk(expr)) else SUM
        else:
            raise _NotComposed(f"'{expr.atom}'")
        _require(not set(kinds) - {"each"}, f"'{expr.atom}' of an array made of all parts")
        return whole if over is None else "each"

    def _part_by_part(self, expr: Apply, kinds: list[str]) -> str:
        """The kind of an atom that acts on each part alone, from those of its arguments."""
        args, atom = [infer(a, self.scope) for a in expr.args], ATOMS[expr.atom]
        matrices = [t for t in args if t.is_matrix]
        if matrices and atom.equivariance != "product":
            spoiled = atom.unitless or (atom.alike and len(matrices) < len(args))
            spoiled |= expr.atom == "div" and args[1].is_matrix
            spoiled |= expr.atom == "pow" and not infer(expr.args[1], self.scope).sign > 0
            _require(not spoiled, f"'{expr.atom}' of what is zero between the blocks")
        other = set(kinds) - {"each"}
        _require(len(other) <= 1, f"'{expr.atom}' of numbers that are made of the parts in different ways")
        kind, same = min(other, default="each"), len(set(kinds)) == 1
        if kind == "each":
            return kind
        if expr.atom == "add" and (same or kind != SUM):
            return kind
        if expr.atom in ("mul", "div") and not same:
            at = kinds.index(kind)  # the other is a factor that is the same for all parts
            factor = args[1 - at]
            is_number = factor.is_scalar and factor.is_constant and (kind == SUM or factor.sign > 0)
            if is_number and (expr.atom == "mul" or at == 0):
                return kind
        raise _NotComposed(f"'{expr.atom}' of a number made of all parts")


def of_blocks(checked: Checked, passed: frozenset[str] = frozenset()) -> Composition:
    """How the objective of a workload of independent blocks is made of theirs."""
    return _composition(checked, passed, _read_blocks(checked))


def _read_blocks(checked: Checked) -> Generator[str, None, str]:
    """The reading of ``of_blocks``: see ``_composition``."""
    program = checked.program
    shared = frozenset(d.name for d in program.choose if not d.dims)
    visitor = _BlockVisitor(checked.scope, shared)
    for let in program.lets:
        yield let.name
        _require(visitor.visit(let.expr) == "each", "a number made of all parts")
    yield "the objective"
    kind = visitor.visit(program.objective)
    _require(kind != "each", "a number that is not made of the parts")
    # One number that bounds lines of all parts, and nothing else, is as large as the largest asks.
    if shared and not (len(shared) == 1 and isinstance(program.objective, Name)):
        raise _NotComposed("numbers are chosen for all parts together")
    for c in program.constraints:
        yield f"constraint '{c.name}'"
        visitor.scope = checked.scope.inside(c.family)
        sides = [visitor.visit(c.relation.left), visitor.visit(c.relation.right)]
        _require(SUM not in sides, "a limit on all parts together")
        larger = sides[1] if c.relation.op in ("<=", "<<") else sides[0]
        is_bound = larger == "shared" and c.relation.op != "==" and sides.count("shared") == 1
        _require("shared" not in sides or is_bound, "the chosen number does not only bound")
    return LARGEST_PART if kind in ("shared", LARGEST_PART) else SUM


def _require_product(expr: Expr, scope: Scope, others: frozenset[str]) -> None:
    """Refuse an expression whose value for a product is not the product of those for the factors.

    others : parameters that are numbers, but not known to be 1.
    """
    if isinstance(expr, Block | Entries):
        raise _NotComposed("a block matrix" if isinstance(expr, Block) else "entries taken one by one")
    if isinstance(expr, Number) and expr.value not in (0.0, 1.0):
        raise _NotComposed(f"the number {expr.value:g}")
    if isinstance(expr, Name) and expr.id in others:
        raise _NotComposed(f"the number '{expr.id}'")
    inner = children(expr)
    if isinstance(expr, Apply):
        atom = ATOMS[expr.atom]
        _require(not atom.unitless and atom.equivariance not in _NO_PRODUCT, f"'{expr.atom}'")
        _require(
            atom.equivariance != "extreme" or infer(expr.args[0], scope).sign > 0,
            f"'{expr.atom}' of what may be negative",
        )
        if expr.atom == "pow":
            inner = inner[:1]  # the exponent is the same number in every factor
        elif atom.takes_dim:
            inner = ()
    for child in inner:
        _require_product(child, scope, others)


def of_factors(
    checked: Checked, passed: frozenset[str] = frozenset(), numbers: Mapping[str, float] | None = None
) -> Composition:
    """Whether the objective of a Kronecker product is the product of those of the factors.

    ``numbers``: the parameters that are numbers; one that is missing may have any value.
    """
    ones = {name for name, number in (numbers or {}).items() if number == 1.0}
    return _composition(checked, passed, _read_factors(checked, ones))


def _read_factors(checked: Checked, ones: set[str]) -> Generator[str, None, str]:
    """The reading of ``of_factors``: see ``_composition``. ``ones``: parameters that are 1."""
    program, types = checked.program, checked.types
    arrays = {p.name for p in program.parameters if p.name in types and types[p.name].dims}
    others = frozenset(p.name for p in program.parameters) - arrays - ones
    counted = {name for d in program.choose for dim in d.dims for name in dim.symbols}
    yield "what is chosen"
    if sized := sorted(others & counted):
        raise _NotComposed(f"the count '{sized[0]}'")
    for computed in (*(p for p in program.parameters if p.name in arrays), *program.lets):
        yield computed.name
        _require_product(computed.expr, checked.scope, others)
    yield "the objective"
    _require_product(program.objective, checked.scope, others)
    for c in program.constraints:
        yield f"constraint '{c.name}'"
        scope, r = checked.scope.inside(c.family), c.relation
        _require(r.op in ("<=", ">=", "=="), "a matrix inequality")
        small, large = (r.right, r.left) if r.op == ">=" else (r.left, r.right)
        for side in (small, large):
            _require_product(side, scope, others)
        # 0 <= a <= b and 0 <= c <= d give a c <= b d.
        _require(r.op == "==" or infer(small, scope).sign > 0, "a side that may be negative")
    if program.certificate is not None:
        yield "the certificate"
        _require_product(program.certificate.expr, checked.scope, others)
    if program.value is not None:
        yield "the value"
        _require_product(
            program.value, checked.scope.with_types(objective=checked.objective or SCALAR), others
        )
    return "product"
