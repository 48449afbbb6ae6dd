"""One call that puts a solver, a kernel or a reduction to every problem of the registry."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mmopt.errors import OptionError, suggest
from mmopt.language import Program, program_names
from mmopt.language.check.procedures import alternates, solved_programs
from mmopt.testing.conformance.duals import kernel_duals
from mmopt.testing.conformance.report import Report, Skip
from mmopt.testing.conformance.work import CHECKS, Duals, Solver, Work
from mmopt.testing.problems import problems_named
from mmopt.testing.solvable import check_solver

__all__ = ["conform"]


def conform(
    solver: str | Solver | None = None,
    programs: Sequence[str | Path | Program] | None = None,
    problems: Sequence[str] | None = None,
    *,
    n: int | None = None,
    seed: int = 0,
    checks: Sequence[str] = CHECKS,
    twists: int | None = 2,
    duals: Duals | None = None,
    options: Mapping[str, Any] | None = None,
    reference: Mapping[str, Any] | None = None,
    progress: Callable[[str], None] | None = None,
) -> Report:
    """Run it over the problems and check what mmopt promises of every solution.

    file : feasible, and objective, bound, value, error, strategy as recomputed from the program file.
    bound : there is one where the program has a certificate, and it does not cross the objective.
    gap : "gap reached" is said exactly when it is. known : the known optimum lies in [bound, objective].
    conic route : so does that of another, conic solver, up to 100 cells; of a formulation with the program
        that it restates.
    metamorphic : the same workload written in another way has the same optimum, up to a known factor.
    derivatives : those of the dual function against finite differences.

    What cannot be checked is skipped, with its reason: the solver lacks a cone or does not claim the program,
    the program does not apply to the workload, a case says nothing about the program.

    Parameters
    ----------
    solver : a name for ``mmopt.solve``; None for its own choice; or a function that is called in place of
        ``solve``, as ``function(workload, program, **options)``.
    programs : names, paths or Programs; by default all that are shipped.
    problems : names from the registry; by default all.
    n : number of cells, of problems that are not fixed; by default a few, so that conic solvers are quick.
    seed : of random workloads and cases.
    twists : metamorphic cases per problem and program, taken in turn; None for all.
    duals : gives the dual function of a program on a workload; a result of None skips. None: those of the
        kernel that ``solver`` names, if it names one.
    options : further keywords of ``solve`` for what is checked (``{"reduce": False}``).
    reference : those of the conic route.
    progress : called with a line before each problem.

    Raises
    ------
    OptionError : an unknown name of a solver, program, problem or check, or an option that is out of range.
    ProgramError : a program that does not check.
    """
    for name in checks:
        if name not in CHECKS:
            raise OptionError(f"there is no check '{name}'", hint=suggest(name, CHECKS))
    chosen = program_names() if programs is None else programs
    found = duals or kernel_duals(solver)
    work = Work(solver, seed, tuple(checks), twists, found, dict(options or {}), dict(reference or {}))
    tried = problems_named(problems)
    if not callable(solver):
        check_solver(solver, **work.options)
    for each in chosen:
        program = each if isinstance(each, Program) else Program.load(each)
        if reason := _has_no_one_result(program):
            work.record.skips.append(Skip(program.name, "", "solved", reason))
            continue
        for problem in tried:
            if progress is not None:
                progress(f"{program.name} on {problem.name}")
            work.problem(program, problem, n)
    return work.record.closed(work.subject, seed)


def _has_no_one_result(program: Program) -> str:
    """Why a program is no matter for conformance; "" when it is."""
    steps = [Program.load(name) for name in solved_programs(program.steps)]
    searched = {p.klass for p in (program, *steps)} & {"rank", "smooth"}
    if searched:
        return f"a search of class {searched.pop()}, which may end anywhere"
    if alternates(program.steps):
        return "a search that alternates, which may end anywhere"
    if program.klass == "closed form":
        return "a closed form, which no solver solves"
    if without := [d.name for d in program.givens if not d.source]:
        return f"the caller has to pass {', '.join(without)}"
    return ""
