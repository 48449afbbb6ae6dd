"""Actions on a workload that leave a program as it is.

They are decided by a program's tree, never by its name. Objective, constraints, certificate, repair
and the meaning of the solution are typed by the actions of ``actions_on_expressions.py``. If all of them go
with an action, then a feasible point and multipliers of the changed workload become those of the given one,
with the same objective and the same bound, and a solution of one is a solution of the other. Permutations and
rotations have to be kept by every line. Repeating, splitting and changing the basis need not be kept by the
repair and the meaning: a lifted point is repaired again, and it comes from a strategy (``from strategy``),
whatever the program's own variables are.

**Composed workloads.** The objective of a program on a workload of independent blocks or factors is made of
those of the parts.

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

import itertools
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, replace

from mmopt.compiler.actions_on_expressions import (
    CHANGE_BASIS,
    DROP_CELLS,
    LOST_BY_ATOM,
    LOST_BY_DEGREE,
    REPEAT_CELLS,
    SOURCE_AXES,
    SPLIT_QUERIES,
    Acted,
    ActionVisitor,
    Axis,
    close,
    is_number_zero,
)
from mmopt.language import (
    ATOMS,
    SCALAR,
    Apply,
    Block,
    Checked,
    Constraint,
    Entries,
    Expr,
    Index,
    Name,
    Number,
    Scope,
    children,
    infer,
    walk,
)
from mmopt.numerics.arrays import grouped

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
        if kind == "each" or (expr.atom == "add" and (same or kind != SUM)):
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
        raise _NotComposed("variables are shared by all parts")
    for c in program.constraints:
        yield f"constraint '{c.name}'"
        visitor.scope = checked.scope.inside(c.family)
        sides = [visitor.visit(c.relation.left), visitor.visit(c.relation.right)]
        _require(SUM not in sides, "a limit on all parts together")
        larger = sides[1] if c.relation.op in ("<=", "<<") else sides[0]
        is_bound = larger == "shared" and c.relation.op != "==" and sides.count("shared") == 1
        _require("shared" not in sides or is_bound, "the variable does more than bound")
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
            f"'{expr.atom}' of an expression that may be negative",
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
    yield "variables"
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


DEGREES = (0.0, 1.0, 0.5)  # that a variable may have along an axis
# Actions that are lost by degrees only: the repair and the meaning need not keep them.
DEGREES_ONLY = (REPEAT_CELLS, DROP_CELLS, SPLIT_QUERIES, CHANGE_BASIS)


@dataclass(frozen=True)
class Equivariance:
    """The actions under which a program is equivariant, and the axes of its multipliers.

    faults : for every action that changes the program, the line that is to blame and why.
    multipliers : the axes of the multipliers by constraint (``name[i, i]`` for a diagonal block).
    per_query : whether queries occur only in lines of their own, added up nowhere but in the certificate.
    """

    faults: Mapping[str, str]
    multipliers: Mapping[str, tuple[Axis, ...]]
    per_query: bool

    def allows(self, *actions: str) -> bool:
        """Whether all of these actions leave the program as it is."""
        return not self.why_not(*actions)

    def why_not(self, *actions: str) -> str:
        """The line that the first of the actions changes, in words; "" when none does."""
        return next((f"{self.faults[a]} ({a})" for a in actions if a in self.faults), "")


def equivariance(
    checked: Checked, passed: frozenset[str] = frozenset(), numbers: Mapping[str, float] | None = None
) -> Equivariance:
    """The actions that leave a program as it is, with those degrees of its variables that lose the fewest.

    Parameters
    ----------
    checked : the program.
    passed : givens and parameters that the caller passes; an array that comes from outside goes with no
        action.
    numbers : values of the parameters that are numbers, for exponents; a power whose exponent is not among
        them goes with no action.
    """
    readings = [_typed(checked, passed, numbers or {}, chosen) for chosen in _choices(checked)]
    return min(readings, key=lambda e: len(e.faults))


def _groups(checked: Checked, passed: frozenset[str]) -> dict[str, set[str]]:
    """The groups that act on a dimension, by its name."""
    groups = grouped(
        (name, axis.group)
        for d in checked.program.givens
        if d.name not in passed
        for dim, axis in zip(d.dims, SOURCE_AXES.get(d.source, ()), strict=False)
        for name in dim.symbols
    )
    return {name: set(each) for name, each in groups.items()}


def _choices(checked: Checked) -> Iterator[dict[str, tuple[float, ...]]]:
    """Every choice of degrees for the variables, one for each axis of each."""
    options = [
        [(degree,) * 2 for degree in DEGREES]
        if d.kind in ("psd", "symmetric")
        else list(itertools.product(DEGREES, repeat=len(d.dims)))
        for d in checked.program.choose
    ]
    for degrees in itertools.product(*options):
        yield {d.name: p for d, p in zip(checked.program.choose, degrees, strict=True)}


def _typed(
    checked: Checked,
    passed: frozenset[str],
    numbers: Mapping[str, float],
    degrees_of: Mapping[str, tuple[float, ...]],
) -> Equivariance:
    """The actions that leave a program as it is when its variables have the degrees ``degrees_of``."""
    program = checked.program
    by_dimension = _groups(checked, passed)
    groups = {name: min(acting) for name, acting in by_dimension.items()}
    visitor = ActionVisitor(checked.scope, groups, {}, numbers, {}, set(), "given")
    for name, acting in by_dimension.items():
        if len(acting) > 1:
            visitor.lose(LOST_BY_ATOM, acting, f"'{name}' counts {' and '.join(sorted(acting))}")
    _givens(checked, passed, visitor)
    for let in program.lets:
        visitor.line = let.name
        visitor.names[let.name] = visitor.visit(let.expr)
    for d in program.choose:
        axes = zip(map(visitor.group, d.dims), degrees_of[d.name], strict=True)
        # Along a root's rows the degree is always 1/2: there only rotations act.
        visitor.names[d.name] = Acted(
            tuple(Axis(group, 0.5 if group == "root" else degree) for group, degree in axes)
        )
    visitor.line = "the objective"
    visitor.visit(program.objective)
    multipliers: dict[str, tuple[Axis, ...]] = {}
    for c in program.constraints:
        visitor.line, visitor.scope = f"constraint '{c.name}'", checked.scope.inside(c.family)
        multipliers |= _constraint(visitor, c)
    visitor.scope = checked.scope
    per_query = "queries" not in visitor.summed
    visitor.line = "the certificate"
    for m in program.multipliers:
        degrees = tuple(Axis(visitor.group(d)) for d in m.declaration.dims if m.start is None)
        typed = Acted(multipliers.get(m.key, degrees)) if m.start is None else visitor.visit(m.start)
        visitor.names[m.declaration.name] = typed
    if program.certificate is not None:
        visitor.visit(program.certificate.expr)
    before_repair = {action: why for action, why in visitor.faults.items() if action in DEGREES_ONLY}
    for assignment in program.repair:
        visitor.line = "the repair"
        visitor.visit(assignment.expr)
    if program.meaning is not None:
        visitor.line = f"the {program.meaning.kind}"
        visitor.visit(program.meaning.expr)
    faults = {a: why for a, why in visitor.faults.items() if a not in DEGREES_ONLY} | before_repair
    return Equivariance(faults, multipliers, per_query)


def _givens(checked: Checked, passed: frozenset[str], visitor: ActionVisitor) -> None:
    """Type givens and parameters; arrays that do not come from the workload go with no action."""
    for d in checked.program.givens:
        axes = None if d.name in passed else SOURCE_AXES.get(d.source)
        visitor.line = f"the given '{d.name}'"
        if d.dims and axes is None:
            is_passed = d.name in passed or not d.source
            why = "passed by the caller" if is_passed else f"{d.source} is a choice among others"
            visitor.lose(LOST_BY_ATOM, LOST_BY_ATOM, why)
        visitor.names[d.name] = Acted(tuple(Axis() for _ in d.dims) if axes is None else axes)
    for p in checked.program.parameters:
        if p.declared is not None and p.declared.kind == "dim":
            continue  # counts the rows of something that no action touches
        visitor.line = f"the parameter '{p.name}'"
        shaped = checked.types.get(p.name)
        if shaped is not None and shaped.dims and p.name in passed:
            visitor.lose(LOST_BY_ATOM, LOST_BY_ATOM, "passed by the caller")
        typed = visitor.visit(p.expr)
        visitor.names[p.name] = Acted() if shaped is None or not shaped.dims else typed


def _constraint(visitor: ActionVisitor, c: Constraint) -> dict[str, tuple[Axis, ...]]:
    """Type a relation; return the axes of its multiplier, by which multiplier and line pair to a number."""
    index = c.family.index if c.family else ""
    family: tuple[Axis, ...] = () if c.family is None else (Axis(visitor.group(c.family.dim)),)
    visitor.lose_rotations(family, "a line for each entry along a rotated axis")
    left, right, is_order = c.relation.left, c.relation.right, c.relation.op in (">>", "<<")
    if is_order and isinstance(left, Block) and is_number_zero(right):
        return _psd_block(visitor, c.name, left, family, index)
    sides = [visitor.visit(left), visitor.visit(right)]
    both = visitor.sum_or_relation(sides, (left, right))
    axes = max((s.axes for s in sides), key=len)
    if not is_order:
        _untouched(visitor, c, sides)
        visitor.lose_rotations(axes, "a relation entry by entry along a rotated axis")
    family = tuple(both.index.get(index, axis) for axis in family)
    return {c.name: tuple(Axis(a.group, 1.0 - a.degree, a.odd) for a in (*family, *axes))}


def _untouched(visitor: ActionVisitor, c: Constraint, sides: list[Acted]) -> None:
    """Note a line that does not hold with zeros at a cell that no query touches."""
    if not any(s.has_cells for s in sides) and not (c.family and visitor.group(c.family.dim) == "cells"):
        return
    signs = [infer(e, visitor.scope).sign for e in (c.relation.left, c.relation.right)]
    small, large = (0, 1) if c.relation.op == "<=" else (1, 0)
    zero = sides[small].has_cells and sides[small].vanishes
    # Zero is at most a side that is not negative, also one that bounds a nonnegative side at other cells.
    safe = signs[large] > 0 or (signs[small] > 0 and not sides[large].has_cells)
    if not all(s.has_cells and s.vanishes for s in sides) and (c.relation.op == "==" or not (zero and safe)):
        visitor.lose_untouched("does not hold at a cell by itself")


def _psd_block(
    visitor: ActionVisitor, name: str, block: Block, family: tuple[Axis, ...], index: str
) -> dict[str, tuple[Axis, ...]]:
    """Type a psd block matrix, entry (i, j) with the degrees of row i and of column j.

    Returns the axes of the multipliers of its diagonal blocks. family, index : of the line, as an axis and by
    name; () and "" for a line that occurs once.
    """
    entries = [[visitor.visit(e) for e in row] for row in block.rows]
    diagonal = [entries[i][i] for i in range(len(entries))]
    # Row i, and column i, has half of the degree that diagonal block i has in the index.
    half = [d.index[index].degree / 2 if index in d.index else 0.0 for d in diagonal]
    for i, row in enumerate(entries):
        for j, entry in enumerate(row):
            if is_number_zero(block.rows[i][j]):
                continue
            if family:
                group = next((a.group for e in (*row, *diagonal) if (a := e.index.get(index))), "")
                if not close(entry.index.get(index, Axis(group)).degree, half[i] + half[j]):
                    visitor.lose(LOST_BY_DEGREE, {group}, "blocks that split differently")
            _sides(visitor, entry, infer(block.rows[i][j], visitor.scope).is_row, diagonal[i], diagonal[j])
            if entry.has_cells and not entry.vanishes:
                visitor.lose_untouched("does not hold at a cell by itself")
    return {
        f"{name}[{i}, {i}]": (
            *(Axis(axis.group, 1.0 - 2.0 * half[i]) for axis in family),
            *(replace(a, degree=1.0 - a.degree) for a in entry.axes),
        )
        for i, entry in enumerate(diagonal)
    }


def _sides(visitor: ActionVisitor, entry: Acted, is_row: bool, down: Acted, across: Acted) -> None:
    """Note where axes of a block differ from those of the diagonal blocks ``down`` its row and ``across``.

    is_row : whether the block is a row vector.
    """
    ends = ((*down.axes, Axis())[0], (Axis(), *across.axes)[-1])
    if len(entry.axes) < 2:
        ends = ((*(across if is_row else down).axes, Axis())[0],) * 2
    for one, two in zip(entry.axes, ends, strict=False):
        if one.group != two.group or not close(one.degree, two.degree):
            visitor.lose(LOST_BY_DEGREE, {one.group, two.group}, "blocks that repeat or split differently")
    if entry.diagonal and entry is not down:
        visitor.lose(LOST_BY_DEGREE, {a.group for a in entry.axes}, "a diagonal block beside others")
