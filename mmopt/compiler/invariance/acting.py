"""How every expression goes with the actions: one visitor, by the atoms' word ``equivariance``.

The words of the table of atoms, and what they mean here:

linear       entry by entry, and equivariant under rotations: sums, differences, minus
entrywise    entry by entry: degrees add or multiply as ``Atom.degrees`` says; rotations are lost
sum, trace   a sum over an axis: degrees add up to 1
extreme      the largest or smallest along an axis: degree 0
soft         a soft maximum: permutations only
product      of matrices: the degrees of the axis summed over add up to 1
diagonal     vector to diagonal matrix and back
inverse      degree a becomes 1 - a, on the other side
spectral     a function of the singular values and vectors (root, polar, pinv): rotations, degree 1/2
factor       F with F.T @ F given: goes on its columns as the matrix does
norm         a number that rotations of both sides do not change: degree 1/2
identity, ones, transpose : as they are called
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from mmopt.compiler.invariance.actions import STRONG, WEAK, Acted, Axis, close
from mmopt.compiler.invariance.axes import Reducing, multiplied
from mmopt.language.atoms.table import ATOMS
from mmopt.language.check.infer import infer
from mmopt.language.evaluate.evaluator import evaluate
from mmopt.language.syntax.tree import Apply, Block, Expr, Index, Name, Number, names_in

__all__ = ["Acting"]


@dataclass
class Acting(Reducing):
    """The visitor: how an expression goes with the actions, and what is to blame where it does not."""

    def visit(self, expr: Expr) -> Acted:
        """How an expression goes with the actions."""
        match expr:
            case Number():
                return Acted()
            case Name(id=name):
                return self._name(name)
            case Index():
                return self._index(expr)
            case Block(rows=rows):
                entries = [self.visit(e) for row in rows for e in row]
                groups = {a.group for e in entries for a in (*e.axes, *e.index.values())}
                self.lose(STRONG, groups, "a block matrix inside an expression")
                return Acted((Axis(), Axis()))
            case Apply():
                return self._apply(expr)

    def _name(self, name: str) -> Acted:
        if name in self.names:
            return self.names[name]
        if self.scope.indices is not None and name in self.scope.indices:
            self.lose(WEAK, {self.group(self.scope.indices[name])}, f"the number '{name}' of an entry")
        elif name in self.groups:
            self.lose(STRONG, {self.groups[name]}, f"the count '{name}'")
        return Acted()

    def _index(self, expr: Index) -> Acted:
        base = self.visit(expr.base)
        index, kept = dict(base.index), []
        for item, axis in zip(expr.items, base.axes, strict=True):
            if item is None:
                kept.append(axis)
            elif isinstance(item, Name) and self.scope.indices and item.id in self.scope.indices:
                if axis.is_rotated:
                    self.lose(WEAK, {axis.group}, "single entries along a rotated axis")
                index[item.id] = multiplied(index.get(item.id), axis)
            else:
                self.lose(WEAK, {axis.group}, "one entry taken out")
        return replace(base, axes=tuple(kept), index=index, diagonal=False)

    def _apply(self, expr: Apply) -> Acted:
        atom = ATOMS[expr.atom]
        word = atom.equivariance
        if word in ("identity", "ones"):
            axes = tuple(Axis(self.group(d)) for d in infer(expr, self.scope).dims)
            if word == "ones":
                self.lose(WEAK, {a.group for a in axes if a.is_rotated}, "a vector of ones")
            return Acted(
                axes, diagonal=word == "identity", vanishes=not any(a.group == "cells" for a in axes)
            )
        if expr.atom == "pow":
            return self._power(expr)
        args = [self.visit(a) for a in expr.args]
        match word:
            case "linear":
                return self.alike(args, expr.args)
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
            case "factor":
                return replace(args[0], axes=(Axis(), *args[0].axes[1:]), diagonal=False)
        groups = {a.group for arg in args for a in (*arg.axes, *arg.index.values())}
        self.lose(WEAK, groups, f"'{expr.atom}' depends on the order of its rows or entries")
        return Acted(tuple(Axis(self.group(d)) for d in infer(expr, self.scope).dims), vanishes=False)

    # -- entry by entry ------------------------------------------------------------------------------

    def alike(self, args: list[Acted], exprs: tuple[Expr, ...]) -> Acted:
        """A sum, or the two sides of a relation: both go alike. Zero goes with everything."""
        kept = [a for a, e in zip(args, exprs, strict=True) if not _is_zero(e)]
        if len(kept) < 2:
            return kept[0] if kept else args[0]
        one, two = kept
        index = self._indices(one, two)
        shaped = [a for a in (one, two) if a.axes]
        if not shaped:
            return Acted(index=index, vanishes=self._both_vanish(one, two))
        axes = shaped[0].axes
        if len(shaped) == 1:  # a number added to every entry
            groups = {a.group for a in axes if a.is_rotated}
            self.lose(WEAK, groups, "a number added along a rotated axis")
            self._same(axes, tuple(Axis(a.group) for a in axes))
        else:
            self._same(axes, shaped[1].axes)
        mixed = one.diagonal != two.diagonal
        if mixed:
            self.lose(STRONG, {a.group for a in axes}, "a diagonal matrix added to one that is not")
        diagonal = one.diagonal and two.diagonal
        return Acted(axes, index, diagonal, self._both_vanish(one, two))

    def _both_vanish(self, one: Acted, two: Acted) -> bool:
        if not (one.has_cells or two.has_cells):
            return True
        return one.has_cells and two.has_cells and one.vanishes and two.vanishes

    def _same(self, one: tuple[Axis, ...], two: tuple[Axis, ...]) -> None:
        for a, b in zip(one, two, strict=True):
            if not close(a.degree, b.degree):
                self.lose(STRONG, {a.group}, "a sum or relation of what repeats and what splits")
            if a.odd != b.odd:
                self.lose(WEAK, {a.group}, "a sum of what has a query's sign and what has not")

    def _indices(self, one: Acted, two: Acted) -> dict[str, Axis]:
        """Of a sum: an index that only one side has is of degree 0 in the other."""
        out: dict[str, Axis] = {}
        for name in {**one.index, **two.index}:
            known = one.index.get(name) or two.index[name]
            here, there = (x.index.get(name, Axis(known.group)) for x in (one, two))
            self._same((here,), (there,))
            out[name] = known
        return out

    def _entrywise(self, expr: Apply, args: list[Acted]) -> Acted:
        atom = ATOMS[expr.atom]
        if atom.unitless:
            self._at_degree(args[0], 0.0, f"'{expr.atom}' of what splits")
        degrees = atom.degrees or (0.0,) * len(args)
        shaped = [a for a in args if a.axes]
        if len(shaped) == 2 or (shaped and len(args) == 1):
            groups = {a.group for s in shaped for a in s.axes if a.is_rotated}
            self.lose(WEAK, groups, f"'{expr.atom}' entry by entry along a rotated axis")
        if any(s.diagonal for s in shaped) and (len(shaped) == 2 or len(args) == 1):
            self.lose(STRONG, {a.group for s in shaped for a in s.axes}, "entries of a diagonal matrix")
        if expr.atom in ("sqrt", "exp", "log"):
            odd = {a.group for arg in args for a in (*arg.axes, *arg.index.values()) if a.odd}
            self.lose(WEAK, odd, f"'{expr.atom}' of what has a query's sign")
        axes: list[Axis] = []
        for place in range(max((len(s.axes) for s in shaped), default=0)):
            parts = [(s.axes[place], by) for s, by in zip(args, degrees, strict=True) if s.axes]
            axes.append(_combined(parts, signed=expr.atom != "abs"))
        index: dict[str, Axis] = {}
        for name in dict.fromkeys(n for a in args for n in a.index):
            parts = [(a.index[name], by) for a, by in zip(args, degrees, strict=True) if name in a.index]
            index[name] = _combined(parts, signed=expr.atom != "abs")
        zero = args[:1] if expr.atom == "div" else args
        vanishes = any(a.has_cells and a.vanishes for a in zero) and not atom.unitless
        diagonal = any(a.diagonal for a in args)
        out = Acted(tuple(axes), index, diagonal)
        return replace(out, vanishes=vanishes or not out.has_cells)

    def _power(self, expr: Apply) -> Acted:
        base, exponent = self.visit(expr.args[0]), expr.args[1]
        if not names_in(exponent) <= set(self.numbers):
            self.lose(STRONG, WEAK, "a power whose exponent is not a number")
            return base
        by = float(evaluate(exponent, self.numbers))
        if base.axes:
            self.lose(WEAK, {a.group for a in base.axes if a.is_rotated}, "a power along a rotated axis")

        def raised(axis: Axis) -> Axis:
            if axis.odd and by != int(by):
                self.lose(WEAK, {axis.group}, "a broken power of what has a query's sign")
            return Axis(axis.group, by * axis.degree, axis.odd and by % 2 == 1)

        index = {name: raised(a) for name, a in base.index.items()}
        zero = (base.vanishes and by > 0) or not base.has_cells
        return replace(base, axes=tuple(map(raised, base.axes)), index=index, vanishes=zero)

    def _at_degree(self, arg: Acted, degree: float, why: str) -> None:
        for axis in (*arg.axes, *arg.index.values()):
            if not close(axis.degree, degree):
                self.lose(STRONG, {axis.group}, why)


def _is_zero(expr: Expr) -> bool:
    return isinstance(expr, Number) and expr.value == 0


def _combined(parts: list[tuple[Axis, float]], signed: bool) -> Axis:
    degree = sum(axis.degree * by for axis, by in parts)
    odd = signed and sum(axis.odd for axis, _ in parts) % 2 == 1
    return Axis(parts[0][0].group, degree, odd)
