"""Derives what a manifest says from the files beside it, compares the two, and lists what is left unchecked.

A manifest is for readers, so that its figures stand there though they follow: from the answers and from one
another, from the saved strategy, and with the workload from the plan. None of them is believed on reading.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from mmopt.answers.read_folder import CHANGED, FORMATS, HINT
from mmopt.errors import Error, PrivacyError, ResultError
from mmopt.ledger.account import MEASURES, Measure
from mmopt.ledger.composition import above, cost_in
from mmopt.mechanism.accuracy import standard_errors
from mmopt.mechanism.answer_columns import REFINED
from mmopt.mechanism.measurement import check_claim
from mmopt.mechanism.release_folder import GUARANTEE, MANIFEST_FILE, STRATEGY_FILE, noise_words, stated
from mmopt.mechanism.release_plan import Plan, claim, composed
from mmopt.numerics.outward import rounded
from mmopt.privacy.privacy_parameters import privacy_warning
from mmopt.privacy.rounding.table_of_forms import round_any
from mmopt.privacy.table_of_noises import NOISES
from mmopt.proof.verify import checked_summary
from mmopt.results import AnySolution, Frame
from mmopt.results.npz_file import UNREADABLE
from mmopt.results.solution import gap_between
from mmopt.strategies import Neighbours
from mmopt.workloads import Workload

__all__ = ["derived"]

Facts = dict[str, Any]
"""Values of a manifest at their places in it, by names."""

_NOTHING = 1e-200  # of a squared distance in standard errors
_SAME, _NEAR = 1e-11, 1e-6  # relative: of twelve digits; of a plan, computed by other versions of libraries


def derived(
    folder: Path,
    manifest: Facts,
    answers: Frame,
    workload: Workload | None,
    solution: AnySolution | None,
) -> tuple[Plan | None, tuple[str, ...]]:
    """The plan by which a release was made, where its workload is given, and what is left unchecked.

    That is every place of the manifest of which nothing beside it says the same.

    Raises
    ------
    ResultError : the manifest says something else than follows from the answers, from its other figures or
        from the saved strategy. With the workload also: another one than was asked, no strategy, one that
        gives other integers than were measured; a claim that the noise does not prove; answers with other
        standard errors; a manifest that says something else than follows from the plan.
    """
    try:
        facts = _of_answers(manifest, answers)
    except (*UNREADABLE, Error):
        raise ResultError(f"'{folder / MANIFEST_FILE}' is no manifest of a release", hint=HINT) from None
    if manifest["format"] == FORMATS[0]:  # whose words were others
        facts = {name: facts[name] for name in ("format", "private", "workload", "accuracy")}
    _compare(folder, manifest, facts, "its answers and its other figures", is_all=False)
    by_solution = {} if solution is None else _of_solution(manifest, solution)
    _compare(folder, manifest, by_solution, "its strategy")
    plan = None
    if workload is not None:
        plan = _plan(folder, manifest, answers, workload, solution)
        by_plan = _of_plan(plan, manifest)
        _compare(folder, manifest, by_plan, "its strategy and noise", _NEAR)
        del by_plan["privacy"]["set_by"]  # which the plan was made from
        facts |= by_plan
    return plan, tuple(_left(manifest, facts | by_solution))


# -- what is said and what follows


def _compare(
    folder: Path, manifest: Facts, facts: Facts, by: str, near: float = _SAME, is_all: bool = True
) -> None:
    """ResultError unless the manifest says these facts; if they are all, nothing else in their sections."""
    for section, fact in facts.items():
        claimed, found = (dict(_leaves(value, section)) for value in (manifest.get(section), fact))
        for place in {**found, **claimed} if is_all else found:
            ours, theirs = claimed.get(place, "missing"), found.get(place, "missing")
            if type(ours) is not type(theirs) or not (
                math.isclose(ours, theirs, rel_tol=near) if isinstance(ours, float) else ours == theirs
            ):
                raise ResultError(
                    f"'{folder}' contradicts itself: {place} is {ours!r:.200} by its manifest, "
                    f"{theirs!r:.200} by {by}",
                    hint=CHANGED,
                )


def _leaves(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    """The values in a manifest, by their places."""
    inside = value if isinstance(value, dict) else dict(enumerate(value)) if isinstance(value, list) else {}
    if not inside:
        yield place, value
    for name, each in inside.items():
        yield from _leaves(each, f"{place} {name}")


def _left(manifest: Facts, facts: Facts, place: str = "") -> Iterator[str]:
    """The places of a manifest of which there are no facts."""
    for name, value in manifest.items():
        if name not in facts:
            yield f"{place}{name}"
        elif isinstance(value, dict) and isinstance(facts[name], dict):
            yield from _left(value, facts[name], f"{place}{name}.")


# -- from the answers, from the strategy


def _of_answers(manifest: Facts, answers: Frame) -> Facts:
    privacy, noise, strategy = manifest["privacy"], manifest["noise"], manifest["strategy"]
    rho, epsilon, delta = privacy["rho"], privacy["epsilon"], privacy["delta"]
    unit = "epsilon" if rho is None else "rho"
    law = min((one for one in NOISES if one.unit == unit), key=lambda one: f"L{one.norm}" != strategy["norm"])
    parts, errors, covered = strategy["parts"], answers["standard_error"], manifest["accuracy"]["coverage"]
    found: Facts = {
        **{name: manifest[name] for name in ("format", "private", "files") if name in manifest},
        "warning": privacy_warning(epsilon, delta, rho),
        "workload": {"queries": len(answers)},
        "strategy": {
            "norm": f"L{law.norm}",
            "rows": sum(part["rows"] for part in parts),
            "bits": strategy["bits"],
        },
        "privacy": {
            "unit": Neighbours.of(privacy["neighbours"]).unit,
            **{name: privacy[name] for name in GUARANTEE},
        },
        "noise": {
            **noise_words(law, manifest["private"]),
            "scale": noise["scale"],
            "scale_at_unit_strategy": math.ldexp(noise["scale"], -strategy["bits"]),
        },
        "accuracy": {
            "rmse": float(np.sqrt(np.mean(np.square(errors)))),
            "confidence": float(answers.metadata["confidence"]),
            "coverage": {
                "least": _published(covered["least"], float(answers["coverage"].min())),
                "largest": _published(covered["largest"], float(answers["coverage"].max())),
            },
        },
    }
    if rho is None or delta is None:
        found["privacy"]["theorem"] = composed(law.theorem, parts)
    if cost := epsilon if rho is None else rho:
        # That at which this sensitivity costs as much; of one part it may be before or after its own noise.
        scale = strategy["sensitivity"] * law.least_scale(float(law.exact_cost(1, Fraction(1))) / cost)
        own = [scale, scale / parts[0]["relative_noise"] if len(parts) == 1 else scale]
        found["noise"]["scale"] = min(own, key=lambda each: abs(each - noise["scale"]))
        found["strategy"]["sensitivity"] = float(strategy["sensitivity"])
    if "ledger" in manifest:
        said = manifest["ledger"]["measure"]
        measure: Measure = said if rho is None and said in MEASURES else "rho"
        found["ledger"] = {"measure": measure, "spent": above(cost_in(measure, rho, epsilon))}
    if "refined" in manifest:
        found["refined"] = _of_refined(manifest["refined"], answers)
    return found


def _of_refined(said: Facts, answers: Frame) -> Facts:
    """Facts about refined answers: the released ones they refine, their distance from these, and the gap."""
    from mmopt.answers.nearest_counts import PROGRAM  # which solves

    before = Frame({name: answers[name] for name in answers.names if name != "refined"})
    off = (answers["refined"] - answers["estimate"]) / answers["standard_error"]
    # Of answers that were consistent as released nothing is left but what the proof adds for underflow.
    objective = max(float(off @ off), said["bound"], min(said["objective"], _NOTHING))
    return {
        "note": REFINED,
        "of": {"answers_sha256": hashlib.sha256(before.to_csv().encode()).hexdigest()},
        "program": PROGRAM,
        "gap": gap_between(said["objective"], said["bound"]),
        # Of whole answers the figures are those of the counts before.
        **({"objective": objective} if said["whole"] is None else {}),
    }


def _of_solution(manifest: Facts, solution: AnySolution) -> Facts:
    """Facts that the saved strategy states and the manifest repeats: all of them, or those recomputed."""
    cut = dict if "seconds" in manifest.get("solution", {}) else checked_summary
    found = {"solution": cut(solution.summary()), **solution.about_program()}
    kept = {name: fact for name, fact in found.items() if isinstance(manifest.get(name), dict)}
    return dict(json.loads(json.dumps(kept)))


def _published(claimed: Any, found: float) -> float:
    """A coverage, of which answers have six digits, rounded down: as it is claimed if that is the same."""
    is_same = (
        isinstance(claimed, float) and 0 < claimed <= 1 and float(rounded(claimed, 6, up=False)) == found
    )
    return claimed if is_same else found


# -- from the plan


def _plan(
    folder: Path, manifest: Facts, answers: Frame, workload: Workload, solution: AnySolution | None
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
    plan = replace(plan, standard_errors=errors)
    try:
        check_claim(plan)
    except PrivacyError as error:
        raise ResultError(f"'{folder}' contradicts itself: {error.message}", hint=CHANGED) from None
    if not np.allclose(errors, answers["standard_error"], rtol=_NEAR, atol=0.0):
        raise ResultError(
            f"'{folder}' contradicts itself: the noise of its manifest has other standard errors than its "
            "answers",
            hint=CHANGED,
        )
    return plan


def _of_plan(plan: Plan, manifest: Facts) -> Facts:
    """All that a manifest says of workload, strategy, privacy and noise; of accuracy its answers say it."""
    asked = plan.epsilon if plan.epsilon and plan.epsilon > 0 else math.inf
    theorem = claim(plan.law, plan.integer, plan.fineness, plan.scale, plan.delta, asked)[3]
    own = replace(plan, theorem=composed(theorem, plan.integer.parts))
    return stated(own, manifest["private"])
