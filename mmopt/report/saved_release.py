"""A release as rows: what was asked, what was spent, how accurate it is; all from its manifest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mmopt.errors import whole
from mmopt.mechanism.answer_columns import SIMULATED
from mmopt.numerics.outward import rounded
from mmopt.report.release_tables import cost_words
from mmopt.report.table_style import percent
from mmopt.strategies import Neighbours

__all__ = ["release_rows"]


def release_rows(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(name, text) of a manifest, of this version or of 0.1.0; a simulated one says so first."""
    asked, privacy, noise = manifest["workload"], manifest["privacy"], manifest["noise"]
    accuracy, versions = manifest["accuracy"], manifest["versions"]
    file = manifest.get("workload_file", {}).get("name")
    covered = accuracy["coverage"]
    least = f"at least {rounded(float(covered['least']), 6, up=False)} ({covered['kind']})"
    rows = [
        ("not private", "" if manifest["private"] else SIMULATED),
        ("warning", manifest.get("warning", "")),
        (
            "asked",
            f"{asked['queries']:,} queries over {whole(asked['cells'])} cells"
            + (f", '{file}'" if file else ""),
        ),
        ("strategy", _strategy(manifest)),
        ("privacy cost", cost_words(privacy["rho"], privacy["epsilon"], privacy["delta"])),
        ("neighbours", Neighbours.of(privacy["neighbours"]).words),
        ("sensitivity", privacy.get("sensitivity", "")),
        ("scaled", privacy.get("scaled", "")),
        ("not covered", privacy.get("not_covered", "")),
        ("theorem", privacy["theorem"]),
        (
            "noise",
            f"{noise['kind']}, of scale {noise['scale_at_unit_strategy']:.6g} on the strategy's queries",
        ),
        ("rmse", f"{rounded(float(accuracy['rmse']), 6, up=True)} per query"),
        ("refined", _refined(manifest)),
        ("optimum", _optimum(manifest)),
        ("intervals", f"{percent(float(accuracy['confidence']))}, each alone; coverage {least}"),
        ("ledger", _entry(manifest.get("ledger"))),
        ("released", f"{manifest['time']}, by mmopt {versions['mmopt']}"),
    ]
    return [(name, text) for name, text in rows if text]


def _entry(ledger: Mapping[str, Any] | None) -> str:
    """What was spent from which ledger; nothing without one."""
    if ledger is None:
        return ""
    what, part = ledger["measure"], ledger.get("part")
    of = f", part '{part['value']}' of '{part['column']}'" if part else ""
    spent = rounded(str(ledger["spent"]), 6, up=True)
    left, total = (rounded(str(ledger[name]), 6, up=False) for name in ("left", "total"))
    entry = f"entry {ledger['entry']} of the data set '{ledger['data_set']}'{of}"
    return f"{entry}: {what} {spent} spent of {total}, {left} left after it"


def _strategy(manifest: Mapping[str, Any]) -> str:
    """Where it is from, and what is measured."""
    program, solution = manifest.get("program"), manifest.get("solution", {})
    name = program.get("name", "") if isinstance(program, Mapping) else str(program or "")
    words = name or (f"template {solution['template']}" if solution.get("template") else "")
    rows = f"{manifest['strategy']['rows']:,} measured queries"
    return f"{words}: {rows}" if words else rows


def _refined(manifest: Mapping[str, Any]) -> str:
    """By which rules, and what that costs; "" of a release that is not refined."""
    if (about := manifest.get("refined")) is None:
        return ""
    totals = "".join(f", {total['of']}: {total['value']:.12g}" for total in about["totals"])
    whole = about["whole"]
    near = "" if whole is None else f"{whole['within_one']:,} of them rounded up or down"
    if whole is not None and whole["others"]:
        off = rounded(float(whole["largest_distance_of_others"]), 3, up=True)
        near += f", {whole['others']:,} off by up to {off}"
    return f"non-negative{totals}{f', whole ({near})' if near else ''}; {about['note']}"


def _optimum(manifest: Mapping[str, Any]) -> str:
    """How near the answers, before they are made whole, are to the best ones."""
    if (about := manifest.get("refined")) is None:
        return ""
    far = about["standard_errors_from_best"]
    if far is None:
        return f"not proved: {about['status']}"
    words = f"gap {rounded(float(about['gap']), 2, up=True, layout='e')}, {about['grade']}"
    near = rounded(float(far), 2, up=True, layout="e")
    return f"{words}: each answer within {near} standard errors of its best value"
