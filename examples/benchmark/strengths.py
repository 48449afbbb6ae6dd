"""Strengths and weaknesses of each solver, by rules from the measured figures alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from aggregates import ACCURACIES, counted_calls, mean_time, times_to
from ladders import Ladders, largest
from measured_solve import KERNEL, MMOPT
from truths import PROVED, WRONG, verdict_of

from mmopt.limits import Stop

__all__ = ["RULES", "strengths"]

Rows = Sequence[Mapping[str, Any]]
MIDDLE, FINEST = ACCURACIES[1], ACCURACIES[-1]
OFTEN = 0.5  # of a class: where a solver is the quickest of all so often, that is said
SLOW = 10.0  # times the quickest mean of its class
OFF = 1e-3  # of a DIMACS error, at the call that counts: beyond it the point is the repair's
RULES = (
    f"**Good**: all instances of a class to {FINEST:.0e}; the quickest to {MIDDLE:.0e} on at least half of a "
    "class; the largest size of a ladder; a proof for every problem without a solution that it takes. "
    f"**Bad**: instances of a class that it misses; a mean time to {MIDDLE:.0e} that is {SLOW:g} times the "
    "least of its class (not of mmopt and kernel, which are timed from the program on, compiling included); "
    f"own points with a DIMACS error above {OFF:.0e} where {FINEST:.0e} counts; no proof; wrong words."
)


def strengths(rows: Rows, ladders: Ladders, settings: Mapping[str, Any]) -> list[list[str]]:
    """A line for each solver: its name, what it is good at and what bad, as ``RULES`` says.

    rows : all calls. settings : limit, shift and clock of the run.
    """
    plain = [row for row in rows if row["ladder"] is None and row["truth"] is None]
    good: dict[str, list[str]] = {row["solver"]: [] for row in rows}
    bad: dict[str, list[str]] = {solver: [] for solver in good}
    for name in dict.fromkeys(row["class"] for row in plain):
        _judge_class(name, [row for row in plain if row["class"] == name], settings, good, bad)
    for ladder, solvers in ladders.items():
        tops = {solver: largest(steps) or 0 for solver, steps in solvers.items()}
        for solver, top in tops.items():
            if len(tops) > 1 and top and top == max(tops.values()):
                good[solver].append(f"{ladder} up to {top}")
    _judge_words([row for row in rows if row["truth"] is not None], good, bad)
    off = dict.fromkeys(good, 0)
    for (solver, _), row in counted_calls(plain, FINEST, settings["clock"], settings["limit"]).items():
        errors = [row[f"err{i}"] for i in range(1, 7)]
        off[solver] += None not in errors and max(map(abs, errors)) > OFF
    for solver, count in off.items():
        if count:
            bad[solver].append(f"own points far off before the repair on {count}")
    return [[solver, "; ".join(good[solver]) or "-", "; ".join(bad[solver]) or "-"] for solver in good]


Words = dict[str, list[str]]


def _judge_class(name: str, rows: Rows, settings: Mapping[str, Any], good: Words, bad: Words) -> None:
    """Add what the figures of a class say; of solvers that take all of it."""
    clock, limit, shift = (settings[k] for k in ("clock", "limit", "shift"))
    refused = {row["solver"] for row in rows if row["stop"] == Stop.UNSUITABLE}
    able = [s for s in dict.fromkeys(row["solver"] for row in rows) if s not in refused]
    instances = list(dict.fromkeys(row["instance"] for row in rows))
    times = {a: times_to(rows, a, clock, limit) for a in ACCURACIES}
    quickest = {i: min(times[MIDDLE][s, i] for s in able) for i in instances if able}
    means = {s: mean_time([times[MIDDLE][s, i] for i in instances], shift, limit) for s in able}
    for solver in able:
        missed = {a: sum(math.isinf(times[a][solver, i]) for i in instances) for a in ACCURACIES}
        if not missed[FINEST]:
            good[solver].append(f"{name} to {FINEST:.0e}")
        first = sum(times[MIDDLE][solver, i] == quickest[i] < math.inf for i in instances)
        if len(able) > 1 and first >= OFTEN * len(instances):
            good[solver].append(f"quickest on {first} of {len(instances)} {name}")
        coarsest = next((a for a in ACCURACIES if missed[a]), None)
        if coarsest is not None:
            bad[solver].append(f"misses {coarsest:.0e} on {missed[coarsest]} of {len(instances)} {name}")
        elif solver not in (KERNEL, MMOPT) and means[solver] > SLOW * min(means.values()):
            bad[solver].append(f"{means[solver] / min(means.values()):.0f} times the least time on {name}")


def _judge_words(rows: Rows, good: Words, bad: Words) -> None:
    """Add what was proved, and what was wrong, of problems without a solution."""
    provable = [row for row in rows if verdict_of(row) != "-" and not row["truth"].startswith("weakly")]
    for solver in good:
        verdicts = [verdict_of(row) for row in provable if row["solver"] == solver]
        proofs = verdicts.count(PROVED)
        if verdicts:
            words = f"proves {proofs} of {len(verdicts)} problems without a solution"
            (good if proofs == len(verdicts) else bad)[solver].append(words)
        wrong = sum(verdict_of(row).startswith(WRONG) for row in rows if row["solver"] == solver)
        if wrong:
            bad[solver].append(f"wrong about {wrong} of them")
