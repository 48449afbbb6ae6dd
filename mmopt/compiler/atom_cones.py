"""The cones that curved atoms on what is chosen are lowered to, and the unknowns that they add."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import prod

from mmopt.language import ATOMS
from mmopt.language.check.infer import Scope, infer
from mmopt.language.syntax.tree import Apply, Expr, Index, constant

__all__ = ["AtomCones"]


@dataclass
class AtomCones:
    """Counts the atoms of a program; one that stands in several places is lowered once, as cvxpy does.

    ``of`` gives (kind, size, count, unknowns) for what an expression adds; ``repeated`` is the index of
    a family and how often it stands.
    """

    sizes: Mapping[str, int]
    seen: set[Apply] = field(default_factory=set)

    def of(self, expr: Expr, scope: Scope, repeated: tuple[str, int]) -> Iterator[tuple[str, int, int, int]]:
        # A block matrix is affine in its entries: no curved atom stands inside.
        if isinstance(expr, Index):
            yield from self.of(expr.base, scope, repeated)
        if not isinstance(expr, Apply) or ATOMS[expr.atom].takes_dim or infer(expr, scope).is_constant:
            return
        for inner in expr.args:
            yield from self.of(inner, scope, repeated)
        form = ATOMS[expr.atom].cones
        # A quotient bends by what is below: its last argument that is chosen.
        known = infer(expr.args[-1] if expr.atom == "div" else expr.args[0], scope)
        if form is None or known.is_constant or expr in self.seen:
            return
        index, times = repeated
        if not index:
            self.seen.add(expr)
        shape = tuple(dim.value(self.sizes) for dim in known.dims)
        outputs = prod(dim.value(self.sizes) for dim in infer(expr, scope).dims)
        exponent = constant(expr.args[1]) if expr.atom == "pow" else None
        for kind, size, count, unknowns in form(shape, outputs, 1.0 if exponent is None else exponent):
            yield kind, size, count * times, unknowns * times
