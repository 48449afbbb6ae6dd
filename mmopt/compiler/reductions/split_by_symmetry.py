"""Value symmetry and reflection: a program over components with multiplicities instead of cells.

Theorem. Let a group of permutations of the cells leave the workload alone (for accuracy targets: with
permutations and signs of the queries that keep their targets), and let the program go with permutations of
cells and queries and with rotations of root and basis. Then the average of all images of an optimal point is
optimal too, by convexity, and so are averaged multipliers: both are known by one matrix per component of
the space of cells and one number per orbit (``mmopt.symmetry``). Every line of the program is
evaluated on these components, exactly as on the whole.

Unlike the other reductions it leaves the workload as it is and changes what stands for its arrays, which
only a kernel can take. A workload of very many cells stays by component; else what is found is lifted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mmopt.compiler.bind import Instance, bind
from mmopt.compiler.invariance.equivariance import Equivariance
from mmopt.compiler.invariance.workload_actions import PERMUTED
from mmopt.compiler.reductions.reduction_step import ReductionStep, SolvedPart, Traits, traits
from mmopt.language import Checked, evaluate
from mmopt.language.evaluate.split_values import without_form
from mmopt.language.syntax.syntax_tree import names_in
from mmopt.numerics.split_arrays import Level, Split, lift
from mmopt.strategies import as_dense
from mmopt.symmetry import symmetry
from mmopt.workloads import Workload

__all__ = ["SECTOR_TOTALS", "ValueSymmetry", "applies", "by_components", "obstacle"]

TOTAL_SOURCES = frozenset({"workload.root", "workload.gram"})
SECTOR_TOTALS = frozenset({"workload.root", "workload.matrix"})  # in the space of the queries
TARGET_SOURCES = frozenset({"workload.targets", "workload.representation", "workload.basis"})
# A largest component of more than this part of the cells saves too little to be worth the detour.
LARGEST_WORTHWHILE = 0.8


def obstacle(
    checked: Checked,
    givens: Mapping[str, Any],
    acts: Equivariance | None = None,
    totals: frozenset[str] = TOTAL_SOURCES,
) -> str:
    """Why a program, with these givens, cannot be taken to the components of any workload; "" if it can.

    ``acts``: what the program goes with, where that is known. ``totals``: what it may take without targets.
    """
    program = checked.program
    if program.klass != "convex":
        return f"it is of class {program.klass}, where no solution needs to have the workload's symmetries"
    if program.neighbours is not None and program.neighbours.kind != "add-remove":
        return f"its guarantee is for '{program.neighbours.kind}', and columns alone are known by component"
    arrays = [name for name, value in givens.items() if np.ndim(value)]
    if arrays:
        return f"'{arrays[0]}' is passed as an array, which need not have the workload's symmetries"
    sources = _sources(checked, givens)
    other = sorted(sources - (TARGET_SOURCES if sources & TARGET_SOURCES else totals))
    if other:
        return f"it takes {other[0]}, which is not known by component"
    if acts is None:
        numbers = _defaults(checked, {name: float(value) for name, value in givens.items()})
        acts = traits(checked, frozenset(givens), frozenset(numbers.items())).acts
    why = acts.why_not(*PERMUTED)
    if why:
        return f"it does not go with the symmetries: {why}"
    form = without_form(program)
    return f"{form} has no form by components" if form else ""


def by_components(
    checked: Checked,
    workload: Workload,
    givens: Mapping[str, Any],
    basis: Split | None = None,
    largest: int | None = None,
    acts: Equivariance | None = None,
) -> tuple[Instance, str] | None:
    """The program bound to the workload's components, and one line on their sizes.

    ``givens`` are those that the caller passes; ``basis`` takes the place of the workload's basis. None where
    ``obstacle`` sees one, or when there is no symmetry worth the while: no component may have more cells than
    ``largest``.

    Raises
    ------
    WorkloadError : the program asks for targets, and the workload lacks them; another basis of another space.
    """
    if obstacle(checked, givens, acts):
        return None
    sources = _sources(checked, givens)
    most = min(LARGEST_WORTHWHILE * workload.n, math.inf if largest is None else largest)
    found = symmetry(workload, bool(sources & TARGET_SOURCES), most)
    if found is None:
        return None
    if basis is not None:
        found = found.in_basis(basis)
    return bind(checked, workload, givens, found.taken(sources)), str(found)


@dataclass(frozen=True, eq=False, kw_only=True)
class ValueSymmetry(ReductionStep):
    """The one part is the program by component."""

    def lift(self, parts: Sequence[SolvedPart]) -> SolvedPart:
        """The strategy and the multipliers over all cells."""
        (part,) = parts
        values = part.multipliers.items()
        multipliers = {n: lift(v) if isinstance(v, Split | Level) else v for n, v in values}
        return SolvedPart(as_dense(part.strategy), multipliers, part.bound)


def applies(instance: Instance, traits: Traits) -> ValueSymmetry | None:
    """The workload has symmetries, and the program takes nothing else than what is known by component."""
    found = None if instance.own else by_components(instance.checked, instance.workload, {}, acts=traits.acts)
    return None if found is None else ValueSymmetry(text=found[1], parts=(found[0],))


def _sources(checked: Checked, givens: Mapping[str, Any]) -> set[str]:
    """What is taken of the workload."""
    return {d.source for d in checked.program.givens if d.name not in givens}


def _defaults(checked: Checked, passed: Mapping[str, float]) -> dict[str, float]:
    """The parameters that are numbers, as passed or as the file has them."""
    scalars = [p for p in checked.program.parameters if p.declared is None or p.declared.kind == "scalar"]
    known = {p.name: p for p in scalars if not names_in(p.expr)}
    return {n: passed.get(n, float(evaluate(p.expr, {}))) for n, p in known.items()}
