"""What is measured: programs by problems by sizes by solvers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mmopt.errors import OptionError
from mmopt.language import Program
from mmopt.testing.problems import Problem, problem

__all__ = ["AUTOMATIC", "PROBLEMS", "PROGRAMS", "SIZES", "SOLVERS", "Case", "cases"]

PROGRAMS = ("l2_strategy",)
PROBLEMS = ("prefix", "all-ranges")
SIZES = (16, 32, 64)
SOLVERS = ("scs", "clarabel")
AUTOMATIC = "automatic"  # the solver that solve would choose


@dataclass(frozen=True)
class Case:
    """One solve, to be repeated: ``n`` cells are asked for, ``solver`` as ``mmopt.solve`` takes it."""

    program: Program
    problem: Problem
    n: int
    solver: str | None

    @property
    def group(self) -> tuple[str, str]:
        """Program and problem: what is laid side by side."""
        return self.program.name, self.problem.name

    @property
    def label(self) -> str:
        """The solver's name."""
        return self.solver or AUTOMATIC


def cases(
    programs: Sequence[str | Path | Program] = PROGRAMS,
    problems: Sequence[str] = PROBLEMS,
    sizes: Sequence[int] = SIZES,
    solvers: Sequence[str] = SOLVERS,
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
    loaded = [p if isinstance(p, Program) else Program.load(p) for p in programs]
    names = dict.fromkeys([*([baseline] if baseline else []), *solvers])
    return [
        Case(program, each, n, None if name == AUTOMATIC else name)
        for program in loaded
        for each in map(problem, problems)
        for n in ([each.size] if each.fixed else sorted(set(sizes)))
        for name in names
    ]
