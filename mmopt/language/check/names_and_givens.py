"""The names of a program with their types, as they come into being, and where givens come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from mmopt.errors import suggest
from mmopt.language.atoms.argument_types import Curvature, Dim, Type, column, matrix
from mmopt.language.check.infer_types import Scope, infer
from mmopt.language.syntax.source_text import Source
from mmopt.language.syntax.syntax_tree import Assignment, Declaration, Expr, Span

__all__ = ["AXES", "PSD_SOURCES", "SOURCES", "Names", "declared_type"]

# name -> what it is. The binder computes them.
SOURCES: Mapping[str, str] = MappingProxyType(
    {
        "workload.matrix": "the queries, one a row, scaled by the square root of their weight",
        "workload.root": "R with RᵀR the workload Gram: the queries up to rotation",
        "workload.gram": "WᵀW",
        "workload.weights": "a weight per query",
        "workload.targets": "largest variance allowed, per query that has a target",
        "workload.basis": "independent rows B that span the queries",
        "workload.representation": "L with W = L B, the rows of queries that have a target",
        "workload.eigenqueries": "eigenvectors of the Gram as rows, of the nonzero eigenvalues",
        "workload.eigenvalues": "the nonzero eigenvalues of the Gram",
    }
)

# name -> what its entries are counted by, one word per dimension
AXES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "workload.matrix": ("query", "cell"),
        "workload.root": ("rank", "cell"),
        "workload.gram": ("cell", "cell"),
        "workload.weights": ("query",),
        "workload.targets": ("query with a target",),
        "workload.basis": ("basis query", "cell"),
        "workload.representation": ("query with a target", "basis query"),
        "workload.eigenqueries": ("eigenvalue", "cell"),
        "workload.eigenvalues": ("eigenvalue",),
    }
)
# The sources that are psd by what they are.
PSD_SOURCES = frozenset({"workload.gram"})


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

    def number(self, expr: Expr, what: str, hint: str = "", **more: Type) -> Type:
        """The type of what has to be a number; ``more`` are names that are known here only."""
        known = infer(expr, self.scope().with_types(**more))
        if not known.is_scalar:
            self.source.fail(expr.span, f"{what}, this is {known.shape}", hint)
        return known

    def new(self, name: str, span: Span) -> None:
        """Refuse a name that has a meaning already."""
        if name in self.dims:
            self.source.fail(span, f"'{name}' is a dimension already", "give it another name")
        if name in self.types:
            self.source.fail(span, f"'{name}' is defined twice", "give one of them another name")

    def compute(self, a: Assignment) -> None:
        """Define what an assignment says under a new name."""
        self.new(a.name, a.span)
        self.types[a.name] = self.assign(a)

    def declare(self, d: Declaration, curvature: Curvature) -> None:
        """Define what a declaration states; its dimensions have to be known."""
        for dim, span in zip(d.dims, d.dim_spans, strict=True):
            self.dims_known(dim, span)
        if d.kind in ("psd", "symmetric") and d.dims[0] != d.dims[1]:
            self.source.fail(
                d.dim_spans[1],
                f"'{d.kind}' is square, here are {d.dims[0]} rows and {d.dims[1]} columns",
                f"write {d.kind}[{d.dims[0]}, {d.dims[0]}]",
            )
        self.new(d.name, d.span)
        self.types[d.name] = declared_type(d, curvature)

    def dims_known(self, dim: Dim, span: Span) -> None:
        for name in sorted(dim.symbols - self.dims):
            self.source.fail(
                span,
                f"the dimension '{name}' is not defined",
                suggest(name, self.dims) or "a given introduces it",
            )

    def assign(self, a: Assignment) -> Type:
        """The type of an assignment's right side, checked against what its left side states."""
        known = self.infer(a.expr)
        if known.is_vector and known.is_row:
            self.source.fail(
                a.expr.span,
                f"'{a.name}' would be {known.shape}; a named vector is a column",
                f"name the column and write {a.name}.T where a row is meant",
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
                self.source.fail(
                    a.span,
                    f"'{a.name}' is declared {word}, which does not follow from its expression",
                    "declare it without, or write it so that it shows (W.T @ W is psd)",
                )
        return replace(known, dims=stated.dims)

    def _names_a_size(self, stated: Dim, known: Dim, span: Span) -> None:
        """A size that only the numbers tell gets a name of its own."""
        if not stated.name or stated.name in self.dims:
            self.source.fail(
                span,
                f"the number of rows is known only with the numbers, it cannot be stated as '{stated}'",
                "give it a new name, for example k",
            )
        self.new(stated.name, span)
        self.dims.add(stated.name)
