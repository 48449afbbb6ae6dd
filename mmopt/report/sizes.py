"""What a solve will take, before it starts: dimensions, cones, and a forecast for each solver."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from mmopt.compiler import Cone, Instance, bind, cones, variables
from mmopt.driver.choice import choose_solver, is_claimed, pick_solver
from mmopt.driver.plan import Plan, plan_instance, plan_solve
from mmopt.driver.search.coordinates import Coordinates
from mmopt.errors import Error
from mmopt.language import Program, evaluate
from mmopt.language.syntax.tree import SubProgram, names_in
from mmopt.solvers import LBFGS, SOLVERS, Claim, claims, forecast, memory_limit, missing_cones
from mmopt.workloads import Workload

__all__ = ["Sizes", "SolverSize", "sizes_at", "sizes_of"]


@dataclass(frozen=True)
class SolverSize:
    """One solver on one problem: the cones that it lacks, or what it is predicted to need."""

    name: str
    installed: bool
    missing: tuple[str, ...]
    memory: float  # bytes
    seconds: float

    def summary(self) -> dict[str, Any]:
        """One JSON object; nothing is predicted for a solver that cannot take the problem."""
        able = not self.missing
        return {
            "name": self.name,
            "installed": self.installed,
            "missing_cones": list(self.missing),
            "memory": self.memory if able else None,
            "seconds": self.seconds if able else None,
        }


@dataclass(frozen=True)
class Sizes:
    """A program, or a step of a procedure, at a workload's sizes. A smooth program has no cones.

    ``chosen`` is the solver that would run; ``refusal`` says why none would. ``conic`` is the conic solver
    that would run without kernels, where there is one. ``step`` names the step. ``reductions``: what a solve
    would do first, a line each; ``components``: how the workload splits, where its solution stays by
    component. Cones and dimensions are those before any reduction.
    """

    program: str
    step: str
    dims: Mapping[str, int]
    variables: int
    cones: tuple[Cone, ...]
    solvers: tuple[SolverSize, ...]
    chosen: str | None
    refusal: Error | None
    memory_limit: float
    conic: str | None = None
    components: str = ""
    reductions: tuple[str, ...] = ()

    def summary(self) -> dict[str, Any]:
        """One JSON object; memory in bytes."""
        return {
            "program": self.program,
            "step": self.step or None,
            "dims": dict(self.dims),
            "variables": self.variables,
            "cones": [
                {"kind": c.kind, "size": c.size, "count": c.count, "origin": c.origin} for c in self.cones
            ],
            "solver": self.chosen,
            "solvers": [s.summary() for s in self.solvers],
            "memory_limit": self.memory_limit,
            "components": self.components or None,
            "reductions": list(self.reductions),
            "refusal": None if self.refusal is None else str(self.refusal),
        }


def sizes_of(
    program: Program,
    workload: Workload,
    givens: Mapping[str, Any] | None = None,
    solver: str | None = None,
    *,
    reduce: bool = True,
) -> list[Sizes]:
    """The sizes of a program, or of the steps of a procedure that depend on no earlier step.

    ``reduce`` False: over all cells, even where a workload is large.

    What a step gets only as a parameter, a number that no size depends on, may be known later.

    Raises
    ------
    mmopt.Error : the program does not fit the workload or the givens. A problem that no solver takes is
        no error here; ``Sizes.refusal`` holds it.
    """
    plan = plan_solve(program, workload, givens, reduce=reduce, solver=solver)
    if program.klass != "procedure":
        return [_planned(plan, solver)]
    instance = plan.instance
    out = []
    for step in program.steps:
        if not isinstance(step, SubProgram):
            continue
        solved = Program.load(step.program)
        plain = {p.name for p in solved.parameters if p.declared is None or p.declared.kind == "scalar"}
        known = {n: e for n, e in step.arguments if names_in(e) <= set(instance.env)}
        if {n for n, _ in step.arguments} <= known.keys() | plain:
            arguments = {name: evaluate(expr, instance.env) for name, expr in known.items()}
            inner = bind(solved, workload, arguments)
            out.append(_planned(plan_instance(inner, solver, reduce=reduce), solver, step.name))
    return out


def _planned(plan: Plan, solver: str | None, step: str = "") -> Sizes:
    return replace(sizes_at(plan.instance, solver, step), components=plan.split, reductions=plan.lines)


def _searched(instance: Instance, solver: str | None, step: str) -> Sizes:
    """A smooth program: unknowns, no cones, and the kernel that knows it."""
    program, sizes = instance.program, instance.sizes()
    coordinates = Coordinates(program.choose, sizes)
    unknowns = sum(map(coordinates.length, program.choose))
    rows = tuple(_claimed(claim, instance) for claim in claims(instance))
    refusal: Error | None = None
    chosen: str | None = LBFGS.name
    if is_claimed(instance, solver):
        try:
            chosen = choose_solver(instance, solver).name
        except Error as error:
            chosen, refusal = None, error
    return Sizes(program.name, step, sizes, unknowns, (), rows, chosen, refusal, memory_limit())


def _claimed(claim: Claim, instance: Instance) -> SolverSize:
    own = claim.forecast(instance)
    return SolverSize(claim.name, True, (), own.memory, own.seconds)


def sizes_at(instance: Instance, solver: str | None = None, step: str = "") -> Sizes:
    """The sizes of a program with its numbers filled in."""
    if instance.program.klass == "smooth":
        return _searched(instance, solver, step)
    sizes = instance.sizes()
    needed = cones(instance.checked, sizes)
    unknowns = variables(instance.checked, sizes)
    rows = [_claimed(claim, instance) for claim in claims(instance)]
    for row in SOLVERS:
        predicted = forecast(row, needed, unknowns)
        missing = tuple(missing_cones(row, needed))
        rows.append(SolverSize(row.name, row.is_installed, missing, predicted.memory, predicted.seconds))
    refusal: Error | None = None
    chosen = None
    try:
        chosen = choose_solver(instance, solver).name
    except Error as error:
        refusal = error
    conic = chosen if chosen in {row.name for row in SOLVERS} else None
    if conic is None and chosen is not None:
        with suppress(Error):
            conic = pick_solver(instance, None).name
    return Sizes(
        instance.program.name,
        step,
        sizes,
        unknowns,
        tuple(needed),
        tuple(rows),
        chosen,
        refusal,
        memory_limit(),
        conic,
    )
