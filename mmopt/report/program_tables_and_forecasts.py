"""Tables of programs, and forecasts of solves.

A forecast is made before a solve starts: dimensions, cones, and memory and time for each solver. Programs are
shown as a list, as text in colours, with their givens, and with the solvers that take them.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from rich.text import Text

from mmopt.compiler import Cone, Instance, bind, cones
from mmopt.compiler.reductions import SECTOR_TOTALS, obstacle
from mmopt.driver.rank_search import most_solves, predicted_round
from mmopt.driver.smooth_search import Coordinates
from mmopt.driver.task_and_plan import SolvePlan, plan_instance, plan_solve
from mmopt.errors import Error
from mmopt.language import (
    SOURCES,
    Checked,
    Program,
    SubProgram,
    Type,
    evaluate,
    names_in,
    plain_words,
    prose,
    shipped,
    solved_programs,
)
from mmopt.report.table_style import Row, Table, bold, cell, duration, figure, memory, pairs_table, rows_table
from mmopt.solvers import (
    KERNELS,
    LBFGS,
    SOLVERS,
    Forecast,
    SolverRow,
    choose_solver,
    claims,
    conic_solver,
    forecast,
    is_claimed,
    known_as,
    memory_limit,
    missing_cones,
    predicted,
    problem_size,
    sector_kernel,
)
from mmopt.workloads import Workload


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

    ``chosen`` is the solver that would run; ``refusal`` is the reason where none would. ``conic`` is the
    conic solver that would run without kernels, where there is one. ``step`` names the step, or the
    attributes of a factor. ``reductions``: what a solve would do first, a line each; ``components``: how the
    workload splits, where its solution stays by component. ``search``: how often a program with a rank is
    solved. Cones and dimensions are those before any reduction.
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
    limits: Mapping[str, Any] | None = None,
) -> list[Sizes]:
    """The sizes of a program, of the steps of a procedure that depend on no earlier step, or of factors.

    ``reduce`` False: over all cells, even where a workload is large. ``limits``: options, of which starts and
    iterations bound a search.

    An argument that a step takes as a parameter, a number that no size depends on, may still be unknown.

    Raises
    ------
    mmopt.Error : the program does not fit the workload or the givens. A problem that no solver takes is
        no error here; ``Sizes.refusal`` holds it.
    """
    plan = plan_solve(program, workload, givens, reduce=reduce, solver=solver)
    if plan.factors:
        factors = [
            _planned(part, solver, limits, ", ".join(names)) for part, names in plan.attributes.items()
        ]
        return [replace(s, reductions=(plan.split, *s.reductions), is_factor=True) for s in factors]
    if not program.steps:
        return [_planned(plan, solver, limits)]
    env, out = plan.instance.env, []
    for step in (step for step in program.steps if isinstance(step, SubProgram)):
        solved = Program.load(step.program)
        numbers = {p.name for p in solved.parameters if p.declared is None or p.declared.kind == "scalar"}
        arguments = {name: expr for name, expr in step.arguments if names_in(expr) <= set(env)}
        if {name for name, _ in step.arguments} <= arguments.keys() | numbers:
            values = {name: evaluate(expr, env) for name, expr in arguments.items()}
            inner = plan_instance(bind(solved, workload, values), solver, reduce=reduce)
            out.append(_planned(inner, solver, limits, step.name))
    return out


def _planned(plan: SolvePlan, solver: str | None, limits: Mapping[str, Any] | None, step: str = "") -> Sizes:
    """The sizes of a plan's problem, with the reductions that the plan makes."""
    return replace(
        sizes_at(plan.instance, solver, step, limits), components=plan.split, reductions=plan.lines
    )


def sizes_at(
    instance: Instance,
    solver: str | None = None,
    step: str = "",
    limits: Mapping[str, Any] | None = None,
) -> Sizes:
    """The sizes of a program with its numbers filled in. A smooth program is searched, not handed over."""
    program, sizes = instance.program, instance.sizes()
    is_searched = program.problem_class == "smooth"
    needed, unknowns, entries = (
        (list[Cone](), sum(map(Coordinates(program.choose, sizes).length, program.choose)), 0.0)
        if is_searched
        else problem_size(instance)
    )
    forecasts: list[tuple[Forecast, bool, tuple[str, ...]]] = [
        *((predicted(instance, claim), True, ()) for claim in claims(instance)),
        *(
            (forecast(row, needed, unknowns, entries), row.is_installed, tuple(missing_cones(row, needed)))
            for row in (() if is_searched else SOLVERS)
        ),
    ]
    refusal: Error | None = None
    chosen: str | None = LBFGS.name
    conic = None
    try:
        if not is_searched or is_claimed(instance, solver):
            chosen = choose_solver(instance, solver).name
    except Error as error:
        chosen, refusal = None, error
    if chosen is not None and not is_searched:
        with suppress(Error):
            conic = chosen if chosen in {row.name for row in SOLVERS} else conic_solver(instance, None).name
    search = ""
    if program.problem_class == "rank":
        search = f"up to {(times := most_solves(instance, limits or {})):,} solves"
        if chosen is not None:
            once = predicted_round(instance, conic_solver(instance, solver))
            search += f" of about {figure(once, 1)} s each, {duration(once * times)} in all; most end sooner"
    return Sizes(
        program=program.name,
        step=step,
        dims=sizes,
        variables=unknowns,
        cones=tuple(needed),
        solvers=tuple(
            SolverSize(one.solver, is_installed, missing, one.memory, one.seconds)
            for one, is_installed, missing in forecasts
        ),
        chosen=chosen,
        refusal=refusal,
        memory_limit=memory_limit(),
        conic=conic,
        search=search,
    )


# -- as tables


def cones_table(sizes: Sizes) -> Table:
    """The cones that the problem is handed over in, and the line of the program that each comes from."""
    rows = (((cone.kind,), f"{cone.size:,}", f"{cone.count:,}", cone.origin) for cone in sizes.cones)
    return rows_table(("cone", "size", "count", "from"), rows, ("size", "count"), whole=("cone", "from"))


def solvers_table(sizes: Sizes) -> Table:
    """A row for each solver: predicted memory and time, or the cones that it lacks."""
    rows: list[Row] = []
    for s in sizes.solvers:
        remarks = (
            *["chosen"] * (s.name == sizes.chosen),
            *["not installed"] * (not s.installed),
            *[f"over the limit of {memory(sizes.memory_limit)}"] * bool(s.memory > sizes.memory_limit),
        )
        figures = (
            ("-", "-", f"lacks the {' and the '.join(s.missing)} cone")
            if s.missing
            else (memory(s.memory), f"≈ {duration(s.seconds)}", ", ".join(remarks))
        )
        rows.append(((s.name,), *figures))
    return rows_table(("solver", "memory", "time", "remark"), rows, ("memory", "time"), whole=("solver",))


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


_SECTION = re.compile(
    r"^(program|title|source|class|language|formulation of|about|given|parameter|let|require|choose|minimize|"
    r"maximize|subject to|start|search|steps|repair|value|strategy|covariance|certificate|bound|proof)\b",
    re.MULTILINE,
)
_PROSE = re.compile(r"^(?:about|proof)[^\n]*\n((?:(?:[ \t][^\n]*)?\n)*)", re.MULTILINE)
_VENUE = re.compile(r"(?<!\()\b[A-Z]{2,} \d{4}[^;]*")
_NAME = re.compile(r"^[ \t]+(\w+)(?=:| =)", re.MULTILINE)
_STRING = re.compile(r'"[^"\n]*"')
_COMMENT = re.compile(r"#[^\n]*")
# Styles of the text of a program, in this order: later ones cover earlier ones.
STYLES = (
    (_NAME, "cyan"),
    (_STRING, "green"),
    (_COMMENT, "dim"),
    (_PROSE, "not cyan not green default"),
    (_SECTION, "bold magenta"),
)


def programs_table(programs: Sequence[Program]) -> Table:
    """Names with title, place in the paper, class and bound; formulations below their program."""
    names = {p.name for p in programs}
    rows = (
        (bold(p.name) if p is base else f"  {p.name}", _words(p))
        for base in programs
        if base.formulation_of not in names
        for p in (base, *(p for p in programs if p.formulation_of == base.name))
    )
    return rows_table(("program", "what it finds"), rows)


def place(program: Program) -> str:
    """The part of a program's reference that begins with a venue and a year: ``PODS 2010, Program 5.2``.

    The whole reference where it has no such part.
    """
    venues = _VENUE.findall(program.cite)
    return "; ".join(text.strip() for text in venues) if venues else program.cite


def _words(program: Program) -> Text:
    """The title of a program; below it its reference, class and bound."""
    bound = f"bound of {program.bound}" if program.bound else "no bound"
    about = f"{program.problem_class}, {'its own bound' if program.certificate else bound}"
    return cell(program.title).append(f"\n{place(program)} ({about})", style="dim")


def highlighted(written: str) -> Text:
    """The text of a program with its sections, names, texts and comments in colours."""
    text = Text(written, no_wrap=True, overflow="ignore")
    for pattern, style in STYLES:
        for match in pattern.finditer(written):
            text.stylize(style, *match.span(pattern.groups))
    return text


def givens_table(rows: Sequence[Sequence[str]]) -> Table:
    """The table of ``given_rows``."""
    return rows_table(("data", "kind", "from", "what"), ((bold(name), *words) for name, *words in rows))


def given_rows(checked: Checked) -> tuple[tuple[str, str, str, str], ...]:
    """A row for each given: its name, its kind, its source, its description."""
    rows = []
    for d in checked.program.givens:
        dims = f"[{', '.join(map(str, d.dims))}]" if d.dims else ""
        kind = f"{d.kind}{dims}{f' {d.sign} 0' if d.sign else ''}"
        words = plain_words(prose(d.doc, checked.scope)[0]) or SOURCES.get(d.source, "")
        rows.append((d.name, kind, d.source or f"you: --given {d.name}=…", words))
    return tuple(rows)


def lines_table(checked: Checked) -> Table:
    """The shape and curvature found for the objective and for both sides of each constraint."""
    return rows_table(("name", "left side", "relation", "right side"), _lines(checked))


def _lines(checked: Checked) -> Iterator[tuple[Text | str, ...]]:
    """The rows of ``lines_table``."""
    program = checked.program
    if checked.objective is not None:
        yield bold(program.sense), _described(checked.objective)
    for c in program.constraints:
        left, right = map(_described, checked.constraints[c.name])
        loop = f" for {c.family.index} in {c.family.dim}" if c.family else ""
        yield bold(f"{c.name}{loop}"), left, c.relation.op, right


def _described(kind: Type) -> str:
    """The curvature and shape of a side, in words."""
    return f"{kind.curvature.value}, {kind.shape}"


# -- which solver takes which program: the cones of each against the table of solvers


@dataclass(frozen=True)
class Takers:
    """The solvers that take a program.

    kernels : the names of kernels that do. cones : kinds of cone that a conic solver needs for it; None where
    none is needed: programs of class smooth are searched by gradients, closed forms evaluated.
    """

    kernels: tuple[str, ...]
    cones: frozenset[str] | None

    def lacking(self, row: SolverRow) -> list[str] | None:
        """The cones that a solver lacks, sorted; None when none are needed at all."""
        return None if self.cones is None else sorted(self.cones - row.cones)

    def summary(self) -> dict[str, Any]:
        """One JSON object."""
        return {"kernels": list(self.kernels), "lacking": {row.name: self.lacking(row) for row in SOLVERS}}


def takers(checked: Checked) -> Takers:
    """The kernels that take a program, and the cones that a conic solver needs for it.

    For a procedure: the kernels that take every program that it solves, and the cones of all of them.
    """
    if not checked.program.steps:
        kernels = [
            k.name
            for k in KERNELS
            if known_as(k, checked) is not None
            # The sector kernel only where cells need not be listed.
            and not (k.takes is sector_kernel.takes and obstacle(checked, {}, totals=SECTOR_TOTALS))
        ]
        return Takers(tuple(kernels), _cones(checked))
    steps = [takers(shipped(name)) for name in solved_programs(checked.program.steps)]
    kernels = [k.name for k in KERNELS if steps and all(k.name in step.kernels for step in steps)]
    conic = [step.cones for step in steps if step.cones is not None]
    return Takers(tuple(kernels), frozenset().union(*conic) if conic else None)


def _cones(checked: Checked) -> frozenset[str] | None:
    """The kinds of cone of a program, as it is for a small workload; None where it is not handed over."""
    if checked.program.problem_class in ("smooth", "closed form"):
        return None
    workload = Workload.from_matrix([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 1.0, 1.0]], targets=[1.0] * 3)
    instance = bind(checked, workload)
    return frozenset(cone.kind for cone in cones(instance.checked, instance.sizes()))


def takers_table(programs: Mapping[str, Takers]) -> Table:
    """A row for each program: the kernel, and the conic solvers with the cones that some lack."""
    rows = []
    for name, taken_by in programs.items():
        lacks = {row.name: taken_by.lacking(row) for row in SOLVERS}
        unable = [f"{solver} ({', '.join(kinds)})" for solver, kinds in lacks.items() if kinds]
        conic = f"all but {', '.join(unable)}" if unable else "all"
        rows.append(
            (bold(name), ", ".join(taken_by.kernels), "none needed" if taken_by.cones is None else conic)
        )
    return rows_table(("program", "kernel", "conic solvers"), rows)
