"""Value symmetry and reflection: a program over components with multiplicities instead of cells.

Theorem. Let a group of permutations of the cells leave the workload alone (for accuracy targets: with
permutations and signs of the queries that keep their targets), and let the program go with permutations of
cells and queries and with rotations of root and basis. Then the average of all images of an optimal point is
optimal too, by convexity, and so are averaged multipliers: both are known by one matrix per component of
the space of cells and one number per orbit (``mmopt.queries.symmetry``). Every line of the program is
evaluated on these components, exactly as on the whole.

Unlike the other reductions it leaves the workload as it is and changes what stands for its arrays, which
only a kernel can take. So it comes last, and says nothing where no kernel claims the program.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mmopt.compiler.actions import PERMUTE_CELLS, PERMUTE_QUERIES, ROTATE_BASIS, ROTATE_ROOT
from mmopt.compiler.bind import Instance, bind
from mmopt.compiler.equivariance import equivariance
from mmopt.language import Checked, evaluate
from mmopt.language.by_component import has_forms
from mmopt.language.tree import names_in
from mmopt.queries import Workload
from mmopt.queries.symmetry import symmetry

__all__ = ["by_components"]

ACTIONS = (PERMUTE_CELLS, PERMUTE_QUERIES, ROTATE_ROOT, ROTATE_BASIS)
TARGETS = frozenset({"workload.targets", "workload.representation", "workload.basis"})
# A largest component of more than this part of the cells saves too little to be worth the detour.
WORTH = 0.8


def by_components(
    checked: Checked, workload: Workload, givens: Mapping[str, Any]
) -> tuple[Instance, str] | None:
    """The program bound to the workload's components, and one line on their sizes.

    ``givens`` are those that the caller passes. None when the program does not go with permutations and
    rotations, when it takes something else of the workload, or when there is no symmetry worth the while.

    Raises
    ------
    WorkloadError : the program asks for targets, and the workload lacks them.
    """
    program = checked.program
    sources = {d.source for d in program.givens if d.name not in givens}
    with_targets = bool(sources & TARGETS)
    if not sources <= (TARGETS if with_targets else {"workload.root", "workload.gram"}):
        return None
    if not has_forms(program):
        return None
    numbers = {n: float(v) for n, v in givens.items() if isinstance(v, int | float)}
    if not equivariance(checked, frozenset(givens), _defaults(checked, numbers)).allows(*ACTIONS):
        return None
    found = symmetry(workload, with_targets)
    if found is None or found.cells.largest > WORTH * workload.n:
        return None
    return bind(checked, workload, givens, found.sources), str(found)


def _defaults(checked: Checked, passed: Mapping[str, float]) -> dict[str, float]:
    """The parameters that are numbers, as passed or as the file has them."""
    known = {p.name: p for p in checked.program.parameters if not names_in(p.expr) and p.declared is None}
    return {n: passed.get(n, float(evaluate(p.expr, {}))) for n, p in known.items()}
