"""How sums, products and functions of matrices go with the actions: the rules for whole axes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from mmopt.compiler.invariance.actions import DROP_CELLS, STRONG, WEAK, Acted, Axis, close
from mmopt.language.atoms.dims import Dim
from mmopt.language.atoms.table import ATOMS
from mmopt.language.check.infer import Scope, infer
from mmopt.language.syntax.tree import Apply

__all__ = ["Reducing", "multiplied"]


@dataclass
class Reducing:
    """State and rules of the visitor of ``acting.py``.

    ``faults`` collects for each action the first reason why it changes the value of a line.

    ``groups`` says which group acts on a dimension, ``numbers`` holds the parameters that are numbers.
    ``summed`` collects the groups along whose axes something is added up.
    """

    scope: Scope
    groups: Mapping[str, str]
    names: dict[str, Acted]
    numbers: Mapping[str, float]
    faults: dict[str, str]
    summed: set[str]
    line: str = ""

    def group(self, dim: Dim) -> str:
        """The group that acts on a dimension of an expression."""
        found = {self.groups.get(name, "") for name in dim.symbols} - {""}
        if not found:
            return ""
        if len(found) > 1 or dim not in map(Dim.of, dim.symbols):
            self.lose(WEAK, found, f"a dimension {dim}")
        return min(found)

    def lose(self, table: Mapping[str, tuple[str, ...]], groups: Iterable[str], why: str) -> None:
        """Note that the actions on these groups change the value of the line."""
        for group in groups:
            for action in table.get(group, ()):
                self.faults.setdefault(action, f"{self.line}: {why}")

    # -- over an axis --------------------------------------------------------------------------------

    def _summed(self, axis: Axis, degree: float, odd: bool, why: str) -> None:
        """Along an axis something of this degree is added up."""
        self.summed.add(axis.group)
        if axis.group != "root" and not close(degree, 1.0):
            self.lose(STRONG, {axis.group}, why)
        if odd:
            self.lose(WEAK, {axis.group}, "a sum of what has a query's sign")

    def _reduced(self, expr: Apply, arg: Acted, word: str) -> Acted:
        over = dict(expr.options).get("axis")
        gone = [a for place, a in enumerate(arg.axes) if over in (None, place)]
        kept = tuple(a for place, a in enumerate(arg.axes) if over not in (None, place))
        if arg.diagonal:
            gone = gone[:1]
        for axis in gone:
            if axis.is_rotated:
                self.lose(WEAK, {axis.group}, f"'{expr.atom}' over a rotated axis")
            elif word == "sum":
                self._summed(axis, axis.degree, axis.odd, f"'{expr.atom}' counts every copy")
            elif word == "soft" or not close(axis.degree, 0.0) or axis.odd:
                self.lose(STRONG, {axis.group}, f"'{expr.atom}' of what splits, or counts every copy")
            if axis.group == "cells" and not self._harmless(expr, arg, word):
                self.faults.setdefault(DROP_CELLS, f"{self.line}: '{expr.atom}' over untouched cells")
        out = Acted(kept, arg.index, arg.diagonal and bool(kept))
        return replace(out, vanishes=arg.vanishes or not out.has_cells)

    def _harmless(self, expr: Apply, arg: Acted, word: str) -> bool:
        """Whether entries for untouched cells do not change a sum or maximum."""
        return arg.vanishes and (word == "sum" or infer(expr.args[0], self.scope).sign > 0)

    def _product(self, one: Acted, two: Acted) -> Acted:
        index = dict(one.index)
        for name, axis in two.index.items():
            index[name] = multiplied(index.get(name), axis)
        left, right = one.axes[-1], two.axes[0]
        vanishes = one.vanishes and two.vanishes
        if one.diagonal or two.diagonal:
            both = one.diagonal and two.diagonal
            scaled = multiplied(left, right)
            axes = (*one.axes[:-1], scaled) if two.diagonal else (scaled, *two.axes[1:])
            if both:
                axes = (scaled, scaled)
            either = (one.vanishes and one.has_cells) or (two.vanishes and two.has_cells)
            return Acted(axes, index, both, vanishes or (either and left.group == "cells"))
        why = "a product that counts every copy, or none"
        self._summed(left, left.degree + right.degree, left.odd != right.odd, why)
        if left.group == "cells" and not (one.vanishes or two.vanishes):
            self.faults.setdefault(DROP_CELLS, f"{self.line}: a product over untouched cells")
        return Acted((*one.axes[:-1], *two.axes[1:]), index, False, vanishes)

    def _trace(self, arg: Acted) -> Acted:
        one, two = arg.axes
        if arg.diagonal:
            if not one.is_rotated:
                self._summed(one, one.degree, one.odd, "a trace that counts every copy")
        else:
            self._summed(one, one.degree + two.degree, one.odd != two.odd, "a trace that counts every copy")
        if one.group == "cells" and not arg.vanishes:
            self.faults.setdefault(DROP_CELLS, f"{self.line}: a trace over untouched cells")
        out = Acted((), arg.index)
        return replace(out, vanishes=arg.vanishes or not out.has_cells)

    # -- matrices ------------------------------------------------------------------------------------

    def _diagonal(self, arg: Acted) -> Acted:
        groups = {a.group for a in arg.axes if a.is_rotated}
        self.lose(WEAK, groups, "'diag' along a rotated axis")
        if len(arg.axes) == 1:
            return replace(arg, axes=arg.axes * 2, diagonal=True)
        if arg.diagonal:
            return replace(arg, axes=arg.axes[:1], diagonal=False)
        return replace(arg, axes=(multiplied(*arg.axes),))

    def _inverse(self, arg: Acted) -> Acted:
        index = {name: replace(a, degree=-a.degree) for name, a in arg.index.items()}
        if arg.diagonal:
            return replace(arg, axes=tuple(replace(a, degree=-a.degree) for a in arg.axes), index=index)
        axes = tuple(replace(a, degree=1.0 - a.degree) for a in reversed(arg.axes))
        return replace(arg, axes=axes, index=index)

    def _spectral(self, expr: Apply, arg: Acted, word: str) -> Acted:
        """Degree 1/2 is where repeating is a rotation into more dimensions, which keeps singular values."""
        by = (ATOMS[expr.atom].degrees or (0.0,))[0]
        index = {name: replace(a, degree=by * a.degree) for name, a in arg.index.items()}
        if arg.diagonal and word == "spectral":
            if expr.atom == "polar":
                self.lose(STRONG, {a.group for a in arg.axes}, "'polar' of a diagonal matrix")
            axes = tuple(replace(a, degree=by * a.degree) for a in arg.axes)
            return replace(arg, axes=axes, index=index)
        if expr.atom == "rank":
            return Acted((), {})
        for axis in arg.axes:
            if arg.diagonal or not close(axis.degree, 0.5):
                self.lose(STRONG, {axis.group}, f"'{expr.atom}' of what repeats")
        if word == "norm":
            self.summed.update(axis.group for axis in arg.axes)
            out = Acted((), index)
            return replace(out, vanishes=arg.vanishes or not out.has_cells)
        return replace(arg, axes=tuple(reversed(arg.axes)) if expr.atom == "pinv" else arg.axes, index=index)


def multiplied(one: Axis | None, two: Axis) -> Axis:
    """An axis along which two things are multiplied."""
    return two if one is None else Axis(one.group, one.degree + two.degree, one.odd != two.odd)
