"""What the shell completes beside files: names of programs, solvers and baselines."""

from __future__ import annotations

from collections.abc import Callable, Iterable

__all__ = ["baseline_words", "listed", "program_words", "solver_words"]


def program_words(incomplete: str) -> list[str]:
    """Shipped programs that begin so; where there are none the shell completes files."""
    from mmopt.resources import programs_folder

    return _beginning(incomplete, (file.stem for file in programs_folder().glob("*.program")))


def solver_words(incomplete: str) -> list[str]:
    """Kernels and solvers that are known, installed or not."""
    from mmopt.solvers import KERNELS, SOLVERS

    return _beginning(incomplete, [*(row.name for row in KERNELS), *(row.name for row in SOLVERS)])


def baseline_words(incomplete: str) -> list[str]:
    """Baselines, by all their names."""
    from mmopt.strategies.baselines import baseline_words as known

    return _beginning(incomplete, known())


def listed(words: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """The same for the last of several, separated by commas."""

    def last(incomplete: str) -> list[str]:
        before, comma, rest = incomplete.rpartition(",")
        return [f"{before}{comma}{word}" for word in words(rest) if word not in before.split(",")]

    return last


def _beginning(start: str, names: Iterable[str]) -> list[str]:
    return sorted(name for name in names if name.startswith(start))
