"""Problems without a solution: which answers are right, and which of them are proved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mmopt.limits import Stop

__all__ = ["PROVED", "WRONG", "truth_table", "verdict_of"]

PROVED, WRONG = "proved", "WRONG"


def verdict_of(row: Mapping[str, Any]) -> str:
    """Say in a few words what a call on a problem without a solution was worth.

    A claim counts as right where its ray proves it; where there is no such ray, as where it is none.
    """
    if row["stop"] == Stop.UNSUITABLE:
        return "-"
    claim, truth = row["claim"], row["truth"]
    if not claim:
        return "nothing"
    if claim not in truth:
        return f'{WRONG}: "{row["word"]}"'
    if row["is_proof"]:
        return PROVED if truth == claim else f"{WRONG}: a proof of what has none"
    if row["reach"] is None:
        return "said, no ray"
    return f"said, ray up to {row['reach']:.0e}"


def truth_table(rows: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Heads and lines: for each instance its truth and a verdict on each solver; last the sums."""
    verdicts = {(row["instance"], row["solver"]): verdict_of(row) for row in rows}
    solvers = list(dict.fromkeys(solver for (_, solver), verdict in verdicts.items() if verdict != "-"))
    truths = {row["instance"]: row["truth"] for row in rows}
    lines = [
        [name, truth, *(verdicts.get((name, solver), "-") for solver in solvers)]
        for name, truth in truths.items()
    ]
    for words in (PROVED, WRONG):
        counts = [
            sum(verdicts.get((name, solver), "-").startswith(words) for name in truths) for solver in solvers
        ]
        lines.append([f"**{words.lower()}**", "", *map(str, counts)])
    return ["instance", "truth", *solvers], lines
