"""The plan of a saved release again: its strategy in integers, with the noise that its manifest states.

What follows from the plan is computed again and compared with what manifest and answers say.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mmopt.answers.read_folder import CHANGED
from mmopt.errors import PrivacyError, ResultError
from mmopt.mechanism.accuracy import standard_errors
from mmopt.mechanism.measurement import check_claim
from mmopt.mechanism.release_folder import STRATEGY_FILE, stated
from mmopt.mechanism.release_plan import Plan, claim, composed
from mmopt.privacy.rounding.table_of_forms import round_any
from mmopt.results import AnySolution, Frame
from mmopt.workloads import Workload

__all__ = ["saved_plan"]

_SAME = 1e-6  # relative: standard errors that were rounded, and computed by other versions of libraries


def saved_plan(
    folder: Path,
    manifest: Mapping[str, Any],
    answers: Frame,
    workload: Workload,
    solution: AnySolution | None,
) -> Plan:
    """The plan by which a release was made, from its files and the workload that was asked.

    Raises
    ------
    ResultError : another workload than was asked, no strategy, one that gives other integers than were
        measured; a claim that the noise does not prove; answers or a manifest that say otherwise than the
        plan.
    """
    plan = _plan(folder, manifest, workload, solution)
    _check_plan(folder, plan, manifest, answers)
    return plan


def _plan(
    folder: Path, manifest: Mapping[str, Any], workload: Workload, solution: AnySolution | None
) -> Plan:
    """The plan of a saved release: its strategy in integers again, with the noise of its manifest."""
    asked = manifest["workload"]["hash"]
    if workload.hash != asked:
        raise ResultError(
            f"'{folder}' answers another workload: its hash is {asked[:16]}…, that of the one given is "
            f"{workload.hash[:16]}…",
            hint="give the workload that was released",
        )
    if solution is None:
        raise ResultError(f"'{folder}' does not hold the strategy that was used ({STRATEGY_FILE})")
    privacy, noise = manifest["privacy"], manifest["noise"]
    integer = round_any(solution.strategy, workload, privacy["neighbours"])
    if integer.hash != manifest["strategy"]["hash"]:
        raise ResultError(
            f"the strategy in '{folder}' gives other integers than were measured: their hash is "
            f"{integer.hash[:16]}…, the manifest says {manifest['strategy']['hash'][:16]}…",
            hint=f"it was released by mmopt {manifest['versions']['mmopt']}, on other versions of libraries",
        )
    fineness = manifest["strategy"]["bits"] - integer.bits
    plan = Plan(
        workload=workload,
        integer=integer,
        privacy=None,
        absolute=privacy["set_by"] == "targets",
        scale=math.ldexp(noise["scale"], -fineness),
        fineness=fineness,
        rho=privacy["rho"],
        delta=privacy["delta"],
        epsilon=privacy["epsilon"],
        allowed=None,
        theorem=privacy["theorem"],
        standard_errors=np.empty(0),
        chosen_for=solution.strategy.neighbours,
    )
    errors = standard_errors(plan.law, integer, plan.scale, fineness)
    errors.flags.writeable = False
    return replace(plan, standard_errors=errors)


def _check_plan(folder: Path, plan: Plan, manifest: Mapping[str, Any], answers: Frame) -> None:
    """ResultError where the noise of the manifest costs more than it claims, or has other standard errors.

    And where the manifest says otherwise than its plan of workload, strategy or privacy.
    """
    try:
        check_claim(plan)
    except PrivacyError as error:
        raise ResultError(f"'{folder}' contradicts itself: {error.message}", hint=CHANGED) from None
    if not np.allclose(plan.standard_errors, answers["standard_error"], rtol=_SAME, atol=0.0):
        raise ResultError(
            f"'{folder}' contradicts itself: the noise of its manifest has other standard errors than its "
            "answers",
            hint=CHANGED,
        )
    asked = plan.epsilon if plan.epsilon and plan.epsilon > 0 else math.inf
    theorem = claim(plan.law, plan.integer, plan.fineness, plan.scale, plan.delta, asked)[3]
    for part, facts in stated(replace(plan, theorem=composed(theorem, plan.integer))).items():
        for name in {**facts, **manifest[part]}:
            claimed, fact = manifest[part].get(name), facts.get(name)
            if not _same(claimed, fact):
                raise ResultError(
                    f"'{folder}' contradicts itself: {part} {name} is {claimed!r} by its manifest, {fact!r} "
                    "by its strategy and noise",
                    hint=CHANGED,
                )


def _same(claimed: Any, fact: Any) -> bool:
    """Numbers but for rounding, by whatever version of libraries."""
    if isinstance(fact, float) and isinstance(claimed, float):
        return math.isclose(claimed, fact, rel_tol=_SAME)
    if isinstance(fact, list) and isinstance(claimed, list):
        pairs = [(a.get(k), v) for a, b in zip(claimed, fact, strict=False) for k, v in b.items()]
        return len(claimed) == len(fact) and all(_same(a, b) for a, b in pairs)
    return bool(claimed == fact)
