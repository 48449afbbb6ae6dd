"""Actions on a workload, and how each expression of a program changes with them.

An *action* changes the arrays that a workload gives to a program: it permutes cells, repeats them, rotates
a basis. Along each axis an array goes with it by a *degree*. When a cell is replaced by s equal ones, an
array of degree a gets s copies of the cell's entry, each times s**-a: a strategy's Gram matrix repeats its
entries (0), a multiplier splits (1), its square root lies between (1/2). A sum over cells keeps its value
when the degrees of what is summed add up to 1, a maximum when they add up to 0. A query of which one makes
several rows t w, with the sum of the t**2 equal to 1, has degree 1/2 in the queries and 1 in targets and
variances. A basis changed to T B has degree 0, the coefficients in it degree 1, so that they cancel.

One visitor types every expression, by the word ``equivariance`` of its atom. The words of the table of atoms
mean here:

linear       entry by entry, and equivariant under rotations: sums, differences, minus
entrywise    entry by entry: degrees add or multiply as ``Atom.degrees`` says; rotations are lost
sum, trace   a sum over an axis: degrees add up to 1
extreme      the largest or smallest along an axis: degree 0
soft         a soft maximum, the norm of a vector: permutations only
product      of matrices: the degrees of the axis summed over add up to 1
diagonal     vector to diagonal matrix and back
inverse      degree a becomes 1 - a, on the other side; -a for a diagonal matrix, and in indices
spectral     a function of the singular values and vectors (root, polar, pinv): rotations, degree 1/2;
             of a diagonal matrix its degree times that of the atom, where this is not 0
factor       F with F.T @ F given: goes on its columns as the matrix does
spectrum     a number of the eigenvalues or singular values: permutations, and rotations of the basis only
norm         a number that rotations of both sides do not change: degree 1/2
identity, ones, transpose : as they are called
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from mmopt.language import (
    ATOMS,
    Apply,
    Block,
    Dim,
    Entries,
    Expr,
    Index,
    Name,
    Number,
    Scope,
    evaluate,
    infer,
    names_in,
)

PERMUTE_CELLS = "permuting the cells"
REPEAT_CELLS = "repeating cells"
DROP_CELLS = "leaving out cells that no query touches"
PERMUTE_QUERIES = "permuting the queries and changing their signs"
SPLIT_QUERIES = "splitting queries into multiples"
ROTATE_ROOT = "rotating the queries"
ROTATE_BASIS = "rotating the basis"
CHANGE_BASIS = "changing the basis"
# Actions that leave a program as it is wherever one workload is solved in place of another.
PERMUTED = (PERMUTE_CELLS, PERMUTE_QUERIES, ROTATE_ROOT, ROTATE_BASIS)

# Actions lost along an axis of a group: by an atom that is not equivariant, and by degrees that do not fit.
LOST_BY_ATOM: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "cells": (PERMUTE_CELLS, REPEAT_CELLS, DROP_CELLS),
        "queries": (PERMUTE_QUERIES, SPLIT_QUERIES),
        "root": (ROTATE_ROOT,),
        "basis": (ROTATE_BASIS, CHANGE_BASIS),
    }
)
LOST_BY_DEGREE: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "cells": (REPEAT_CELLS, DROP_CELLS),
        "queries": (SPLIT_QUERIES,),
        "root": (ROTATE_ROOT,),
        "basis": (CHANGE_BASIS,),
    }
)


@dataclass(frozen=True)
class Axis:
    """One axis of an array: the group that acts along it, the degree; ``odd`` when it has a query's sign."""

    group: str = ""  # "cells", "queries", "root", "basis"; "" for an axis that no action touches
    degree: float = 0.0
    odd: bool = False

    @property
    def is_rotated(self) -> bool:
        return self.group in ("root", "basis")


@dataclass(frozen=True)
class Acted:
    """The way an expression goes with the actions: along its axes, and with the index of each family.

    diagonal : whether it is a diagonal matrix; the degree of both axes is then that of its entries.
    zero_at_untouched : whether it is zero at a cell that no query touches.
    """

    axes: tuple[Axis, ...] = ()
    index: Mapping[str, Axis] = field(default_factory=dict)
    diagonal: bool = False
    zero_at_untouched: bool = True

    @property
    def all_axes(self) -> tuple[Axis, ...]:
        """The axes, and those of indices."""
        return (*self.axes, *self.index.values())

    @property
    def groups(self) -> set[str]:
        return {a.group for a in self.all_axes}

    @property
    def has_cells(self) -> bool:
        return "cells" in self.groups

    @property
    def vanishes(self) -> bool:
        """Whether it is zero at a cell that no query touches; also where it has no cells."""
        return self.zero_at_untouched or not self.has_cells


def close(a: float, b: float) -> bool:
    """Whether two degrees are the same, to rounding: 1/3 three times is 1.

    An exponent that is nearly such a number counts as it. That does no harm: a lifted point is scored as it
    is, over all cells, and by component only programs are solved whose lines a kernel knows exactly.
    """
    return abs(a - b) < 1e-9


def multiplied(one: Axis | None, two: Axis) -> Axis:
    """An axis along which two factors are multiplied."""
    return two if one is None else Axis(one.group, one.degree + two.degree, one.odd != two.odd)


def scaled(index: Mapping[str, Axis], power: float) -> dict[str, Axis]:
    """The axes of the indices of a power: multiples of their degrees."""
    return {name: replace(a, degree=power * a.degree) for name, a in index.items()}


# The arrays of a workload that go with the actions. Eigenvectors do not: those of a repeated eigenvalue
# are a choice, and repeated cells have other eigenvalues. Weights are contained in the matrix and the root.
SOURCE_AXES: Mapping[str, tuple[Axis, ...]] = MappingProxyType(
    {
        "workload.matrix": (Axis("queries", 0.5, odd=True), Axis("cells")),
        "workload.root": (Axis("root", 0.5), Axis("cells")),
        "workload.gram": (Axis("cells"), Axis("cells")),
        "workload.targets": (Axis("queries", 1.0),),
        "workload.dropped": (Axis("cells"),),
        "workload.basis": (Axis("basis"), Axis("cells")),
        "workload.representation": (Axis("queries", 0.5, odd=True), Axis("basis", 1.0)),
    }
)


@dataclass
class ActionVisitor:
    """The visitor: how an expression goes with the actions, and what is to blame where it does not.

    groups : the group that acts on a dimension, by the dimension's name. names : how what is given, chosen or
    computed goes, by name. numbers : the parameters that are numbers. line : the name of the line that is
    visited. The visit collects in ``faults`` for each action the first reason why it changes the value of a
    line, and in ``summed`` the groups along whose axes something is added up.
    """

    scope: Scope
    groups: Mapping[str, str]
    names: dict[str, Acted]
    numbers: Mapping[str, float]
    faults: dict[str, str]
    summed: set[str]
    line: str = ""

    def group(self, dim: Dim) -> str:
        """The group that acts on a dimension; notes a loss where several do, or it is no single name."""
        acting = {self.groups.get(name, "") for name in dim.symbols} - {""}
        if not acting:
            return ""
        if len(acting) > 1 or not dim.name:
            self.lose(LOST_BY_ATOM, acting, f"a dimension {dim}")
        return min(acting)

    def lose(self, table: Mapping[str, tuple[str, ...]], groups: Iterable[str], why: str) -> None:
        """Note that the actions on these groups change the value of the line."""
        for group in groups:
            for action in table.get(group, ()):
                self.faults.setdefault(action, f"{self.line}: {why}")

    def lose_rotations(self, axes: Iterable[Axis], why: str) -> None:
        """Note that rotations of any of these axes change the value of the line."""
        self.lose(LOST_BY_ATOM, {a.group for a in axes if a.is_rotated}, why)

    def lose_untouched(self, why: str) -> None:
        """Note that leaving out untouched cells changes the value of the line."""
        self.faults.setdefault(DROP_CELLS, f"{self.line}: {why}")

    def visit(self, expr: Expr) -> Acted:
        """How an expression goes with the actions; losses are noted in ``faults``."""
        match expr:
            case Number():
                return Acted()
            case Name(id=name):
                return self._name(name)
            case Index():
                return self._index(expr)
            case Block(rows=rows):
                dims = infer(expr, self.scope).dims  # one of a column, whose entries have an order
                for entry in [self.visit(e) for row in rows for e in row]:
                    lost = LOST_BY_DEGREE if len(dims) == 2 else LOST_BY_ATOM
                    self.lose(lost, entry.groups, "a block matrix inside an expression")
                return Acted((Axis(),) * len(dims))
            case Entries():
                self.lose(LOST_BY_ATOM, set(self.groups.values()), "entries taken one by one")
                return Acted(tuple(Axis(self.group(f.dim)) for f in expr.families), zero_at_untouched=False)
            case Apply():
                return self._apply(expr)

    def _name(self, name: str) -> Acted:
        """The way of a name, as it was typed where it is declared; a count or an index changes its line."""
        if name in self.names:
            return self.names[name]
        if self.scope.indices is not None and name in self.scope.indices:
            self.lose(
                LOST_BY_ATOM, {self.group(self.scope.indices[name])}, f"the number '{name}' of an entry"
            )
        elif name in self.groups:
            self.lose(LOST_BY_DEGREE, {self.groups[name]}, f"the count '{name}'")
        return Acted()

    def _index(self, expr: Index) -> Acted:
        """An entry, a row or a column of an array."""
        base = self.visit(expr.base)
        index, remaining = dict(base.index), []
        for item, axis in zip(expr.items, base.axes, strict=True):
            if item is None:
                remaining.append(axis)
            elif isinstance(item, Name) and self.scope.indices and item.id in self.scope.indices:
                self.lose_rotations([axis], "single entries along a rotated axis")
                index[item.id] = multiplied(index.get(item.id), axis)
            else:
                self.lose(LOST_BY_ATOM, {axis.group}, "one entry taken out")
        return replace(base, axes=tuple(remaining), index=index, diagonal=False)

    def _apply(self, expr: Apply) -> Acted:
        """The value of an atom, by its word ``equivariance``."""
        word = ATOMS[expr.atom].equivariance
        if word in ("identity", "ones"):
            axes = tuple(Axis(self.group(d)) for d in infer(expr, self.scope).dims)
            if word == "ones":
                self.lose_rotations(axes, "a vector of ones")
            return Acted(axes, diagonal=word == "identity", zero_at_untouched=False)
        if expr.atom == "pow":
            return self._power(expr)
        args = [self.visit(a) for a in expr.args]
        match word:
            case "linear":
                return self.sum_or_relation(args, expr.args)
            case "entrywise":
                return self._entrywise(expr, args)
            case "product":
                return self._product(*args)
            case "transpose":
                return replace(args[0], axes=args[0].axes[::-1])
            case "sum" | "extreme" | "soft":
                return self._reduced(expr, args[0], word)
            case "trace":
                return self._trace(args[0])
            case "diagonal":
                return self._diagonal(args[0])
            case "inverse":
                return self._inverse(args[0])
            case "spectral" | "norm":
                return self._spectral(expr, args[0], word)
            case "spectrum":
                return self._spectrum(expr, args[0])
            case "factor":
                return replace(args[0], axes=(Axis(), *args[0].axes[1:]), diagonal=False)
        for arg in args:
            is_data = ATOMS[expr.atom].cvxpy is None
            why = "depends on the order of its rows or entries" if is_data else "has no rule for such moves"
            self.lose(LOST_BY_ATOM, arg.groups, f"'{expr.atom}' {why}")
        return Acted(
            tuple(Axis(self.group(d)) for d in infer(expr, self.scope).dims), zero_at_untouched=False
        )

    # -- entry by entry ------------------------------------------------------------------------------

    def sum_or_relation(self, args: list[Acted], exprs: tuple[Expr, ...]) -> Acted:
        """A sum, or the two sides of a relation: both go alike. Zero goes with everything."""
        nonzero = [a for a, e in zip(args, exprs, strict=True) if not is_number_zero(e)]
        if len(nonzero) < 2:
            return nonzero[0] if nonzero else args[0]
        one, two = nonzero
        index = self._indices(one, two)
        vanishes = one.has_cells == two.has_cells and one.vanishes and two.vanishes
        if not (shaped := [a for a in (one, two) if a.axes]):
            return Acted(index=index, zero_at_untouched=vanishes)
        axes = shaped[0].axes
        if len(shaped) == 1:  # a number added to every entry
            self.lose_rotations(axes, "a number added along a rotated axis")
            self._same(axes, tuple(Axis(a.group) for a in axes))
        else:
            self._same(axes, shaped[1].axes)
        if one.diagonal != two.diagonal:
            self.lose(LOST_BY_DEGREE, {a.group for a in axes}, "a diagonal matrix added to one that is not")
        return Acted(axes, index, one.diagonal and two.diagonal, vanishes)

    def _same(self, one: tuple[Axis, ...], two: tuple[Axis, ...]) -> None:
        """Note where axes that must go alike do not."""
        for a, b in zip(one, two, strict=True):
            if not close(a.degree, b.degree):
                self.lose(LOST_BY_DEGREE, {a.group}, "a sum or relation of what repeats and what splits")
            if a.odd != b.odd:
                self.lose(LOST_BY_ATOM, {a.group}, "a sum of what has a query's sign and what has not")

    def _indices(self, one: Acted, two: Acted) -> dict[str, Axis]:
        """The indices of a sum; one that only one side has is of degree 0 in the other."""
        indices = {**two.index, **one.index}
        for name, axis in indices.items():
            here, there = (x.index.get(name, Axis(axis.group)) for x in (one, two))
            self._same((here,), (there,))
        return indices

    def _entrywise(self, expr: Apply, args: list[Acted]) -> Acted:
        """A product, quotient or function entry by entry: degrees add up, times those of the atom."""
        atom = ATOMS[expr.atom]
        for axis in args[0].all_axes if atom.unitless else ():
            if not close(axis.degree, 0.0):
                self.lose(LOST_BY_DEGREE, {axis.group}, f"'{expr.atom}' of what splits")
        shaped = [a for a in args if a.axes]
        if len(shaped) == 2 or (shaped and len(args) == 1):
            rotated = [a for s in shaped for a in s.axes]
            self.lose_rotations(rotated, f"'{expr.atom}' entry by entry along a rotated axis")
            if any(s.diagonal for s in shaped):
                self.lose(LOST_BY_DEGREE, {a.group for a in rotated}, "entries of a diagonal matrix")
        if len(args) == 1 and not atom.even:
            self.lose(
                LOST_BY_ATOM,
                {a.group for a in args[0].all_axes if a.odd},
                f"'{expr.atom}' of what has a query's sign",
            )
        powers = list(zip(args, atom.degrees or (0.0,) * len(args), strict=True))

        def combined(parts: list[tuple[Axis, float]]) -> Axis:
            """The axis of the result, from that of each argument and the power with which it occurs."""
            return Axis(
                parts[0][0].group,
                sum(axis.degree * power for axis, power in parts),
                not atom.even and sum(axis.odd for axis, _ in parts) % 2 == 1,
            )

        places = range(max((len(s.axes) for s in shaped), default=0))
        axes = [combined([(s.axes[place], power) for s, power in powers if s.axes]) for place in places]
        names = dict.fromkeys(n for a in args for n in a.index)
        index = {n: combined([(a.index[n], power) for a, power in powers if n in a.index]) for n in names}
        return Acted(
            tuple(axes),
            index,
            any(a.diagonal for a in args),
            any(a.has_cells and a.vanishes for a, power in powers if power > 0),
        )

    def _power(self, expr: Apply) -> Acted:
        """A power entry by entry: it multiplies the degrees."""
        base, exponent = self.visit(expr.args[0]), expr.args[1]
        if not names_in(exponent) <= set(self.numbers):
            self.lose(LOST_BY_DEGREE, LOST_BY_ATOM, "a power whose exponent is not a number")
            return base
        power = float(evaluate(exponent, self.numbers))
        self.lose_rotations(base.axes, "a power along a rotated axis")
        if power != int(power):
            self.lose(
                LOST_BY_ATOM,
                {a.group for a in base.all_axes if a.odd},
                "a fractional power of what has a query's sign",
            )

        def raised(axis: Axis) -> Axis:
            return Axis(axis.group, power * axis.degree, axis.odd and power % 2 == 1)

        return replace(
            base,
            axes=tuple(map(raised, base.axes)),
            index={name: raised(a) for name, a in base.index.items()},
            zero_at_untouched=base.vanishes and power > 0,
        )

    # -- over an axis --------------------------------------------------------------------------------

    def _sum_over(self, axis: Axis, why: str) -> None:
        """Note that the entries along an axis are added up."""
        self.summed.add(axis.group)
        if axis.group != "root" and not close(axis.degree, 1.0):
            self.lose(LOST_BY_DEGREE, {axis.group}, why)
        if axis.odd:
            self.lose(LOST_BY_ATOM, {axis.group}, "a sum of what has a query's sign")

    def _reduced(self, expr: Apply, arg: Acted, word: str) -> Acted:
        """A sum, an extreme entry or a soft maximum, of all entries or along an axis."""
        over = dict(expr.options).get("axis")
        gone = [a for place, a in enumerate(arg.axes) if over in (None, place)]
        remaining = tuple(a for place, a in enumerate(arg.axes) if over not in (None, place))
        for axis in gone[:1] if arg.diagonal else gone:
            if axis.is_rotated:
                self.lose(LOST_BY_ATOM, {axis.group}, f"'{expr.atom}' over a rotated axis")
            elif word == "sum":
                self._sum_over(axis, f"'{expr.atom}' counts every copy")
            elif word == "soft" or not close(axis.degree, 0.0) or axis.odd:
                self.lose(LOST_BY_DEGREE, {axis.group}, f"'{expr.atom}' of what splits, or counts every copy")
            # Zeros for untouched cells do not change a sum, a maximum of nonnegative entries or a minimum of
            # nonpositive ones.
            sign = infer(expr.args[0], self.scope).sign
            harmless = arg.vanishes and (word == "sum" or (-sign if expr.atom == "min" else sign) > 0)
            if axis.group == "cells" and not harmless:
                self.lose_untouched(f"'{expr.atom}' over untouched cells")
        return Acted(remaining, arg.index, arg.diagonal and bool(remaining), arg.vanishes)

    def _product(self, one: Acted, two: Acted) -> Acted:
        """A product of matrices.

        A diagonal factor scales the other's axis: their degrees add up there, and zeros of either at
        untouched cells stay. Any other product is a sum over the inner axis.
        """
        index = {**one.index, **{n: multiplied(one.index.get(n), axis) for n, axis in two.index.items()}}
        left, right = one.axes[-1], two.axes[0]
        vanishes = one.vanishes and two.vanishes
        if one.diagonal or two.diagonal:
            inner = multiplied(left, right)
            axes = (*one.axes[:-1], inner) if two.diagonal else (inner, *two.axes[1:])
            both = one.diagonal and two.diagonal
            zero_by_factor = any(a.vanishes and a.has_cells for a in (one, two)) and left.group == "cells"
            return Acted((inner, inner) if both else axes, index, both, vanishes or zero_by_factor)
        self._sum_over(multiplied(left, right), "a product that counts every copy, or none")
        if left.group == "cells" and not (one.vanishes or two.vanishes):
            self.lose_untouched("a product over untouched cells")
        return Acted((*one.axes[:-1], *two.axes[1:]), index, False, vanishes)

    def _trace(self, arg: Acted) -> Acted:
        """A trace, a sum over both axes."""
        one, two = arg.axes
        if not (arg.diagonal and one.is_rotated):
            self._sum_over(one if arg.diagonal else multiplied(one, two), "a trace that counts every copy")
        if one.group == "cells" and not arg.vanishes:
            self.lose_untouched("a trace over untouched cells")
        return Acted((), arg.index, zero_at_untouched=arg.vanishes)

    # -- matrices ------------------------------------------------------------------------------------

    def _diagonal(self, arg: Acted) -> Acted:
        """A vector as a diagonal matrix, or the diagonal of a matrix."""
        self.lose_rotations(arg.axes, "'diag' along a rotated axis")
        if len(arg.axes) == 1:
            return replace(arg, axes=arg.axes * 2, diagonal=True)
        axis = arg.axes[0] if arg.diagonal else multiplied(*arg.axes)
        return replace(arg, axes=(axis,), diagonal=False)

    def _inverse(self, arg: Acted) -> Acted:
        """An inverse: degree a becomes 1 - a on the other side, or -a for a diagonal matrix."""
        total = 0.0 if arg.diagonal else 1.0
        return replace(
            arg,
            axes=tuple(replace(a, degree=total - a.degree) for a in reversed(arg.axes)),
            index=scaled(arg.index, -1.0),
        )

    def _spectrum(self, expr: Apply, arg: Acted) -> Acted:
        """A number of the eigenvalues, which repeated cells change."""
        self.lose(LOST_BY_DEGREE, {a.group for a in arg.all_axes}, f"'{expr.atom}' of what repeats")
        if any(a.group == "cells" for a in arg.axes):
            self.lose_untouched(f"'{expr.atom}' over untouched cells")
        return Acted((), arg.index)

    def _spectral(self, expr: Apply, arg: Acted, word: str) -> Acted:
        """A function of singular values and vectors, or (``word`` "norm") a number of the singular values.

        At degree 1/2 repeating is a rotation into more dimensions, which keeps singular values.
        """
        power = (ATOMS[expr.atom].degrees or (0.0,))[0]
        index = scaled(arg.index, power)
        if arg.diagonal and word == "spectral":
            if not power:
                self.lose(LOST_BY_DEGREE, {a.group for a in arg.axes}, f"'{expr.atom}' of a diagonal matrix")
            return replace(
                arg, axes=tuple(replace(a, degree=power * a.degree) for a in arg.axes), index=index
            )
        if word == "norm" and not power:  # the rank
            return Acted()
        for axis in arg.axes:
            if arg.diagonal or not close(axis.degree, 0.5):
                self.lose(LOST_BY_DEGREE, {axis.group}, f"'{expr.atom}' of what repeats")
        if word == "norm":
            self.summed.update(axis.group for axis in arg.axes)
            return Acted((), index, zero_at_untouched=arg.vanishes)
        return replace(arg, axes=arg.axes[::-1] if power < 0 else arg.axes, index=index)


def is_number_zero(expr: Expr) -> bool:
    """Whether an expression is the number 0, which goes with everything."""
    return isinstance(expr, Number) and expr.value == 0
