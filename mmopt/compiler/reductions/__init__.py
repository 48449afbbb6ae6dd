"""Exact reductions of an instance to smaller ones of the same program: one explicit list, in order.

Each file states its theorem and has ``applies``, which decides by the program's tree and the
workload, and a plan whose ``lift`` leads back. After each reduction the list is gone through again.

Cells, zeros and factors are compared as they were given; a multiple of a query, a degree and what is as good
as zero in a lift are decided to rounding. None of it is believed: the lifted point and multipliers are scored
over all cells (``pipeline.reduced``). By component nothing is scored again, so symmetries are decided exactly
(``queries.symmetry.swaps``, ``cells``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from mmopt.compiler.bind import Instance
from mmopt.compiler.reductions import blocks, kronecker, merge_cells, parallel_queries
from mmopt.compiler.reductions.plan import Plan, Solved, Traits, reducible, smaller, traits_of
from mmopt.compiler.reductions.value_symmetry import by_components, obstacle

__all__ = [
    "REDUCTIONS",
    "Plan",
    "Reduction",
    "Solved",
    "Traits",
    "by_components",
    "first_plan",
    "obstacle",
    "planned",
    "reducible",
    "smaller",
    "traits_of",
]


@dataclass(frozen=True)
class Reduction:
    """A row of the list; ``place`` says why it stands where it stands."""

    name: str
    applies: Callable[[Instance, Traits], Plan | None]
    place: str


REDUCTIONS = (
    Reduction("merge cells", merge_cells.applies, "first: it keeps products, and all others get smaller"),
    Reduction("Kronecker product", kronecker.applies, "before what makes a matrix of a product"),
    Reduction("independent blocks", blocks.applies, "before queries are looked at: there are fewer in each"),
    Reduction("parallel queries", parallel_queries.applies, "last: it leaves the cells as they are"),
)

# Left out:
# - the Gram root (only W.T @ W matters): programs of total error take workload.root, which has at most n rows
# - queries without a target, in programs that ask for targets: they stand in no line of the program
# - merging cells in programs of class rank: a search, which proves no more than the bound of l2_strategy;
#   their number of rows p = n counts the cells, and with fewer rows than n a strategy may be worse
# - Kronecker products of weighting programs: their design queries are arrays from outside, or eigenvectors


def first_plan(instance: Instance, traits: Traits) -> Plan | None:
    """The first reduction of the list that applies."""
    for reduction in REDUCTIONS:
        plan = reduction.applies(instance, traits)
        if plan is not None:
            return plan
    return None


def planned(instance: Instance) -> tuple[str, ...]:
    """What the reductions would do, a line each as in ``Solution.reductions``; nothing is solved."""
    if not reducible(instance):
        return ()
    traits = traits_of(instance)
    known: set[str] = set()

    def lines(inner: Instance, prefix: str) -> Iterator[str]:
        plan = first_plan(inner, traits)
        if plan is None:
            return
        yield prefix + plan.text
        for word, part in plan.parts(prefix):
            if part.hash not in known:
                known.add(part.hash)
                yield from lines(smaller(inner, part), word)

    return tuple(lines(instance, ""))
