"""The checks that a solver has to pass on every problem of the registry, and the report of them.

One call, ``conform``, tries a solver, a kernel or a reduction on every problem of the registry. The report
lists failures one by one and skips by their reason, and counts the checks that hold.

The checks of a solution compare it with its program and workload. A solution claims that its optimum lies in
an interval; two intervals of one optimum have a point in common. The functions that kernels climb are mostly
dual ones; their derivatives are compared with finite differences.

Metamorphic cases are the same workload written in another way, whose optimum follows. A table of the shipped
programs has the rules for them, by what the problems of their papers depend on: a program that is not in it,
such as a user's, is not tested in this way.
"""

import contextlib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from mmopt.compiler import bind
from mmopt.driver import solve
from mmopt.driver.judge.assemble_solution import value_of
from mmopt.errors import Error, OptionError, TooLargeError, UnsuitableError, suggest
from mmopt.language import (
    Program,
    alternates,
    program_names,
    solved_programs,
)
from mmopt.numerics.arrays import Array
from mmopt.proof import verify
from mmopt.results import Solution
from mmopt.solvers import Claim, banded_kernel, claims, nuclear, weighting_kernel
from mmopt.solvers.nuclear.interior_point import curvature, many_exponentials
from mmopt.solvers.nuclear.problem_and_iterates import Iterate, iterate
from mmopt.testing.problem_registry import Problem, Random, known_figures, meets, problems_named
from mmopt.workloads import Workload

PLACES_SHOWN = 6  # places that are listed beside the reason of a skip
NOTES_SHOWN = 20  # notes that are listed


@dataclass(frozen=True)
class Failure:
    """A check that failed: its place, what was checked, the expected and the actual value."""

    program: str
    problem: str
    check: str
    what: str
    expected: str
    actual: str

    def __str__(self) -> str:
        place = f"{self.program} on {self.problem}, {self.check}"
        return f"{place}: {self.what}: expected {self.expected}, found {self.actual}"


@dataclass(frozen=True)
class Skip:
    """A check that was not made, and why; ``check`` is "solved" when the problem was not even solved."""

    program: str
    problem: str
    check: str
    reason: str


@dataclass(frozen=True)
class Report:
    """The results of a conformance check.

    subject : name of the solver, or of the function, that was checked. seed : that of the random workloads.
    solves : number of solves.
    passed : number of checks that hold, by name.
    notes : gaps that were not reached, by the status of the solution itself.
    """

    subject: str
    seed: int
    solves: int
    passed: Mapping[str, int]
    failures: tuple[Failure, ...]
    skips: tuple[Skip, ...]
    notes: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether something was checked and nothing failed."""
        return bool(self.passed) and not self.failures

    def __str__(self) -> str:
        count = sum(self.passed.values())
        if self.failures:
            head = f"'{self.subject}' does not conform: failures {len(self.failures)}, {count} checks hold"
        elif self.passed:
            head = f"'{self.subject}' conforms: {count} checks hold"
        else:
            head = f"'{self.subject}' was not checked: everything was skipped"
        lines = [
            f"{head} ({self.solves} solves, {len(self.skips)} skips, seed {self.seed})",
            *(f"  {name}: {number}" for name, number in self.passed.items()),
            *_section("failures", [*map(str, self.failures)]),
            *_section("skipped", _by_reason(self.skips)),
            *_section("gap not reached, and said so", self.notes, NOTES_SHOWN),
        ]
        return "\n".join(lines)


def _section(title: str, lines: Sequence[str], most: int | None = None) -> list[str]:
    """A heading with the number of lines, and the first ``most`` of them; nothing where there are none."""
    shown = [f"  {line}" for line in lines[:most]] + ["  …"] * (most is not None and len(lines) > most)
    return [f"{title} ({len(lines)})", *shown] if lines else []


def _by_reason(skips: Sequence[Skip]) -> list[str]:
    """A line for each check and reason, with the first places that were skipped for it."""
    places: dict[tuple[str, str], list[str]] = {}
    for skip in skips:
        place = f"{skip.program} on {skip.problem}" if skip.problem else skip.program
        places.setdefault((skip.check, skip.reason), []).append(place)
    return [
        f"{check}, {len(where)}: {reason} "
        f"({', '.join(where[:PLACES_SHOWN])}{', …' * (len(where) > PLACES_SHOWN)})"
        for (check, reason), where in places.items()
    ]


DIFFERENCE_STEP = 1e-3  # relative to each entry of the point, so that no entry changes its sign
DIRECTIONS = 4  # along which a derivative is compared
# Difference of two derivatives along a direction that counts as rounding, relative to the lengths of both.
SAME_DERIVATIVE = 1e-6


@dataclass(frozen=True)
class Dual:
    """A function that a kernel maximizes or minimizes, as it computes it, and a point inside its domain.

    value : from a point (k,) to a number.
    gradient : from a point to the derivative (k,).
    at : (k,) the point where it is tried, in the coordinates of the kernel.
    hessian : from a point to the second derivative (k, k); None when the kernel has none.
    """

    value: Callable[[Array], float]
    gradient: Callable[[Array], Array]
    at: Array
    hessian: Callable[[Array], Array] | None = None


def check_dual(dual: Dual, rng: np.random.Generator) -> list[tuple[str, float, float]]:
    """The derivatives along random directions that finite differences contradict: name, expected, computed.

    The differences are right to about 1e-9 where the function is smooth within a thousandth of the point.
    """
    wrong = list(_contradicted("derivative", dual.value, np.asarray(dual.gradient(dual.at)), dual.at, rng))
    if dual.hessian is not None:
        hessian = np.asarray(dual.hessian(dual.at))
        uneven = float(np.abs(hessian - hessian.T).max())
        if not uneven <= SAME_DERIVATIVE * float(np.abs(hessian).max()):
            wrong.append(("largest difference between the second derivative and its transpose", 0.0, uneven))
        wrong += _contradicted("second derivative", dual.gradient, hessian, dual.at, rng)
    return wrong


def _contradicted(
    what: str, function: Callable[[Array], Any], derivative: Array, at: Array, rng: np.random.Generator
) -> Iterator[tuple[str, float, float]]:
    """Random directions along which differences of ``function`` contradict ``derivative``.

    ``what``: which derivative, in words. Yields name, expected and computed, as ``check_dual``.
    """
    # A difference is no better than the rounding of its values: SAME_DERIVATIVE times this, 1e-12 of them.
    rounding = 1e-6 * float(np.linalg.norm(function(at)))
    for number in range(DIRECTIONS):
        drawn = rng.normal(size=at.shape)
        direction = np.where(at == 0, 1.0, np.abs(at)) * drawn / np.abs(drawn).max()
        expected = np.atleast_1d(_difference(function, at, direction))
        computed = np.atleast_1d(derivative @ direction)
        size = float(np.linalg.norm(derivative) * np.linalg.norm(direction))
        if not float(np.linalg.norm(computed - expected)) <= SAME_DERIVATIVE * (size + rounding):
            worst = int(np.argmax(np.abs(computed - expected)))
            entry = f", entry {worst}" if derivative.ndim == 2 else ""
            yield f"{what} along direction {number}{entry}", float(expected[worst]), float(computed[worst])


def _difference(function: Callable[[Array], Any], at: Array, direction: Array) -> Array:
    """The derivative along a direction, by central differences with two steps, extrapolated (Richardson)."""

    def central(h: float) -> Any:
        return (np.asarray(function(at + h * direction)) - np.asarray(function(at - h * direction))) / (2 * h)

    return np.asarray((4.0 * central(DIFFERENCE_STEP / 2) - central(DIFFERENCE_STEP)) / 3.0)


# -- functions of our kernels, as they compute them

Duals = Callable[[Workload, Program], Dual | None]  # the function that is climbed; None where it is unknown

WEIGHT_SPREAD = 0.5  # most that the logarithms of weights differ from those of equal ones


def kernel_duals(solver: object) -> Duals | None:
    """The function that a kernel climbs or descends for its claims, by its name; None for other solvers."""
    if not isinstance(solver, str) or solver not in DUALS:
        return None

    def dual_of(workload: Workload, program: Program) -> Dual | None:
        instance = bind(program, workload)
        claim = next((c for c in claims(instance) if c.name == solver), None)
        return None if claim is None else DUALS[solver](claim, claim.givens(instance))

    return dual_of


def _nuclear(claim: Claim, givens: Mapping[str, Any]) -> Dual:
    """2 N by the logarithms of the shares, those of queries before those of cells."""
    problem = nuclear.FORMS[claim.program].problem(givens)
    ranks = [problem.parts[number].rank for number in problem.others]
    t = 0 if problem.targets is None else len(problem.targets)  # the number of shares of queries

    def at(x: Array) -> Iterate:
        return iterate(problem, ranks, np.exp(x[t:]), np.exp(x[:t]) if t else None)

    def gradient(x: Array) -> Array:
        point = at(x)
        parts = [point.cost] if point.variance is None else [point.variance, point.cost]
        return point.norm * np.concatenate(parts)

    def hessian(x: Array) -> Array:
        point = at(x)
        q = curvature(problem, point, np.arange(len(x)), many_exponentials).dense()
        return np.asarray(np.diag(gradient(x)) - point.norm * q)

    return Dual(lambda x: 2.0 * at(x).norm, gradient, _logs(t + len(problem.cells)), hessian)


def _weighting(claim: Claim, givens: Mapping[str, Any]) -> Dual:
    """The concave sum of the first part, by the prices."""
    problem = weighting_kernel.SHIPPED[claim.program].parts(givens, FREE_SHARE)[0].problem()

    def gradient(mu: Array) -> Array:
        load = problem.matrix.T @ problem.best_response(problem.matrix @ mu)
        return np.asarray(problem.power / (1.0 + problem.power) * load)

    return Dual(
        lambda mu: problem.value(problem.matrix @ mu), gradient, np.exp(_logs(problem.matrix.shape[1]))
    )


def _banded(claim: Claim, givens: Mapping[str, Any]) -> Dual:
    """No dual: the error itself, by the entries of a factor below its diagonal and the shares."""
    near, queries, cover = (np.asarray(givens[name], dtype=float) for name in ("near", "W", "C"))
    problem = banded_kernel.Banded(queries, cover, int(near[0].sum()))
    at = np.concatenate(
        [np.linspace(-0.5, 0.5, int(problem.places.sum())), np.exp(_logs(len(problem.cover)))]
    )
    return Dual(lambda x: problem.value(x)[0], lambda x: problem.value(x)[1], at)


def _logs(size: int) -> Array:
    """Logarithms of weights that are all different, of sum near 1."""
    return np.asarray(np.linspace(-WEIGHT_SPREAD, WEIGHT_SPREAD, size) - np.log(size))


FREE_SHARE = 1e-3  # of the sensitivity, for weights without error
DUALS: Mapping[str, Callable[[Claim, Mapping[str, Any]], Dual]] = MappingProxyType(
    {"nuclear": _nuclear, "weighting": _weighting, "banded": _banded}
)


Wrong = tuple[str, str, str]  # what is wrong, its expected value, and its actual one

# Relative: two results of a procedure agree so far. Each step stops at a different gap, and no bound shows
# how good the result is.
SAME_RESULT = 1e-3

ROUNDING = 1e-9  # the same workload written in another way rounds in another way


@dataclass(frozen=True)
class Interval:
    """An optimum's interval, on the scale that a program's formulations share; ``low`` may be -infinity."""

    low: float
    high: float

    def __str__(self) -> str:
        return f"[{self.low:.10g}, {self.high:.10g}]"

    def times(self, factor: float) -> "Interval":
        """The interval of a problem whose optimum is so many times this one's."""
        return Interval(factor * self.low, factor * self.high)

    def meets(self, other: "Interval") -> bool:
        """Whether an optimum may lie in both, up to rounding."""
        slack = ROUNDING * max(abs(self.high), abs(other.high))
        return self.low <= other.high + slack and other.low <= self.high + slack


@dataclass(frozen=True)
class Trial:
    """A program on a workload: that of a problem, or the same one written in another way, the ``case``."""

    program: Program
    workload: Workload
    problem: str
    case: str = ""

    @property
    def place(self) -> str:
        """Problem and case."""
        return f"{self.problem}, {self.case}" if self.case else self.problem

    def interval(self, solution: Solution) -> Interval:
        """From the bound to the objective (the other way round when the program maximizes)."""
        instance = bind(self.program, self.workload)
        ends = (solution.objective, -math.inf if solution.bound is None else solution.bound)
        values = [value_of(instance, instance.env, end) if math.isfinite(end) else end for end in ends]
        return Interval(min(values), max(values))


def of_file(trial: Trial, solution: Solution) -> Iterator[Wrong]:
    """Whether the point is feasible, and every figure is that of the program file at it."""
    if not solution.status.feasible:
        yield "the point", "feasible", "not feasible, by its own status"
    for row in verify(solution, trial.workload, trial.program).failures:
        yield row.what, f"{_shown(row.recomputed)} (recomputed)", f"{_shown(row.stated)} (stated)"


def of_bound(trial: Trial, solution: Solution) -> Iterator[Wrong]:
    """Whether there is a bound where the program has one, and it is on its side of the objective."""
    if solution.bound is None:
        if trial.program.certificate is not None or trial.program.bound:
            yield "bound", "a number: the program has a certificate", "none"
        return
    low, high = solution.bound, solution.objective
    if not (high <= low if solution.sense == "maximize" else low <= high):
        yield "bound and objective", "not to cross", f"{solution.bound:.17g} and {solution.objective:.17g}"


def of_gap(trial: Trial, solution: Solution) -> Iterator[Wrong]:
    """Whether the status is "gap reached" if and only if the gap is at most the tolerance."""
    for part in (solution, *solution.steps.values()):
        tolerance = part.options.get("tolerance")
        if part.gap is None or not isinstance(tolerance, float) or part.steps:
            continue
        is_stated, reached = part.status.stop == "gap reached", part.gap <= tolerance
        if is_stated != reached:
            words = f"gap {part.gap:.1e} at tolerance {tolerance:.1e}, '{part.status.stop}'"
            yield f"gap of {part.program}", "'gap reached' if and only if it is", words


def closeness(program: Program, one: Interval, other: Interval) -> Iterator[Wrong]:
    """Whether intervals of one optimum have a common point; results of a procedure are close, too."""
    if not one.meets(other):
        yield "optimum", f"in {one}", f"in {other}"
    elif program.problem_class == "procedure" and abs(other.high - one.high) > SAME_RESULT * abs(one.high):
        yield "result", f"{one.high:.10g}", f"{other.high:.10g}"


def _shown(figure: float | str | None) -> str:
    """A figure with ten digits; words as they are."""
    return f"{figure:.10g}" if isinstance(figure, float) else str(figure)


# Eigenvalues this close, relative to the largest, share an eigenspace, whose basis is arbitrary.
EIGENVALUES_APART = 1e-6


@dataclass(frozen=True)
class Rule:
    """The dependence of a program's optimum on the workload.

    gram : whether it depends on the weighted Gram matrix alone.
    every : whether it is over all strategies, so that cells that no query tells apart, or touches, change
        nothing.
    eigen : whether it depends on the eigenvectors of the Gram matrix, so that these must be unique.
    twice : its factor when every query is there twice.
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
    """A metamorphic case: the same workload written in another way.

    turn : writes it so. factor : the optimum then, over that of the workload as it was.
    needs : whether it applies to programs with a rule; where it does not, ``reason`` says why.
    """

    name: str
    turn: Callable[[Workload, Random], Workload]
    factor: Callable[[Rule], float] = lambda rule: 1.0
    needs: Callable[[Rule], bool] = lambda rule: True
    reason: str = ""


SCALE = 1e3  # of the queries, in one of the cases


def _queries_in_another_order(w: Workload, rng: Random) -> Workload:
    """The queries in a random order, some of them negated."""
    order, signs = rng.permutation(w.m), rng.choice([-1.0, 1.0], size=w.m)
    return Workload.from_matrix(signs[:, None] * w.queries[order], w.targets[order], w.weights[order])


def _queries_twice(w: Workload, targets: Array) -> Workload:
    """Every query twice, the second time with these targets."""
    return Workload.from_matrix(
        np.vstack([w.queries, w.queries]), np.concatenate([w.targets, targets]), np.tile(w.weights, 2)
    )


def _cells_twice(w: Workload, rng: Random) -> Workload:
    """A quarter of the cells twice, each queried like its double, and one more cell that no query touches."""
    again = rng.permutation(w.n)[: max(1, w.n // 4)]
    return Workload.from_matrix(
        np.hstack([w.queries, w.queries[:, again], np.zeros((w.m, 1))]), w.targets, w.weights
    )


TWISTS: tuple[Twist, ...] = (
    Twist(
        "cells in another order",
        lambda w, rng: Workload.from_matrix(w.queries[:, rng.permutation(w.n)], w.targets, w.weights),
    ),
    Twist("queries in another order, some negated", _queries_in_another_order),
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
    Twist("every query twice", lambda w, rng: _queries_twice(w, w.targets), factor=lambda rule: rule.twice),
    Twist(
        "every query again with a looser target",
        lambda w, rng: _queries_twice(w, w.targets * rng.uniform(1.0, 3.0, size=w.m)),
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
    """The rule of a program; a formulation has that of the program that it restates."""
    return RULES.get(program.formulation_of or program.name)


def why_not(twist: Twist, program: Program, workload: Workload) -> str:
    """The reason why the case does not apply to this program and workload; "" when it does."""
    if (rule := rule_of(program)) is None:
        return f"nothing is known of how '{program.name}' depends on its workload"
    if not twist.needs(rule):
        return twist.reason
    values = workload.eigenvalues
    if rule.eigen and not np.all(-np.diff(values) > EIGENVALUES_APART * values[0]):
        return "the eigenvectors of the workload are not unique"
    return ""


Solver = Callable[..., Solution]
Verdict = Iterator[Wrong | str]  # faults; a text is a reason why something was not checked

OF_SOLUTION = {"file": of_file, "bound": of_bound, "gap": of_gap}
CHECKS = (*OF_SOLUTION, "known", "conic route", "metamorphic", "derivatives")

# The conic route at small size: solvers, and the most cells for each.
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
    """Run a solver over the problems and check what mmopt promises of every solution.

    file : feasible, and objective, bound, value, error, strategy as recomputed from the program file.
    bound : there is one where the program has a certificate, and it does not cross the objective.
    gap : the status is "gap reached" if and only if the gap is reached.
    known : the known optimum lies in [bound, objective].
    conic route : so does the optimum by another, conic solver, up to 100 cells; for a formulation that of the
        program that it restates.
    metamorphic : the same workload written in another way has the same optimum, up to a known factor.
    derivatives : those of the dual function agree with finite differences.

    A check that cannot be made is skipped, with its reason: the solver lacks a cone or does not claim the
    program, the program does not apply to the workload, a case does not apply to the program.

    Parameters
    ----------
    solver : a name for ``mmopt.solve``; None for its choice; or a function that is called in place of
        ``solve``, as ``function(workload, program, **options)``.
    programs : names, paths or Programs; by default all that are shipped.
    problems : names from the registry; by default all.
    n : number of cells of problems that are not fixed; by default a few, so that conic solvers are quick.
    seed : the seed of random workloads and cases.
    twists : metamorphic cases per problem and program, taken in turn; None for all.
    duals : gives the dual function of a program on a workload; a result of None skips. None: those of the
        kernel that ``solver`` names, if it names one.
    options : further keywords of ``solve`` for the solver (``{"reduce": False}``).
    reference : those for the conic route.
    progress : called with a line before each problem.

    Raises
    ------
    OptionError : an unknown name of a solver, program, problem or check, or an option that is out of range.
    ProgramError : a program that does not check.
    """
    if unknown := [name for name in checks if name not in CHECKS]:
        raise OptionError(f"there is no check '{unknown[0]}'", hint=suggest(unknown[0], CHECKS))
    chosen = program_names() if programs is None else programs
    dual_of = duals or kernel_duals(solver)
    work = Work(solver, seed, tuple(checks), twists, dual_of, dict(options or {}), dict(reference or {}))
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
    """The reason why conformance is not defined for a program; "" when it is."""
    steps = [Program.load(name) for name in solved_programs(program.steps)]
    if searched := {p.problem_class for p in (program, *steps)} & {"rank", "smooth"}:
        return f"a search of class {searched.pop()}, which may end anywhere"
    if alternates(program.steps):
        return "a search that alternates, which may end anywhere"
    if program.problem_class == "closed form":
        return "a closed form, which no solver solves"
    if without := [d.name for d in program.givens if not d.source]:
        return f"the caller has to pass {', '.join(without)}"
    return ""


def check_solver(solver: str | None, **options: Any) -> None:
    """Solve for two cells with a solver. A solver that does not take that program is a known one, too.

    Raises
    ------
    OptionError : an unknown solver or option, or one that is out of range. SolverError : not installed.
    """
    with contextlib.suppress(UnsuitableError):
        solve(Workload.from_matrix(np.eye(2)), "l2_strategy", solver=solver, **options)


@dataclass
class Work:
    """One conformance check: the arguments of ``conform``, solutions by the conic route, and results."""

    solver: str | Solver | None
    seed: int
    checks: tuple[str, ...]
    twists: int | None
    duals: Duals | None
    options: dict[str, Any]
    reference: dict[str, Any]
    references: dict[tuple[str, str, int], Solution | Error] = field(default_factory=dict)
    turn: int = 0  # the number of the next metamorphic case
    solves: int = 0
    passed: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)
    skips: list[Skip] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def report(self) -> Report:
        """The results so far."""
        subject = self.solver or "automatic"
        if not isinstance(subject, str):
            subject = getattr(subject, "__name__", type(subject).__name__)
        lists = tuple(self.failures), tuple(self.skips), tuple(self.notes)
        return Report(subject, self.seed, self.solves, dict(self.passed), *lists)

    def problem(self, program: Program, problem: Problem, n: int | None) -> None:
        """All checks of one program on one problem."""
        workload = problem.workload(problem.size if problem.fixed else n, self.seed)
        trial = Trial(program, workload, problem.name)
        try:
            bind(program, workload)
        except Error as error:
            self.judge(trial, "solved", [f"does not apply: {error.message}"])
            return
        if "derivatives" in self.checks:
            self.judge(trial, "derivatives", self.derivatives(trial))
        if (solution := self.solved(trial)) is None:
            return
        of_others = {"known": self.known_figures, "conic route": self.conic_route}
        for name, check in (OF_SOLUTION | of_others).items():
            if name in self.checks:
                self.judge(trial, name, check(trial, solution))
        if "metamorphic" in self.checks:
            self.metamorphic(trial, solution)

    def solved(self, trial: Trial) -> Solution | None:
        """The solution of a trial; None when it is a skip or a failure, which is noted."""
        self.solves += 1
        solution: Solution | None = None
        skipped = words = ""
        try:
            solver = self.solver if callable(self.solver) else partial(solve, solver=self.solver)
            solution = solver(trial.workload, trial.program, **self.options)
        except (UnsuitableError, TooLargeError) as error:
            skipped = error.message
        except OptionError as error:  # a step of a procedure may require more of its givens
            skipped = f"refused: {error.message}"
        except Error as error:
            words = error.message
        except Exception as error:  # noqa: BLE001 - what is checked may be broken in any way
            words = f"{type(error).__name__}: {error}"
        if solution is None:
            self.judge(trial, "solved", [skipped or ("solve", "a solution", words)])
        if solution is None or solution.steps or solution.gap is None:
            return solution
        tolerance = solution.options.get("tolerance")
        if isinstance(tolerance, float) and solution.gap > tolerance:
            self.notes.append(
                f"{trial.program.name} on {trial.place}: gap {solution.gap:.1e}, '{solution.status.stop}'"
            )
        return solution

    def known_figures(self, trial: Trial, solution: Solution) -> Verdict:
        """Compare with published numbers and closed forms."""
        if not (figures := known_figures(trial.program, trial.problem, trial.workload)):
            yield "nothing is known of the optimum"
        interval = trial.interval(solution)
        words = {"exact": "to hold", "upper": "to reach down to", "lower": "to reach up to"}
        for figure in figures:
            if not meets(figure, interval.low, interval.high):
                yield figure.source, f"{words[figure.kind]} {figure.value:.10g}", str(interval)

    def conic_route(self, trial: Trial, solution: Solution) -> Verdict:
        """Compare with the program itself (not its formulation), solved by a conic solver."""
        base = Program.load(trial.program.formulation_of) if trial.program.formulation_of else trial.program
        able = [name for name, cells in CONIC if trial.workload.n <= cells and name != self.solver]
        if not able:
            yield f"more than {CONIC[-1][1]} cells"
            return
        key = (base.text, trial.problem, trial.workload.n)
        if key not in self.references:
            try:
                self.references[key] = solve(trial.workload, base, **{"solver": able[0], **self.reference})
            except Error as error:
                self.references[key] = error
        reference = self.references[key]
        if isinstance(reference, Error):
            yield f"{able[0]}: {reference.message}"
            return
        expected = Trial(base, trial.workload, trial.problem).interval(reference)
        yield from closeness(trial.program, expected, trial.interval(solution))

    def metamorphic(self, trial: Trial, solution: Solution) -> None:
        """Try the next few cases that apply, and note the reasons of all that do not."""
        rule = rule_of(trial.program)
        reasons = {twist: why_not(twist, trial.program, trial.workload) for twist in TWISTS}
        for reason in dict.fromkeys(filter(None, reasons.values())):
            self.judge(trial, "metamorphic", [reason])
        able = [twist for twist, reason in reasons.items() if not reason]
        for _ in able[: self.twists]:
            twist = able[self.turn % len(able)]
            rng = np.random.default_rng([self.seed, self.turn])
            self.turn += 1
            turned = Trial(trial.program, twist.turn(trial.workload, rng), trial.problem, twist.name)
            other = self.solved(turned)
            if other is not None and rule is not None:
                expected = trial.interval(solution).times(twist.factor(rule))
                self.judge(turned, "metamorphic", closeness(trial.program, expected, turned.interval(other)))

    def derivatives(self, trial: Trial) -> Verdict:
        """Compare the derivatives of the dual function, if there is one, with finite differences."""
        dual = None if self.duals is None else self.duals(trial.workload, trial.program)
        if dual is None:
            yield "no dual function was passed for it"
            return
        for what, expected, computed in check_dual(dual, np.random.default_rng(self.seed)):
            yield what, f"{expected:.10g}", f"{computed:.10g}"

    def judge(self, trial: Trial, check: str, verdict: Iterable[Wrong | str]) -> None:
        """Count a check that holds; or note its faults, or the reason why it was not made."""
        place = trial.program.name, trial.place, check
        results = list(verdict)
        self.failures += [Failure(*place, *wrong) for wrong in results if not isinstance(wrong, str)]
        self.skips += [Skip(*place, reason) for reason in results if isinstance(reason, str)]
        if not results:
            self.passed[check] += 1
