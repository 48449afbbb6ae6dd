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

import numpy as np

from mmopt.errors import OptionError
from mmopt.queries.arrays import Array, Ints
from mmopt.queries.factor_base import Factor
from mmopt.queries.symmetry.attribute import Attribute
from mmopt.queries.symmetry.cells import component_roots
from mmopt.queries.symmetry.joint import Joint, Key, choices, kron_rows
from mmopt.queries.symmetry.pieces import terms_of
from mmopt.queries.workload import Workload

__all__ = ["QueryRows", "mean_roots", "query_rows"]

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
    _, terms = terms_of(workload, False)
    products = workload.products
    if products is None:
        (term,) = terms
        root = {
            WEIGHTED: lambda: workload.root,
            PLAIN: lambda: workload.unweighted.root,
            UNIT: lambda: workload.unit_root,
        }[scale]
        terms = (replace(term, pieces=(replace(term.pieces[0], root=root),)),)
    elif scale == PLAIN:
        terms = tuple(replace(term, weight=1.0) for term in terms)
    elif scale == UNIT:
        each = {id(f): float(f.squared_norms().max()) for f in {id(f): f for p in products for f in p.factors}.values()}
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

    joint: Joint
    local: tuple[Local, ...]
    labels: Ints

    @property
    def count(self) -> int:
        return math.prod(self._counts)

    def parts(self) -> Iterator[tuple[Key, Array]]:
        yield from combined(self.local)


def query_rows(joint: Joint, workload: Workload) -> Iterator[QueryRows]:
    """The queries block by block, in the order of the workload; errors as ``mean_roots``."""
    check_fit(joint, workload)
    products = workload.products
    if products is None:
        local, labels = _distinct(joint.attributes[0], workload.queries)
        yield QueryRows(joint, (local,), labels)
        return
    known: dict[tuple[int, Factor], tuple[dict[int, Array], Ints]] = {}
    for product in products:
        for place in enumerate(product.factors):
            if place not in known:
                known[place] = _of_factor(joint.attributes[place[0]], place[1])
        own = [known[place] for place in enumerate(product.factors)]
        labels = np.zeros(1, dtype=np.int64)
        for local, numbers in own:
            labels = np.add.outer(labels * len(local[0]), numbers).ravel()
        yield QueryRows(joint, tuple(local for local, _ in own), labels)


def _of_factor(attribute: Attribute, factor: Factor) -> tuple[dict[int, Array], Ints]:
    if factor.kind == "identity":  # without the n × n identity matrix
        _, first = np.unique(attribute.classes, return_index=True)
        local, labels = _distinct(attribute, factor.take(first.astype(np.int64)))
        return local, labels[attribute.classes]
    return _distinct(attribute, factor.matrix())


def _distinct(attribute: Attribute, rows: Array) -> tuple[dict[int, Array], Ints]:
    """Coordinates (k, dim) on each part, equal ones once, and which of them each row has."""
    sums = attribute.sums(rows)
    once = np.ones(len(rows), dtype=np.int64)
    found = [attribute.of_query(part, rows, sums, once) for part in attribute.parts]
    whole, labels = np.unique(np.hstack(found), axis=0, return_inverse=True)
    ends = np.cumsum([part.dim for part in attribute.parts])
    parts = np.split(whole, ends[:-1], axis=1)
    return dict(enumerate(parts)), np.asarray(labels, dtype=np.int64).reshape(-1)
