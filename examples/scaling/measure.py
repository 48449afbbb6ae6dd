"""Measure cases: each is solved a few times, every time in a fresh process; medians count."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from mmopt import OptionError, Program, Workload
from mmopt.comparison import Combination, Isolated, Outcome, outcomes
from mmopt.testing import Problem, problem
from mmopt.testing.conformance import check_solver

AUTOMATIC = "automatic"  # the solver that solve would choose
DOUBLE = 8  # bytes
SHORT = ("time limit", "iteration limit", "gap not reached", "interrupted")
FINAL = ("time limit", "memory limit", "too large", "does not apply")  # a larger size would end so too


@dataclass(frozen=True)
class Case:
    """One solve, to be repeated. n : cells asked for. label : the solver's name, or ``AUTOMATIC``."""

    program: Program
    problem: Problem
    n: int
    label: str

    @property
    def solver(self) -> str | None:
        """The solver's name as ``mmopt.solve`` takes it."""
        return None if self.label == AUTOMATIC else self.label


@dataclass(frozen=True)
class Row:
    """The cost of one case: medians over its repeats, and the result of the last.

    solver : as asked for; chosen : the one that solved it.
    n, m : cells and queries of the workload.
    cpu : CPU seconds of all threads from the call of ``mmopt.solve`` to its result, compiling and certifying
        included; None without a solution. wall : by the clock, until the process has ended too.
    memory : bytes that the process held at most above its start; None where the system cannot say.
    gap, objective, bound : None without a solution (or a bound).
    stop : the status in a word; reason : why there is no solution.
    repeats : number of solves.
    ratio : the baseline's CPU seconds over these; None unless both have reached their gaps.
    """

    program: str
    problem: str
    solver: str
    chosen: str
    n: int
    m: int
    cpu: float | None
    wall: float
    iterations: int | None
    memory: int | None
    gap: float | None
    objective: float | None
    bound: float | None
    stop: str
    reason: str
    repeats: int
    ratio: float | None = None

    @property
    def curve(self) -> tuple[str, str, str]:
        """Program, problem and solver: all sizes of these are one line of the chart."""
        return self.program, self.problem, self.solver

    @property
    def squares(self) -> float | None:
        """Memory in units of n² doubles."""
        return None if self.memory is None else self.memory / (DOUBLE * self.n**2)

    @property
    def has_reached(self) -> bool:
        """Whether it went to its end, so that its cost is that of the gap asked for."""
        return self.objective is not None and self.stop not in SHORT

    def summary(self) -> dict[str, Any]:
        """One JSON object; JSON has no infinity."""
        values = {**asdict(self), "squares": self.squares}
        infinite = (float("inf"), float("-inf"))
        return {name: None if value in infinite else value for name, value in values.items()}


def cases(
    programs: Sequence[str | Path],
    problems: Sequence[str],
    sizes: Sequence[int],
    solvers: Sequence[str],
    baseline: str | None = None,
) -> list[Case]:
    """All combinations, by program, problem, size, the baseline first among the solvers (none twice).

    A problem of a fixed size is measured at that one.

    Parameters
    ----------
    solvers : names as ``mmopt.solve`` takes them, or "automatic". baseline : one more.

    Raises
    ------
    OptionError : an unknown program or problem, a size below 2.
    """
    for n in sizes:
        if n < 2:
            raise OptionError(f"a size is at least 2 cells, not {n}")
    return [
        Case(program, each, n, label)
        for program in map(Program.load, programs)
        for each in map(problem, problems)
        for n in ([each.size] if each.fixed else sorted(set(sizes)))
        for label in dict.fromkeys([*([baseline] if baseline else []), *solvers])
    ]


def measure(
    chosen: Sequence[Case],
    *,
    baseline: str = "scs",
    repeat: int = 3,
    threads: int = 1,
    time_limit: float = 60.0,
    tolerance: float | None = None,
    seed: int = 0,
    begin: Callable[[str], None] | None = None,
) -> Iterator[Row]:
    """The rows one by one, in the order of the cases.

    A solver that reaches the time limit, runs out of memory or does not apply is not tried on larger sizes.
    Ctrl-C ends the measurement; the row that runs is lost.

    Parameters
    ----------
    baseline : the solver that the others are compared with, where it was measured before them.
    repeat : solves per case. threads : of the dense algebra (BLAS) and of solvers that have a setting.
    time_limit : seconds of the solver in each solve.
    tolerance : the gap asked for; by default each solver's own.
    seed : of random workloads.
    begin : called with a line before each case.

    Raises
    ------
    OptionError : fewer than one repeat or thread, an unknown solver, an option out of range.
    SolverError : a solver that is not installed; no process can be started.
    """
    for name, value in (("repeat", repeat), ("threads", threads)):
        if value < 1:
            raise OptionError(f"'{name}' is at least 1, not {value}")
    for solver in dict.fromkeys(case.solver for case in chosen):
        check_solver(solver, threads=threads, time_limit=time_limit, tolerance=tolerance)
    stopped: dict[tuple[str, ...], Row] = {}
    compared: dict[tuple[str, str, int], float] = {}
    with Isolated(forks=False, threads=threads) as isolated:
        for case in chosen:
            curve = (case.program.name, case.problem.name, case.label)
            workload = case.problem.workload(case.n, seed)
            if curve in stopped:
                before = stopped[curve]  # the same solver has not done a smaller size
                reason = f"not tried: {before.n} cells ended with '{before.stop}'"
                none = Outcome(case.program.name, case.label, None, reason, reason, "not tried")
                yield replace(row_of(case, workload, [none]), repeats=0)
                continue
            if begin is not None:
                begin(f"{case.program.name} on {case.problem.name}, {workload.n} cells, {case.label}")
            task = [Combination(case.program, case.solver, tolerance)]
            solves: list[Outcome] = []
            # What was ended, or refused, would be so again.
            while len(solves) < repeat and all(
                o.solution is not None and o.stop not in FINAL for o in solves
            ):
                solves += outcomes(workload, task, time_limit=time_limit, isolated=isolated, threads=threads)
                if isolated.interrupted:
                    return
            row = row_of(case, workload, solves)
            if row.stop in FINAL:
                stopped[curve] = row
            if row.cpu is not None and row.has_reached:
                at = (row.program, row.problem, row.n)
                if row.solver == baseline:
                    compared[at] = row.cpu
                row = replace(row, ratio=compared[at] / row.cpu if at in compared else None)
            yield row


def row_of(case: Case, workload: Workload, solves: Sequence[Outcome]) -> Row:
    """The medians of the outcomes of one case."""
    last = solves[-1]
    solution = last.solution
    cpu = [o.cpu for o in solves if o.cpu is not None]
    memory = [o.memory for o in solves if o.memory is not None]
    return Row(
        program=case.program.name,
        problem=case.problem.name,
        solver=case.label,
        chosen=last.solver,
        n=workload.n,
        m=workload.m,
        cpu=statistics.median(cpu) if cpu and solution is not None else None,
        wall=statistics.median(o.seconds for o in solves),
        iterations=None if solution is None else solution.iterations,
        memory=round(statistics.median(memory)) if memory else None,
        gap=None if solution is None else solution.gap,
        objective=None if solution is None else solution.objective,
        bound=None if solution is None else solution.bound,
        stop=last.stop,
        reason=last.reason,
        repeats=len(solves),
    )
