"""What a conformance check found: failures one by one, skips by their reason, the rest counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

__all__ = ["Failure", "Report", "Skip"]

PLACES_SHOWN = 6  # places that are listed beside the reason of a skip
NOTES_SHOWN = 20  # notes that are listed


@dataclass(frozen=True)
class Failure:
    """One thing that is not as it must be: where, which check, what was expected and what was found."""

    program: str
    problem: str
    check: str
    what: str
    expected: str
    found: str

    def __str__(self) -> str:
        place = f"{self.program} on {self.problem}, {self.check}"
        return f"{place}: {self.what}: expected {self.expected}, found {self.found}"


@dataclass(frozen=True)
class Skip:
    """A check that was not made, and why; ``check`` is "solved" when the problem was not even solved."""

    program: str
    problem: str
    check: str
    reason: str


@dataclass(frozen=True)
class Report:
    """What was checked.

    subject : name of the solver, or of the function, that was checked. seed : of the random workloads.
    solves : how often it solved something.
    passed : number of checks that hold, by name.
    notes : gaps that were not reached, where the solution says so.
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
        lines = [f"{head} ({self.solves} solves, {len(self.skips)} skips, seed {self.seed})"]
        lines += [f"  {name}: {number}" for name, number in self.passed.items()]
        lines += _section("failures", [str(failure) for failure in self.failures])
        lines += _section("skipped", _by_reason(self.skips))
        lines += _section("gap not reached, and said so", self.notes, NOTES_SHOWN)
        return "\n".join(lines)


def _section(title: str, lines: Sequence[str], most: int | None = None) -> list[str]:
    shown = [f"  {line}" for line in lines[:most]] + ["  …"] * (most is not None and len(lines) > most)
    return [f"{title} ({len(lines)})", *shown] if lines else []


def _by_reason(skips: Sequence[Skip]) -> list[str]:
    places: dict[tuple[str, str], list[str]] = {}
    for skip in skips:
        place = f"{skip.program} on {skip.problem}" if skip.problem else skip.program
        places.setdefault((skip.check, skip.reason), []).append(place)
    return [
        f"{check}, {len(where)}: {reason} "
        f"({', '.join(where[:PLACES_SHOWN])}{', …' * (len(where) > PLACES_SHOWN)})"
        for (check, reason), where in places.items()
    ]
