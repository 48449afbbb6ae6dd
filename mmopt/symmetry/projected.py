"""Any queries on the components of given symmetries, which need not be those of the queries.

For a matrix X that the symmetries leave alone trace(G X) and w X wᵀ are the same for all images of G and w,
so only the mean of these images counts, and on a component that is one matrix: t tᵀ for a query w, with t the
product of one vector per attribute (``Attribute.of_query``), and the sum over a product's queries is the
product of the factors' sums.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from mmopt.errors import OptionError
from mmopt.numerics.arrays import Array, Ints
from mmopt.symmetry.attribute import Attribute
from mmopt.symmetry.cells import component_roots
from mmopt.symmetry.joint import Joint, Key, Local, combined
from mmopt.symmetry.pieces import terms_of
from mmopt.workloads.blocks.factor import Factor
from mmopt.workloads.workload import Workload

__all__ = ["QueryRows", "check_fit", "mean_roots", "query_rows"]

WEIGHTED, PLAIN, UNIT = "weighted", "plain", "unit"


def mean_roots(joint: Joint, workload: Workload, scale: str) -> dict[Key, Array]:
    """Rows (·, d) per component whose Gram matrix is the mean of the workload's there; zero ones left out.

    ``scale``: "weighted" as the workload says, "plain" without weights, or "unit", which leaves no query
    with more than unit length (as ``Workload.unit_root``).

    Raises
    ------
    OptionError : the attributes are not those of the symmetries.
    TooLargeError : a component, or their list, that does not fit in memory.
    """
    check_fit(joint, workload)
    _, terms = terms_of(workload if scale == WEIGHTED else workload.unweighted, False)
    products = workload.products
    if products is None:
        (term,) = terms
        root = {
            WEIGHTED: lambda: workload.root,
            PLAIN: lambda: workload.unweighted.root,
            UNIT: lambda: workload.unit_root,
        }[scale]
        terms = (replace(term, pieces=(replace(term.pieces[0], root=root),)),)
    elif scale == UNIT:
        factors = {id(f): f for p in products for f in p.factors}
        each = {number: float(f.squared_norms().max()) for number, f in factors.items()}
        largest = [math.prod([each[id(f)] for f in p.factors]) for p in products]
        terms = tuple(replace(t, weight=1.0 / size) for t, size in zip(terms, largest, strict=True))
    return component_roots(joint, terms, mean=True)


def check_fit(joint: Joint, workload: Workload) -> None:
    """OptionError unless the workload's attributes are those of the symmetries."""
    known = tuple(len(a.classes) for a in joint.attributes)
    found = (workload.n,) if workload.products is None else workload.domain.shape
    if known != found:
        raise OptionError(
            f"the strategy is by component over {_times(known)} cells, the queries have {_times(found)}"
        )


def _times(sizes: tuple[int, ...]) -> str:
    return " x ".join(map(str, sizes))


@dataclass(frozen=True, eq=False)
class QueryRows:
    """The unweighted queries of a block on the components, those with equal rows once.

    ``labels`` (m,): which of the ``count`` rows each query has. ``parts()`` gives key and rows (count, d) of
    each component on which they are not all zero.
    """

    pieces: tuple[_Distinct, ...]

    @property
    def count(self) -> int:
        return math.prod([piece.count for piece in self.pieces])

    @cached_property
    def labels(self) -> Ints:
        labels = np.zeros(1, dtype=np.int64)
        for piece in self.pieces:
            labels = np.add.outer(labels * piece.count, piece.labels).ravel()
        return labels

    def parts(self) -> Iterator[tuple[Key, Array]]:
        return combined([piece.local for piece in self.pieces])


@dataclass(frozen=True, eq=False)
class _Distinct:
    """The ``count`` different rows of a factor on the parts of its attribute, and which each query has."""

    local: Local
    count: int
    labels: Ints


def query_rows(joint: Joint, workload: Workload) -> Iterator[QueryRows]:
    """The queries block by block, in the order of the workload; errors as ``mean_roots``."""
    check_fit(joint, workload)
    products = workload.products
    if products is None:
        yield QueryRows((_distinct(joint.attributes[0], workload.queries),))
        return
    known = tuple(
        {id(f): _of_factor(attribute, f) for f in {id(p.factors[i]): p.factors[i] for p in products}.values()}
        for i, attribute in enumerate(joint.attributes)
    )
    for product in products:
        yield QueryRows(tuple([own[id(f)] for own, f in zip(known, product.factors, strict=True)]))


def _of_factor(attribute: Attribute, factor: Factor) -> _Distinct:
    if factor.kind == "identity":  # without the n × n identity matrix
        _, first = np.unique(attribute.classes, return_index=True)
        found = _distinct(attribute, factor.take(first.astype(np.int64)))
        return replace(found, labels=found.labels[attribute.classes])
    return _distinct(attribute, factor.matrix())


def _distinct(attribute: Attribute, rows: Array) -> _Distinct:
    sums = attribute.sums(rows)
    once = np.ones(len(rows), dtype=np.int64)
    found = [attribute.of_query(part, rows, sums, once) for part in attribute.parts]
    whole, labels = np.unique(np.hstack(found), axis=0, return_inverse=True)
    ends = np.cumsum([part.dim for part in attribute.parts])
    parts = np.split(whole, ends[:-1], axis=1)
    local = Local({k: own for k, own in enumerate(parts) if own.any()})
    return _Distinct(local, len(whole), np.asarray(labels, dtype=np.int64).reshape(-1))
