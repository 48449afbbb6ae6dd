"""What is done with one program on one problem: solve, check, write down."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mmopt.compiler import bind
from mmopt.driver import solve
from mmopt.errors import Error, OptionError, TooLargeError, UnsuitableError
from mmopt.language import Program
from mmopt.results import Solution
from mmopt.testing.conformance.checks import Asked, Wrong, closeness, of_bound, of_file, of_gap, of_known
from mmopt.testing.conformance.derivatives import Dual, check_dual
from mmopt.testing.conformance.report import Failure, Record, Skip
from mmopt.testing.conformance.twists import TWISTS, rule_of, why_not
from mmopt.testing.known import known_figures
from mmopt.testing.problems import Problem
from mmopt.workloads import Workload

__all__ = ["CHECKS", "Duals", "Solver", "Work"]

Solver = Callable[..., Solution]
Duals = Callable[[Workload, Program], Dual | None]

OF_SOLUTION = {"file": of_file, "bound": of_bound, "gap": of_gap}
CHECKS = (*OF_SOLUTION, "known", "conic route", "metamorphic", "derivatives")

# The conic route at small size: by whom, up to how many cells.
CONIC = (("clarabel", 40), ("scs", 100))


@dataclass
class Work:
    """The state of one conformance check; the fields are the arguments of ``conform``."""

    solver: str | Solver | None
    seed: int
    checks: tuple[str, ...]
    twists: int | None
    duals: Duals | None
    options: dict[str, Any]
    reference: dict[str, Any]
    record: Record = field(default_factory=Record)
    references: dict[tuple[str, str, int], Solution | Error] = field(
        default_factory=dict
    )  # by the conic route
    turn: int = 0  # of the metamorphic cases

    @property
    def subject(self) -> str:
        """What is checked, in a word."""
        if self.solver is None or isinstance(self.solver, str):
            return self.solver or "automatic"
        return getattr(self.solver, "__name__", type(self.solver).__name__)

    def problem(self, program: Program, problem: Problem, n: int | None) -> None:
        """All checks of one program on one problem."""
        workload = problem.workload(problem.size if problem.fixed else n, self.seed)
        asked = Asked(program, workload, problem.name)
        try:
            bind(program, workload)
        except Error as error:
            self.skip(asked, "solved", f"does not apply: {error.message}")
            return
        if "derivatives" in self.checks:
            self.derivatives(asked)
        solution = self.solved(asked)
        if solution is None:
            return
        for name, check in OF_SOLUTION.items():
            if name in self.checks:
                self.judge(asked, name, check(asked, solution))
        if "known" in self.checks:
            self.known_figures(asked, solution)
        if "conic route" in self.checks:
            self.conic_route(asked, solution)
        if "metamorphic" in self.checks:
            self.metamorphic(asked, solution)

    def solved(self, asked: Asked) -> Solution | None:
        """The solution of what is checked; None when that is a skip or a failure, which is noted."""
        self.record.solves += 1
        try:
            if callable(self.solver):
                found = self.solver(asked.workload, asked.program, **self.options)
            else:
                found = solve(asked.workload, asked.program, solver=self.solver, **self.options)
        except (UnsuitableError, TooLargeError) as error:
            self.skip(asked, "solved", error.message)
            return None
        except OptionError as error:  # a step of a procedure may require more of its givens
            self.skip(asked, "solved", f"refused: {error.message}")
            return None
        except Error as error:
            self.judge(asked, "solved", [("solve", "a solution", error.message)])
            return None
        except Exception as error:  # noqa: BLE001 - what is checked may be broken in any way
            words = f"{type(error).__name__}: {error}"
            self.judge(asked, "solved", [("solve", "a solution", words)])
            return None
        tolerance = found.options.get("tolerance")
        if found.steps or found.gap is None or not isinstance(tolerance, float):
            return found
        if found.gap > tolerance:
            self.record.notes.append(
                f"{asked.program.name} on {asked.place}: gap {found.gap:.1e}, '{found.status.stop}'"
            )
        return found

    def known_figures(self, asked: Asked, solution: Solution) -> None:
        """Against published numbers and closed forms."""
        figures = known_figures(asked.program, asked.problem, asked.workload)
        if figures:
            self.judge(asked, "known", of_known(asked.interval(solution), figures))
        else:
            self.skip(asked, "known", "nothing is known of the optimum")

    def conic_route(self, asked: Asked, solution: Solution) -> None:
        """Against the program itself (not its formulation), solved by a conic solver."""
        base = Program.load(asked.program.formulation_of) if asked.program.formulation_of else asked.program
        able = [name for name, cells in CONIC if asked.workload.n <= cells and name != self.solver]
        if not able:
            self.skip(asked, "conic route", f"more than {CONIC[-1][1]} cells")
            return
        name = able[0]
        key = (base.text, asked.problem, asked.workload.n)
        if key not in self.references:
            try:
                self.references[key] = solve(asked.workload, base, **{"solver": name, **self.reference})
            except Error as error:
                self.references[key] = error
        reference = self.references[key]
        if isinstance(reference, Error):
            self.skip(asked, "conic route", f"{name}: {reference.message}")
            return
        expected = Asked(base, asked.workload, asked.problem).interval(reference)
        found = asked.interval(solution)
        self.judge(asked, "conic route", closeness(asked.program, expected, found))

    def metamorphic(self, asked: Asked, solution: Solution) -> None:
        """The next few cases that say something, and all reasons of those that do not."""
        rule = rule_of(asked.program)
        reasons = {twist: why_not(twist, asked.program, asked.workload) for twist in TWISTS}
        for reason in dict.fromkeys(filter(None, reasons.values())):
            self.skip(asked, "metamorphic", reason)
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

    def derivatives(self, asked: Asked) -> None:
        """The dual function's, where there is one to be had."""
        dual = None if self.duals is None else self.duals(asked.workload, asked.program)
        if dual is None:
            self.skip(asked, "derivatives", "no dual function was passed for it")
            return
        found = check_dual(dual, np.random.default_rng(self.seed))
        wrong = [(what, f"{expected:.10g}", f"{got:.10g}") for what, expected, got in found]
        self.judge(asked, "derivatives", wrong)

    def judge(self, asked: Asked, check: str, wrong: Iterable[Wrong]) -> None:
        """Count a check that holds, or note what is wrong."""
        failures = [Failure(asked.program.name, asked.place, check, *each) for each in wrong]
        self.record.failures += failures
        if not failures:
            self.record.passed[check] += 1

    def skip(self, asked: Asked, check: str, reason: str) -> None:
        """Note what was not checked."""
        self.record.skips.append(Skip(asked.program.name, asked.place, check, reason))
