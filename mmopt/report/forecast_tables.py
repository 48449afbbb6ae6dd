"""What a solve will take, before it starts: dimensions, cones, and a forecast for each solver."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from rich.table import Table

from mmopt.compiler import Cone, Instance, bind, cones, variables
from mmopt.driver.free_vector import Coordinates
from mmopt.driver.search.rank_search import ROUNDS, STARTS
from mmopt.driver.solve_plan import SolvePlan, plan_instance, plan_solve
from mmopt.errors import Error
from mmopt.language import Program, evaluate
from mmopt.language.syntax.syntax_tree import SubProgram, names_in
from mmopt.report.table_style import duration, memory, pairs_table, rows_table
from mmopt.solvers import (
    LBFGS,
    SOLVERS,
    choose_solver,
    claims,
    conic_solver,
    forecast,
    is_claimed,
    memory_limit,
    missing_cones,
)
from mmopt.workloads import Workload

__all__ = [
    "CONE_COLUMNS",
    "SOLVER_COLUMNS",
    "Sizes",
    "SolverSize",
    "cone_rows",
    "cones_table",
    "sizes_at",
    "sizes_of",
    "sizes_tables",
    "solver_rows",
    "solvers_table",
]

CONE_COLUMNS = ("cone", "size", "count", "from")
SOLVER_COLUMNS = ("solver", "memory", "time", "remark")
SEARCH = (
    f"up to {STARTS * ROUNDS} solves, how many is not known; times are of one"  # of a program of class rank
)


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
    """A program, a step of a procedure or a factor, at a workload's sizes. A smooth program has no cones.

    ``chosen`` is the solver that would run; ``refusal`` says why none would. ``conic`` is the conic solver
    that would run without kernels, where there is one. ``step`` names the step, or the attributes of a
    factor. ``reductions``: what a solve would do first, a line each; ``components``: how the workload splits,
    where its solution stays by component. ``search``: how often it is solved, of a program with a rank. Cones
    and dimensions are those before any reduction.
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
    search: str = ""
    is_factor: bool = False

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
            "search": self.search or None,
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
    """The sizes of a program, of the steps of a procedure that depend on no earlier step, or of factors.

    ``reduce`` False: over all cells, even where a workload is large.

    What a step gets only as a parameter, a number that no size depends on, may be known later.

    Raises
    ------
    mmopt.Error : the program does not fit the workload or the givens. A problem that no solver takes is
        no error here; ``Sizes.refusal`` holds it.
    """
    plan = plan_solve(program, workload, givens, reduce=reduce, solver=solver)
    if plan.factors:
        found = [_planned(part, solver, ", ".join(names)) for part, names in plan.attributes.items()]
        return [replace(s, reductions=(plan.split, *s.reductions), is_factor=True) for s in found]
    if not program.steps:
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
            inner = bind(
                solved, workload, {name: evaluate(expr, instance.env) for name, expr in known.items()}
            )
            out.append(_planned(plan_instance(inner, solver, reduce=reduce), solver, step.name))
    return out


def _planned(plan: SolvePlan, solver: str | None, step: str = "") -> Sizes:
    return replace(sizes_at(plan.instance, solver, step), components=plan.split, reductions=plan.lines)


def sizes_at(instance: Instance, solver: str | None = None, step: str = "") -> Sizes:
    """The sizes of a program with its numbers filled in. One of class smooth is searched, not handed over."""
    program, sizes = instance.program, instance.sizes()
    is_searched = program.klass == "smooth"
    needed = [] if is_searched else cones(instance.checked, sizes)
    if is_searched:
        unknowns = sum(map(Coordinates(program.choose, sizes).length, program.choose))
    else:
        unknowns = variables(instance.checked, sizes)
    rows = []
    for claim in claims(instance):
        predicted = claim.forecast(instance)
        rows.append(SolverSize(claim.name, True, (), predicted.memory, predicted.seconds))
    for row in () if is_searched else SOLVERS:
        predicted = forecast(row, needed, unknowns)
        missing = tuple(missing_cones(row, needed))
        rows.append(SolverSize(row.name, row.is_installed, missing, predicted.memory, predicted.seconds))
    refusal: Error | None = None
    chosen = conic = None
    try:
        chosen = LBFGS.name
        if not is_searched or is_claimed(instance, solver):
            chosen = choose_solver(instance, solver).name
    except Error as error:
        chosen, refusal = None, error
    if chosen is not None and not is_searched:
        with suppress(Error):
            conic = chosen if chosen in {row.name for row in SOLVERS} else conic_solver(instance, None).name
    return Sizes(
        program.name,
        step,
        sizes,
        unknowns,
        tuple(needed),
        tuple(rows),
        chosen,
        refusal,
        memory_limit(),
        conic,
        search=SEARCH * (program.klass == "rank"),
    )


# -- as tables


def cone_rows(sizes: Sizes) -> list[tuple[str, ...]]:
    """The cones that the problem is handed over in, and the line of the program that each comes from."""
    return [(cone.kind, f"{cone.size:,}", f"{cone.count:,}", cone.origin) for cone in sizes.cones]


def solver_rows(sizes: Sizes) -> list[tuple[str, ...]]:
    """Which solver takes the problem, or the cone that it lacks; predicted memory and time."""
    return [_solver_row(solver, sizes) for solver in sizes.solvers]


def _solver_row(s: SolverSize, sizes: Sizes) -> tuple[str, ...]:
    if s.missing:
        return s.name, "-", "-", f"lacks the {' and the '.join(s.missing)} cone"
    remarks = ["chosen"] * (s.name == sizes.chosen) + ["not installed"] * (not s.installed)
    if s.memory > sizes.memory_limit:
        remarks.append(f"over the limit of {memory(sizes.memory_limit)}")
    return s.name, memory(s.memory), f"≈ {duration(s.seconds)}", ", ".join(remarks)


def cones_table(sizes: Sizes) -> Table:
    """``cone_rows`` as a table."""
    return rows_table(CONE_COLUMNS, cone_rows(sizes), CONE_COLUMNS[1:3])


def solvers_table(sizes: Sizes) -> Table:
    """``solver_rows`` as a table."""
    return rows_table(SOLVER_COLUMNS, solver_rows(sizes), SOLVER_COLUMNS[1:3])


def sizes_tables(sizes: Sequence[Sizes]) -> Iterator[object]:
    """Dimensions, cones and solvers of each problem, an empty line before each table."""
    for problem in sizes:
        word = "factor" if problem.is_factor else "step"
        name = f"{problem.program} ({word} '{problem.step}')" if problem.step else problem.program
        rows = [
            ("problem", name),
            ("dimensions", ", ".join(f"{dim} = {size:,}" for dim, size in problem.dims.items())),
            ("unknowns", f"{problem.variables:,}"),
            *((("components", problem.components),) if problem.components else ()),
            *(("reduced by", line) for line in problem.reductions if line != problem.components),
            ("solver", problem.chosen or "none can take it"),
            *((("search", problem.search),) if problem.search else ()),
        ]
        yield from ("", pairs_table(rows))
        if problem.cones:
            yield from ("", cones_table(problem))
        if problem.solvers:
            yield from ("", solvers_table(problem))
