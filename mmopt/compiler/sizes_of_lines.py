"""What lines count, once the sizes are known: ranges, variables, entries that are there, rows of factors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from mmopt.errors import OptionError
from mmopt.language import Checked, evaluate
from mmopt.language.atoms.argument_types import Dim
from mmopt.language.check.infer_types import Scope, infer, scoped
from mmopt.language.syntax.syntax_tree import Apply, Entries, Expr, Family, Index, names_in
from mmopt.language.syntax.to_text import to_source

__all__ = ["sizes_of_lines"]


def sizes_of_lines(checked: Checked, env: Mapping[str, Any]) -> dict[str, int]:
    """The dimensions of ``env``, and the numbers of rows that no shape but that of a value tells: of factors.

    Raises
    ------
    OptionError : a range below zero, a variable or a factor without entries, an index beyond its array, or
        an atom of no numbers (the largest of none); with the place.
    """
    sizes = {name: value for name, value in env.items() if isinstance(value, int)}
    for name, value in env.items():
        if name in checked.lines.types and isinstance(value, np.ndarray):
            sizes |= _rows(checked.lines.types[name].dims, value.shape, sizes)
    nodes, locate = list(_nodes(checked)), checked.program.source.locate
    for node, scope in nodes:
        if isinstance(node, Apply) and names_in(node) <= env.keys() and (dims := infer(node, scope).dims):
            rows = f"?rows({to_source(node)})"
            if dims[0].name == rows and rows not in sizes:
                sizes[rows] = len(evaluate(node, env))
                if not sizes[rows]:
                    raise OptionError(f"'{to_source(node)}' has no rows here", where=locate(node.span))
    for d in checked.program.choose:
        for dim in d.dims:
            if dim.symbols <= sizes.keys() and dim.value(sizes) < 1:
                raise OptionError(
                    f"'{d.name}' has no entries: {dim} is {dim.value(sizes)} here",
                    where=locate(d.span),
                    hint="ask about more cells, or leave it out",
                )
    for c in checked.program.constraints:
        if c.family is not None:
            _count(checked, c.family, sizes)
    for node, scope in nodes:
        _refuse(checked, node, scope, sizes)
    return sizes


def _nodes(checked: Checked) -> Iterator[tuple[Expr, Scope]]:
    if checked.program.objective is not None:
        yield from scoped(checked.program.objective, checked.lines)
    for c in checked.program.constraints:
        for side in (c.relation.left, c.relation.right):
            yield from scoped(side, checked.lines.inside(c.family))


def _rows(dims: tuple[Dim, ...], shape: tuple[int, ...], sizes: Mapping[str, int]) -> dict[str, int]:
    """Numbers of rows that are known by the value alone."""
    each = zip(dims, shape, strict=False)
    return {dim.name: int(n) for dim, n in each if dim.name.startswith("?") and dim.name not in sizes}


def _count(checked: Checked, family: Family, sizes: Mapping[str, int]) -> int | None:
    """How many indices there are; None where that is not known."""
    if not family.dim.symbols <= sizes.keys():
        return None
    count = family.dim.value(sizes)
    if count < 0:
        raise OptionError(
            f"'{family.index}' runs over {family.dim}, which is {count} here",
            where=checked.program.source.locate(family.span),
            hint="a range may be empty (0), not less: ask about more cells",
        )
    return count


def _refuse(checked: Checked, node: Expr, scope: Scope, sizes: Mapping[str, int]) -> None:
    locate = checked.program.source.locate
    if isinstance(node, Entries):
        for family in node.families:
            _count(checked, family, sizes)
    elif isinstance(node, Apply) and node.atom != "sum":  # the sum of nothing is 0
        for part in node.args:
            if isinstance(part, Entries) and 0 in [_count(checked, f, sizes) for f in part.families]:
                (empty, *_) = [f for f in part.families if _count(checked, f, sizes) == 0]
                raise OptionError(
                    f"there is no {node.atom} of no numbers: '{empty.index}' runs over {empty.dim}, "
                    "which is 0 here",
                    where=locate(empty.span),
                    hint="ask about more cells, or leave it out",
                )
    elif isinstance(node, Index) and names_in(node.base) <= {*scope.types, *sizes}:
        for item, dim in zip(node.items, infer(node.base, scope).dims, strict=True):
            if item is None or not names_in(item) <= sizes.keys() or not dim.symbols <= sizes.keys():
                continue
            at, size = float(evaluate(item, sizes)), dim.value(sizes)
            if not 0 <= at < size:
                raise OptionError(
                    f"an index of '{to_source(node.base)}' is {at:g}, expected 0 to {size - 1}",
                    where=locate(item.span),
                    hint="entries are counted from 0",
                )
