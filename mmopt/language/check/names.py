"""The names of a program with their types, as they come into being from the top of the file."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from mmopt.errors import suggest
from mmopt.language.atoms.dims import Dim
from mmopt.language.atoms.types import Curvature, Type, column, matrix
from mmopt.language.check.infer import Scope, infer
from mmopt.language.syntax.source import Source
from mmopt.language.syntax.tree import Assignment, Declaration, Expr, Span

__all__ = ["Names", "declared_type"]


def declared_type(d: Declaration, curvature: Curvature) -> Type:
    """The type that a declaration states."""
    sign = 1 if d.sign else 0
    if d.kind in ("scalar", "dim"):
        return Type(sign=1 if d.kind == "dim" else sign, curvature=curvature)
    if d.kind == "vector":
        return column(d.dims[0], sign=sign, curvature=curvature)
    psd = d.kind == "psd"
    symmetric = psd or d.kind == "symmetric"
    return matrix(*d.dims, sign=sign, psd=psd, symmetric=symmetric, curvature=curvature)


@dataclass
class Names:
    """The names known so far; ``fail`` and all checks raise :class:`~mmopt.errors.ProgramError`."""

    source: Source
    types: dict[str, Type] = field(default_factory=dict)
    dims: set[str] = field(default_factory=set)
    hints: dict[str, str] = field(default_factory=dict)

    def scope(self) -> Scope:
        return Scope(self.source, dict(self.types), frozenset(self.dims), {}, dict(self.hints))

    def infer(self, expr: Expr) -> Type:
        return infer(expr, self.scope())

    def new(self, name: str, span: Span) -> None:
        """Refuse a name that has a meaning already."""
        if name in self.dims:
            self.source.fail(span, f"'{name}' is a dimension already", "give it another name")
        if name in self.types:
            self.source.fail(span, f"'{name}' is defined twice", "give one of them another name")

    def define(self, name: str, span: Span, known: Type) -> None:
        self.new(name, span)
        self.types[name] = known

    def declare(self, d: Declaration, curvature: Curvature) -> None:
        """Define what a declaration states; its dimensions have to be known."""
        for dim, span in zip(d.dims, d.dim_spans, strict=True):
            self.dims_known(dim, span)
        if d.kind in ("psd", "symmetric") and d.dims[0] != d.dims[1]:
            message = f"'{d.kind}' is square, here are {d.dims[0]} rows and {d.dims[1]} columns"
            self.source.fail(d.dim_spans[1], message, f"write {d.kind}[{d.dims[0]}, {d.dims[0]}]")
        self.define(d.name, d.span, declared_type(d, curvature))

    def dims_known(self, dim: Dim, span: Span) -> None:
        for name in sorted(dim.symbols - self.dims):
            hint = suggest(name, self.dims)
            self.source.fail(span, f"the dimension '{name}' is not defined", hint or "a given introduces it")

    def assign(self, a: Assignment) -> Type:
        """The type of an assignment's right side, checked against what its left side states."""
        known = self.infer(a.expr)
        if known.is_vector and known.is_row:
            hint = f"name the column and write {a.name}.T where a row is meant"
            self.source.fail(
                a.expr.span, f"'{a.name}' would be {known.shape}; a named vector is a column", hint
            )
        return self._stated(a, a.declared, known) if a.declared else known

    def _stated(self, a: Assignment, d: Declaration, known: Type) -> Type:
        stated = declared_type(d, known.curvature)
        if len(stated.dims) != len(known.dims):
            self.source.fail(a.span, f"'{a.name}' is declared {stated.shape} and is {known.shape}")
        for s, k, span in zip(stated.dims, known.dims, d.dim_spans, strict=True):
            if any(name.startswith("?") for name in k.symbols):
                self._names_a_size(s, k, span)
            else:
                self.dims_known(s, span)
                if s != k:
                    self.source.fail(span, f"'{a.name}' is declared {stated.shape} and is {known.shape}")
        wrong = (
            (stated.psd and not known.psd, "psd"),
            (stated.symmetric and not known.symmetric, "symmetric"),
            (stated.sign and known.sign != stated.sign, ">= 0"),
        )
        for missing, word in wrong:
            if missing:
                message = f"'{a.name}' is declared {word}, which does not follow from its expression"
                self.source.fail(
                    a.span, message, "declare it without, or write it so that it shows (W.T @ W is psd)"
                )
        return replace(known, dims=stated.dims)

    def _names_a_size(self, stated: Dim, known: Dim, span: Span) -> None:
        """A size that only the numbers tell gets a name of its own."""
        names = list(stated.symbols)
        if len(names) != 1 or stated != Dim.of(names[0]) or names[0] in self.dims:
            message = f"the number of rows is known only with the numbers, it cannot be stated as '{stated}'"
            self.source.fail(span, message, "give it a new name, for example k")
        self.new(names[0], span)
        self.dims.add(names[0])
