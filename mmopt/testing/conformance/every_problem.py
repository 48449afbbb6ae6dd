"""Every problem of the registry put to a solver, with workloads transformed.

Metamorphic cases: workloads that say the same in another way, and how the optimum follows.

What holds for which program is a table of the shipped ones, by what their papers' problems depend on: a
program that is not in it (one of a user's own) is not put to these tests.

One call that puts a solver, a kernel or a reduction to every problem of the registry.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from mmopt.compiler import bind
from mmopt.driver import solve
from mmopt.errors import Error, OptionError, TooLargeError, UnsuitableError, suggest
from mmopt.language import Program, program_names
from mmopt.language.check.section_checks import alternates, solved_programs
from mmopt.numerics.arrays import Array
from mmopt.results import Solution
from mmopt.testing.conformance.solution_checks import (
    Asked,
    Duals,
    Failure,
    Report,
    Skip,
    Wrong,
    check_dual,
    closeness,
    kernel_duals,
    of_bound,
    of_file,
    of_gap,
    of_known,
)
from mmopt.testing.problem_registry import Problem, known_figures, problems_named
from mmopt.workloads import Workload

Random = np.random.Generator

# Eigenvalues this close, relative to the largest, share an eigenspace, whose basis is arbitrary.
EIGENVALUES_APART = 1e-6


@dataclass(frozen=True)
class Rule:
    """What the optimum of a program depends on.

    gram : on the weighted Gram matrix alone.
    every : it is over all strategies, so that cells that no query tells apart, or touches, change nothing.
    eigen : on the eigenvectors of the Gram matrix, so these must be unique.
    twice : its factor when every query is asked twice.
    """

    gram: bool = True
    every: bool = False
    eigen: bool = False
    twice: float = 2.0


TOTAL = Rule(every=True)
DESIGN = Rule(eigen=True)
FITNESS = Rule(gram=False, every=True, twice=1.0)

RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "l2_strategy": TOTAL,
        "weighted_l2": replace(TOTAL, gram=False),
        "fitness_for_use": FITNESS,
        "fitness_refined": FITNESS,
        "query_weighting": DESIGN,
        "laplace_weighting": DESIGN,
        "eigen_design": DESIGN,
        "eigen_separation": DESIGN,
        "principal_vectors": DESIGN,
    }
)


@dataclass(frozen=True)
class Twist:
    """``turn`` writes the workload in another way; the optimum is then ``factor`` times what it was."""

    name: str
    turn: Callable[[Workload, Random], Workload]
    factor: Callable[[Rule], float] = lambda rule: 1.0
    needs: Callable[[Rule], bool] = lambda rule: True
    reason: str = ""  # when it lacks what the twist needs


SCALE = 1e3


def _queries(w: Workload, rng: Random) -> Workload:
    order, signs = rng.permutation(w.m), rng.choice([-1.0, 1.0], size=w.m)
    return Workload.from_matrix(signs[:, None] * w.queries[order], w.targets[order], w.weights[order])


def _again(w: Workload, targets: Array) -> Workload:
    """Every query twice, the second time with other targets."""
    return Workload.from_matrix(
        np.vstack([w.queries, w.queries]), np.concatenate([w.targets, targets]), np.tile(w.weights, 2)
    )


def _cells_twice(w: Workload, rng: Random) -> Workload:
    again = rng.permutation(w.n)[: max(1, w.n // 4)]
    columns = np.hstack([w.queries, w.queries[:, again], np.zeros((w.m, 1))])
    return Workload.from_matrix(columns, w.targets, w.weights)


TWISTS: tuple[Twist, ...] = (
    Twist(
        "cells in another order",
        lambda w, rng: Workload.from_matrix(w.queries[:, rng.permutation(w.n)], w.targets, w.weights),
    ),
    Twist("queries in another order, some negated", _queries),
    Twist(
        f"queries times {SCALE:g}",
        lambda w, rng: Workload.from_matrix(SCALE * w.queries, w.targets, w.weights),
        factor=lambda rule: SCALE**2,
    ),
    Twist(
        "queries rotated",
        lambda w, rng: Workload.from_matrix(np.linalg.qr(rng.normal(size=(w.m, w.m)))[0] @ w.matrix),
        needs=lambda rule: rule.gram,
        reason="the program does not depend on the Gram matrix alone",
    ),
    Twist("every query twice", lambda w, rng: _again(w, w.targets), factor=lambda rule: rule.twice),
    Twist(
        "every query again with a looser target",
        lambda w, rng: _again(w, w.targets * rng.uniform(1.0, 3.0, size=w.m)),
        needs=lambda rule: rule.twice == 1.0,
        reason="only programs whose targets are constraints ignore a looser one",
    ),
    Twist(
        "cells twice, and one of no query",
        _cells_twice,
        needs=lambda rule: rule.every,
        reason="the program is not over all strategies",
    ),
)


def rule_of(program: Program) -> Rule | None:
    """What its optimum depends on; that of a formulation on what the program's does."""
    return RULES.get(program.formulation_of or program.name)


def why_not(twist: Twist, program: Program, workload: Workload) -> str:
    """Why the case says nothing about this program and workload; "" when it does."""
    rule = rule_of(program)
    if rule is None:
        return f"nothing is known of how '{program.name}' depends on its workload"
    if not twist.needs(rule):
        return twist.reason
    values = workload.eigenvalues
    if rule.eigen and not np.all(-np.diff(values) > EIGENVALUES_APART * values[0]):
        return "the eigenvectors of the workload are not unique"
    return ""


Solver = Callable[..., Solution]
# What is wrong; a text says why it was not checked.
Verdict = Iterator[Wrong | str]

OF_SOLUTION = {"file": of_file, "bound": of_bound, "gap": of_gap}
CHECKS = (*OF_SOLUTION, "known", "conic route", "metamorphic", "derivatives")

# The conic route at small size: by whom, up to how many cells.
CONIC = (("clarabel", 40), ("scs", 100))


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
            work.skips.append(Skip(program.name, "", "solved", reason))
            continue
        for problem in tried:
            if progress is not None:
                progress(f"{program.name} on {problem.name}")
            work.problem(program, problem, n)
    return work.report()


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


def check_solver(solver: str | None, **options: Any) -> None:
    """Solve for two cells with it. A solver that does not take that program is a known one too.

    Raises
    ------
    OptionError : an unknown solver or option, or one that is out of range. SolverError : not installed.
    """
    with contextlib.suppress(UnsuitableError):
        solve(Workload.from_matrix(np.eye(2)), "l2_strategy", solver=solver, **options)


@dataclass
class Work:
    """One conformance check: the arguments of ``conform``, solutions by the conic route, what came out."""

    solver: str | Solver | None
    seed: int
    checks: tuple[str, ...]
    twists: int | None
    duals: Duals | None
    options: dict[str, Any]
    reference: dict[str, Any]
    references: dict[tuple[str, str, int], Solution | Error] = field(default_factory=dict)
    turn: int = 0  # of the metamorphic cases
    solves: int = 0
    passed: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)
    skips: list[Skip] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def report(self) -> Report:
        """What came out."""
        subject = self.solver or "automatic"
        if not isinstance(subject, str):
            subject = getattr(subject, "__name__", type(subject).__name__)
        lists = tuple(self.failures), tuple(self.skips), tuple(self.notes)
        return Report(subject, self.seed, self.solves, dict(self.passed), *lists)

    def problem(self, program: Program, problem: Problem, n: int | None) -> None:
        """All checks of one program on one problem."""
        workload = problem.workload(problem.size if problem.fixed else n, self.seed)
        asked = Asked(program, workload, problem.name)
        try:
            bind(program, workload)
        except Error as error:
            self.judge(asked, "solved", [f"does not apply: {error.message}"])
            return
        if "derivatives" in self.checks:
            self.judge(asked, "derivatives", self.derivatives(asked))
        solution = self.solved(asked)
        if solution is None:
            return
        of_others = {"known": self.known_figures, "conic route": self.conic_route}
        for name, check in (OF_SOLUTION | of_others).items():
            if name in self.checks:
                self.judge(asked, name, check(asked, solution))
        if "metamorphic" in self.checks:
            self.metamorphic(asked, solution)

    def solved(self, asked: Asked) -> Solution | None:
        """The solution of what is checked; None when that is a skip or a failure, which is noted."""
        self.solves += 1
        found: Solution | None = None
        skipped = words = ""
        try:
            if callable(self.solver):
                found = self.solver(asked.workload, asked.program, **self.options)
            else:
                found = solve(asked.workload, asked.program, solver=self.solver, **self.options)
        except (UnsuitableError, TooLargeError) as error:
            skipped = error.message
        except OptionError as error:  # a step of a procedure may require more of its givens
            skipped = f"refused: {error.message}"
        except Error as error:
            words = error.message
        except Exception as error:  # noqa: BLE001 - what is checked may be broken in any way
            words = f"{type(error).__name__}: {error}"
        if found is None:
            self.judge(asked, "solved", [skipped or ("solve", "a solution", words)])
        if found is None or found.steps or found.gap is None:
            return found
        tolerance = found.options.get("tolerance")
        if isinstance(tolerance, float) and found.gap > tolerance:
            self.notes.append(
                f"{asked.program.name} on {asked.place}: gap {found.gap:.1e}, '{found.status.stop}'"
            )
        return found

    def known_figures(self, asked: Asked, solution: Solution) -> Verdict:
        """Against published numbers and closed forms."""
        figures = known_figures(asked.program, asked.problem, asked.workload)
        if not figures:
            yield "nothing is known of the optimum"
        yield from of_known(asked.interval(solution), figures)

    def conic_route(self, asked: Asked, solution: Solution) -> Verdict:
        """Against the program itself (not its formulation), solved by a conic solver."""
        base = Program.load(asked.program.formulation_of) if asked.program.formulation_of else asked.program
        able = [name for name, cells in CONIC if asked.workload.n <= cells and name != self.solver]
        if not able:
            yield f"more than {CONIC[-1][1]} cells"
            return
        key = (base.text, asked.problem, asked.workload.n)
        if key not in self.references:
            try:
                self.references[key] = solve(asked.workload, base, **{"solver": able[0], **self.reference})
            except Error as error:
                self.references[key] = error
        reference = self.references[key]
        if isinstance(reference, Error):
            yield f"{able[0]}: {reference.message}"
            return
        expected = Asked(base, asked.workload, asked.problem).interval(reference)
        yield from closeness(asked.program, expected, asked.interval(solution))

    def metamorphic(self, asked: Asked, solution: Solution) -> None:
        """The next few cases that say something, and all reasons of those that do not."""
        rule = rule_of(asked.program)
        reasons = {twist: why_not(twist, asked.program, asked.workload) for twist in TWISTS}
        for reason in dict.fromkeys(filter(None, reasons.values())):
            self.judge(asked, "metamorphic", [reason])
        able = [twist for twist, reason in reasons.items() if not reason]
        count = len(able) if self.twists is None else min(self.twists, len(able))
        for _ in range(count):
            twist = able[self.turn % len(able)]
            rng = np.random.default_rng([self.seed, self.turn])
            self.turn += 1
            turned = Asked(asked.program, twist.turn(asked.workload, rng), asked.problem, twist.name)
            found = self.solved(turned)
            if found is not None and rule is not None:
                expected = asked.interval(solution).times(twist.factor(rule))
                self.judge(turned, "metamorphic", closeness(asked.program, expected, turned.interval(found)))

    def derivatives(self, asked: Asked) -> Verdict:
        """The dual function's, where there is one to be had."""
        dual = None if self.duals is None else self.duals(asked.workload, asked.program)
        if dual is None:
            yield "no dual function was passed for it"
            return
        for what, expected, found in check_dual(dual, np.random.default_rng(self.seed)):
            yield what, f"{expected:.10g}", f"{found:.10g}"

    def judge(self, asked: Asked, check: str, verdict: Iterable[Wrong | str]) -> None:
        """Count a check that holds; or note what is wrong, or why it was not made."""
        place = asked.program.name, asked.place, check
        found = list(verdict)
        self.failures += [Failure(*place, *wrong) for wrong in found if not isinstance(wrong, str)]
        self.skips += [Skip(*place, reason) for reason in found if isinstance(reason, str)]
        if not found:
            self.passed[check] += 1
