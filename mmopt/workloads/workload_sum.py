"""``+`` of workloads over one domain, and what is said of two that have no sum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np
import scipy.sparse

from mmopt.errors import WorkloadError, whole
from mmopt.workloads.domain import Attribute, Domain
from mmopt.workloads.query_group import Explicit
from mmopt.workloads.query_product import Product, with_shared_factors
from mmopt.workloads.root_of_merged_cells import Block

if TYPE_CHECKING:
    from mmopt.workloads.workload import Workload

__all__ = ["Summand"]


class Summand:
    """What can be added to another of its kind: a Workload."""

    __array_ufunc__ = None  # else numpy would add a workload to each entry of an array

    def __add__(self, other: object) -> Workload:
        """The queries of both, those of the first one first; ``sum`` adds up a list.

        The sum of products keeps them. With a matrix on either side it is one matrix, of at most the memory
        limit; labels of queries stay, names of groups do not.

        Raises
        ------
        TooLargeError : products that do not fit in memory as a matrix.
        WorkloadError : no Workload, one over another domain (the attribute that differs is named), a name
            that stands in both, or a normalised one and a plain one.

        >>> import mmopt
        >>> d = mmopt.Domain.of(sex=["Female", "Male"], age={"bins": [0, 18, 65, 115]})
        >>> sum(d.marginal(name) for name in d.names)
        Workload(5 queries over 6 cells, 2 products)
        """
        if not isinstance(other, Summand):
            raise WorkloadError(
                f"a {type(other).__name__} cannot be added to a Workload, expected another Workload",
                hint="write Workload.from_matrix(matrix) for a matrix, request.workload for a request",
            )
        first = cast("Workload", self)
        return replace(first, blocks=_joined(first, cast("Workload", other)))

    def __radd__(self, other: object) -> Workload:
        if isinstance(other, int) and other == 0:  # where sum() starts
            return cast("Workload", self)
        return self.__add__(other)


def _joined(first: Workload, second: Workload) -> tuple[Block, ...]:
    """The blocks of both, in order; one matrix where there is one among them.

    Raises
    ------
    WorkloadError : other domains, a name in both, or only one of them normalised.
    """
    _check_domains(first.domain, second.domain)
    if first.is_normalised != second.is_normalised:
        which = "first" if first.is_normalised else "second"
        raise WorkloadError(
            f"the {which} workload is normalised, the other is not: their weights have different meanings",
            hint="add first, then normalise: (a + b).normalised()",
        )
    names = {block.name for block in first.blocks if isinstance(block, Product)} - {None}
    for block in second.blocks:
        if isinstance(block, Product) and block.name in names:
            raise WorkloadError(
                f"both workloads have queries of the name '{block.name}'",
                hint="rename one of them, or leave the name out: unnamed queries may stand twice",
            )
    blocks = (*first.blocks, *second.blocks)
    products = [block for block in blocks if isinstance(block, Product)]
    if len(products) == len(blocks):
        return with_shared_factors(products)
    return (_stacked(blocks, first.domain),)


def _stacked(blocks: Sequence[Block], domain: Domain) -> Explicit:
    """The queries of blocks as one matrix: nothing splits or reduces a mixture of matrices and products."""
    values = [b.rows(0, b.m) if isinstance(b, Product) else b.queries.values for b in blocks]
    is_sparse = any(scipy.sparse.issparse(each) for each in values)
    matrix = scipy.sparse.vstack(values, format="csr") if is_sparse else np.vstack(values)
    is_named = any(isinstance(b, Product) or b.queries.names for b in blocks)
    names = [label for b in blocks for label in b.labels(domain)] if is_named else []
    targets, weights = (np.concatenate([getattr(b, each) for b in blocks]) for each in ("targets", "weights"))
    return Explicit.read(matrix, targets, weights, names)


def _check_domains(first: Domain, second: Domain) -> None:
    """WorkloadError that says in which attribute two domains differ."""
    if first.describe() == second.describe():
        return
    for name in (*first.names, *second.names):
        if (name in first.names) != (name in second.names):
            which = "first" if name in first.names else "second"
            raise _other(f"only the {which} has the attribute '{name}'")
    if first.names != second.names:
        raise _other(f"their attributes stand as {', '.join(first.names)} and as {', '.join(second.names)}")
    for one, other in zip(first.attributes, second.attributes, strict=True):
        difference = _difference(one, other)
        if difference:
            raise _other(f"attribute '{one.name}' has {difference}")


def _difference(one: Attribute, other: Attribute) -> str:
    if one.size != other.size:
        return f"{whole(one.size)} cells in the first and {whole(other.size)} in the second"
    for cell, (mine, theirs) in enumerate(zip(one.labels, other.labels, strict=True)):
        if mine != theirs:
            return f"'{mine}' as cell {cell} of the first and '{theirs}' of the second"
    for rule in ("column", "outside", "missing"):
        # Without a rule rows are refused when they are counted.
        mine, theirs = (getattr(attribute, rule) or "refuse" for attribute in (one, other))
        if mine != theirs:
            return f"{rule} '{mine}' in the first and '{theirs}' in the second"
    return "" if one.encoding.describe() == other.encoding.describe() else "other table values in its cells"


def _other(difference: str) -> WorkloadError:
    return WorkloadError(
        f"workloads over different domains cannot be added: {difference}", hint="make both from one Domain"
    )
