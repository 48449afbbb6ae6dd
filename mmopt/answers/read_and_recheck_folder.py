"""The folder of a release read back, and the figures of its manifest derived again.

A folder is read only if it is whole, and its files are those of its manifest. What the manifest says is then
compared with what follows from the files: ``plan_and_unchecked``.

A manifest is for readers, so it contains figures though they follow from others: from the answers and from
one another, from the saved strategy, and with the workload from the plan. No figure is believed on reading:
It derives the figures from the other files, compares, and lists what is left unchecked.
"""

import csv
import hashlib
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from mmopt.errors import Error, OptionError, PrivacyError, ResultError
from mmopt.installation_and_files import parse_json
from mmopt.ledger.account import MEASURES, Measure, above, cost_in
from mmopt.mechanism.measured_and_simulated_releases import FIGURES, check_claim, described
from mmopt.mechanism.release_plan import Plan, claim_again, composed, guarantee_of, row_rules
from mmopt.mechanism.release_writing import (
    ANSWERS_FILE,
    FORMAT,
    GUARANTEE,
    KEPT,
    LOCAL,
    MANIFEST_FILE,
    PARQUET_FILE,
    REFINED,
    SIMULATED,
    SMALL,
    STRATEGY_FILE,
    coverage_kind,
    guarantee,
    noise_words,
    plan_sections,
    wishes_by_name,
)
from mmopt.numerics.arrays import EPS, Array, rounded
from mmopt.privacy.epsilon_delta_rho import (
    continuous_gaussian_epsilon,
    discrete_gaussian_delta,
    privacy_warning,
)
from mmopt.privacy.noise import MOST_SUMMED, NOISES, Noise
from mmopt.privacy.rounding.table_of_forms import round_any
from mmopt.proof.verify import checked_summary
from mmopt.report.accuracy_release_and_ledger_tables import release_rows
from mmopt.report.table_style import wish_words
from mmopt.results import Frame, Solution, gap_between
from mmopt.results.saved_fields import UNREADABLE
from mmopt.strategies import Neighbours
from mmopt.workloads import Workload

CHANGED = "it was changed since; copy it again from where it was released"
HINT = "name a folder that 'mmopt release --out' or Release.save wrote"
# The first is that of version 0.1.0: CSV and manifest alone. The second had other words for units.
FORMATS = ("mmopt release 1", "mmopt release 2", FORMAT)
SECTIONS = ("private", "workload", "strategy", "privacy", "noise", "accuracy", "versions", "time")


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a release whose files are all there and as they were written.

    Raises
    ------
    ResultError : no such folder, no release, one of another version, a file that is missing or was changed.
    """
    if not folder.is_dir():
        raise ResultError(f"there is no folder '{folder}'", hint=HINT)
    if not (folder / MANIFEST_FILE).is_file():
        raise ResultError(f"'{folder}' is not a release: it has no {MANIFEST_FILE}", hint=HINT)
    try:
        manifest = parse_json((folder / MANIFEST_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise ResultError(f"'{folder / MANIFEST_FILE}' is not the manifest of a release", hint=HINT) from None
    kind = manifest.get("format") if isinstance(manifest, dict) else None
    if kind not in FORMATS:
        raise ResultError(
            f"'{folder / MANIFEST_FILE}' has format {kind!r}, this version reads {', '.join(FORMATS)}",
            hint=HINT,
        )
    if lacks := [key for key in SECTIONS if key not in manifest]:
        raise ResultError(f"'{folder / MANIFEST_FILE}' lacks {', '.join(lacks)}", hint=HINT)
    _check_files(folder, manifest)
    try:
        _check_values(manifest)
    except (*UNREADABLE, OptionError):
        raise ResultError(f"'{folder / MANIFEST_FILE}' is not the manifest of a release", hint=HINT) from None
    return dict(manifest)


def _check_values(manifest: Mapping[str, Any]) -> None:
    """Raise an error of ``UNREADABLE`` where a value that is used or shown is missing, or of another type."""
    strategy, noise, privacy = manifest["strategy"], manifest["noise"], manifest["privacy"]
    texts = (strategy["hash"], manifest["workload"]["hash"], privacy["set_by"], manifest["time"])
    if not all(isinstance(text, str) for text in texts) or not isinstance(manifest["private"], bool):
        raise TypeError("texts")
    for cost in (privacy["rho"], privacy["epsilon"], privacy["delta"]):
        if cost is not None and not (isinstance(cost, int | float) and 0 <= cost < math.inf):  # nor NaN
            raise TypeError("costs")
    math.ldexp(noise["scale"], strategy["bits"])
    release_rows(manifest)
    for wanted in manifest["accuracy"].get("asked", {}).values():
        wish_words(wanted)


def _check_files(folder: Path, manifest: Mapping[str, Any]) -> None:
    """ResultError unless all files that the manifest lists are there, and as they were written."""
    is_old = manifest["format"] == FORMATS[0]
    listed: Any = manifest.get("files", {ANSWERS_FILE: {}} if is_old else None)
    required = {ANSWERS_FILE} if is_old else {ANSWERS_FILE, PARQUET_FILE}
    is_list = isinstance(listed, dict) and all(
        isinstance(entry, dict) and (is_old or "sha256" in entry) for entry in listed.values()
    )
    # Version 0.1.0 wrote no Parquet file.
    if (
        not is_list
        or not required <= set(listed)
        or is_old > (PARQUET_FILE not in listed)
        or any(Path(name).name != name for name in listed)
    ):
        raise ResultError(f"'{folder / MANIFEST_FILE}' does not say which files belong to it", hint=HINT)
    for name, entry in listed.items():
        try:
            digest = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        except (OSError, ValueError):  # also of a name that no file can have
            raise ResultError(
                f"'{folder}' is incomplete: its manifest lists {name}, which cannot be read",
                hint="copy the folder again from where it was released",
            ) from None
        if "sha256" in entry and digest != entry["sha256"]:
            raise ResultError(
                f"'{folder / name}' is not the file that was released: its SHA-256 is {digest[:16]}…, the "
                f"manifest says {str(entry['sha256'])[:16]}…",
                hint=CHANGED,
            )


def read_answers(folder: Path, manifest: Mapping[str, Any]) -> Frame:
    """The answers of a release.

    Raises
    ------
    ResultError : they cannot be read, are not the same in both files, or contradict the manifest about the
        guarantee, or about whether they are private.
    """
    try:
        text = (folder / ANSWERS_FILE).read_text(encoding="utf-8")
        if PARQUET_FILE not in manifest.get("files", {}):
            frame, other = _from_csv(text, manifest), text
        else:
            frame = _from_parquet((folder / PARQUET_FILE).read_bytes())
            other = frame.to_csv()
    except (OSError, ValueError, LookupError, TypeError):
        raise ResultError(f"the answers in '{folder}' cannot be read", hint=HINT) from None
    expected = _expected_metadata(manifest)
    metadata = {
        key: frame.metadata.get(key) for key in {**expected, **dict.fromkeys((*GUARANTEE, "refined"))}
    }
    if "private" in frame.names and not frame["private"].all():
        metadata["private"] = "false"  # some rows were copied from simulated answers
    for key, value in metadata.items():
        if value != expected.get(key):
            raise ResultError(
                f"'{folder}' contradicts itself: {key} is {expected.get(key)} by its manifest, {value} by "
                "its answers",
                hint=CHANGED,
            )
    if other != text:
        raise ResultError(
            f"'{folder}' contradicts itself: {ANSWERS_FILE} and {PARQUET_FILE} hold other answers",
            hint=CHANGED,
        )
    return frame


def _expected_metadata(manifest: Mapping[str, Any]) -> dict[str, str]:
    """The part of the manifest that the metadata of answers repeat."""
    return {
        "confidence": repr(float(manifest["accuracy"]["confidence"])),
        "private": str(manifest["private"]).lower(),
        **guarantee(manifest),
        **({"refined": manifest["refined"]["note"]} if "refined" in manifest else {}),
    }


def _from_parquet(data: bytes) -> Frame:
    """The answers in a Parquet file, with their metadata; ValueError where it is none."""
    import pyarrow
    from pyarrow import parquet

    try:
        table = parquet.read_table(pyarrow.BufferReader(data))
    except pyarrow.ArrowException as error:
        raise ValueError(str(error)) from None
    columns = {}
    for name in table.column_names:
        values = table.column(name).to_numpy()
        columns[name] = values.astype("datetime64[D]") if values.dtype.kind == "M" else values
    return _with_intervals(
        Frame(columns, {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()})
    )


def _from_csv(text: str, manifest: Mapping[str, Any]) -> Frame:
    """The answers of version 0.1.0: texts, figures, and whether they are private."""
    heads, *rows = csv.reader(io.StringIO(text))
    columns: dict[str, Any] = {}
    for name, values in zip(heads, zip(*rows, strict=True), strict=True):
        if name in FIGURES:
            columns[name] = np.array([float(value) for value in values])
        elif name == "private":
            columns[name] = np.array([value == "true" for value in values])
        else:
            columns[name] = np.array(values, dtype=object)
    return _with_intervals(
        Frame(
            columns,
            {**_expected_metadata(manifest), **({} if manifest["private"] else {"warning": SIMULATED})},
        )
    )


def _with_intervals(frame: Frame) -> Frame:
    """The frame; ValueError where columns of every release are missing, or hold no answers with intervals."""
    required = {"query", "label", *FIGURES, *(["refined"] if "refined" in frame.metadata else [])}
    if not required <= set(frame.names) or "confidence" not in frame.metadata:
        raise ValueError("no answers")
    figures = np.array([frame[name] for name in (*FIGURES, *({"refined"} & set(frame.names)))], dtype=float)
    estimate, error, low, high, covered = figures[:5]
    confidence = float(frame.metadata["confidence"]) - 1e-6  # six digits of it are written
    if not (
        np.isfinite(figures).all()
        and ((low <= estimate) & (estimate <= high) & (error >= 0)).all()
        and ((covered >= confidence) & (covered <= 1)).all()
    ):
        raise ValueError("no intervals")
    return frame


#: Values of a manifest at their places in it, by names.
Facts = dict[str, Any]

_SHOWN, _WHOLE = 1e-4, 1e-7  # standard errors, and rows: the most by which ends of intervals are rounded
_UNDERFLOW = 1e-200  # a squared distance in standard errors
# Relative: twelve digits; what such figures prove; a plan computed by other versions of libraries.
_SAME, _ROUNDED, _NEAR = 1e-11, 1e-9, 1e-6


def plan_and_unchecked(
    folder: Path,
    manifest: Facts,
    answers: Frame,
    workload: Workload | None,
    solution: Solution | None,
) -> tuple[Plan | None, tuple[str, ...]]:
    """The plan by which a release was made, where its workload is given, and what is left unchecked.

    Every place of the manifest is unchecked that nothing else in the folder confirms, even if other figures
    of the manifest set limits for it.

    Raises
    ------
    ResultError : the manifest contradicts the answers, its other figures or the saved strategy. With the
        workload also: another workload than the released one, no strategy, one that gives other integers than
        were measured; a claim that the noise does not prove; answers with other standard errors; a manifest
        that contradicts the plan.
    """
    try:
        facts, allowed = _facts_of_answers(manifest, answers), _allowed_figures(manifest, answers)
        of_solution, of_workload = ({}, {}) if solution is None else _facts_of_solution(manifest, solution)
    except (*UNREADABLE, Error):
        raise ResultError(f"'{folder / MANIFEST_FILE}' is not the manifest of a release", hint=HINT) from None
    if manifest["format"] == FORMATS[0]:  # whose words were others
        facts = {name: facts[name] for name in ("format", "private", "workload", "accuracy")}
        allowed = {}
    for implied in (facts, allowed):
        _compare(folder, manifest, implied, "its answers and its other figures", is_all=False)
    _compare(folder, manifest, of_workload, "its strategy", is_all=False)
    _compare(folder, manifest, of_solution, "its strategy")
    facts["workload"] |= of_workload.get("workload", {})
    plan = None
    if workload is not None:
        plan = _plan_again(folder, manifest, answers, workload, solution)
        # The facts about workload, strategy, privacy and noise, not those in the answers.
        theorem = claim_again(plan)[3]
        by_plan = plan_sections(
            replace(plan, theorem=composed(theorem, plan.integer.parts)), manifest["private"]
        )
        is_newest = manifest["format"] == FORMATS[-1]
        if not is_newest:  # whose words were others
            del by_plan["privacy"]["unit"], by_plan["privacy"]["not_covered"]
        if "rows" in manifest:
            facts["rows"] = {"rules": row_rules(workload)}
            _compare(folder, manifest, {"rows": {**manifest["rows"], **facts["rows"]}}, "its workload")
        if "asked" in manifest["accuracy"]:
            facts["accuracy"]["asked"] = wishes_by_name(plan)
        if "errors" in manifest["accuracy"]:
            facts["accuracy"]["errors"] = plan.why_bounds
        if manifest["format"] != FORMATS[0]:  # whose labels were others
            facts["accuracy"]["coverage"]["kind"] = _kind_of_coverage(folder, plan, answers, is_newest)
        _compare(folder, manifest, by_plan, "its strategy and noise", _NEAR, is_newest)
        _compare(folder, manifest, {"accuracy": facts["accuracy"]}, "its strategy and noise", is_all=False)
        del by_plan["privacy"]["set_by"]  # which the plan was made from
        facts |= by_plan
    return plan, tuple(_unconfirmed(manifest, facts | of_solution))


# -- manifest and facts compared


def _compare(
    folder: Path, manifest: Facts, facts: Facts, by: str, near: float = _SAME, is_all: bool = True
) -> None:
    """ResultError unless the manifest has these facts; if ``is_all``, and no others in their sections."""
    for section, fact in facts.items():
        claimed, implied = (dict(_leaves(value, section)) for value in (manifest.get(section), fact))
        for place in {**implied, **claimed} if is_all else implied:
            ours, theirs = claimed.get(place, "missing"), implied.get(place, "missing")
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


def _unconfirmed(manifest: Facts, facts: Facts, place: str = "") -> Iterator[str]:
    """The places of a manifest for which there are no facts."""
    for name, value in manifest.items():
        if name not in facts:
            yield f"{place}{name}"
        elif isinstance(value, dict) and isinstance(facts[name], dict):
            yield from _unconfirmed(value, facts[name], f"{place}{name}.")


# -- from the answers, from the strategy


def _facts_of_answers(manifest: Facts, answers: Frame) -> Facts:
    """Facts that follow from the answers, and from the claimed rho, epsilon and delta."""
    privacy, strategy, covered = manifest["privacy"], manifest["strategy"], manifest["accuracy"]["coverage"]
    rho, epsilon, delta = privacy["rho"], privacy["epsilon"], privacy["delta"]
    law, errors = _noise_of(manifest), answers["standard_error"]
    facts: Facts = {
        **{name: manifest[name] for name in ("format", "private", "files") if name in manifest},
        "warning": privacy_warning(epsilon, delta, rho),
        "workload": {"queries": len(answers)},
        "strategy": {"norm": f"L{law.norm}"},
        "privacy": {
            **{name: privacy[name] for name in GUARANTEE},
            "guarantee": guarantee_of(rho, delta),
        },
        "noise": noise_words(law, manifest["private"]),
        "accuracy": {
            "rmse": float(np.sqrt(np.mean(np.square(errors)))),
            "confidence": float(answers.metadata["confidence"]),
            "coverage": {
                "least": _before_rounding(covered["least"], float(answers["coverage"].min())),
                "largest": _before_rounding(covered["largest"], float(answers["coverage"].max())),
            },
        },
    }
    if manifest["format"] == FORMATS[-1]:
        facts["privacy"]["unit"] = Neighbours.of(privacy["neighbours"]).unit
    if rho is None or delta is None:
        facts["privacy"]["theorem"] = composed(law.theorem, strategy["parts"])
    if "ledger" in manifest and rho is not None:
        facts["ledger"] = {"measure": "rho", "spent": rho}
    if "refined" in manifest:
        facts["refined"] = _facts_of_refined(manifest["refined"], answers)
    return facts


def _noise_of(manifest: Facts) -> Noise:
    """The noise of a manifest: by the unit of its cost, and by its norm where there are several."""
    unit, norm = "epsilon" if manifest["privacy"]["rho"] is None else "rho", manifest["strategy"]["norm"]
    return min((one for one in NOISES if one.unit == unit), key=lambda one: f"L{one.norm}" != norm)


def _facts_of_refined(about: Facts, answers: Frame) -> Facts:
    """Facts about refined answers: the hash of the released answers, and their distance from these."""
    from mmopt.answers.refined_answers import PROGRAM, PROGRAM_OF_TABLES, TOTALS

    before = Frame({name: answers[name] for name in answers.names if name != "refined"})
    # It is proved of sums in any order, and of numbers that underflow.
    least = _distance(answers)[0]
    objective = max(
        _between(about["objective"], least, least * (1.0 + EPS * len(answers)) + _UNDERFLOW), about["bound"]
    )
    return {
        "note": REFINED,
        "of": {"answers_sha256": hashlib.sha256(before.to_csv().encode()).hexdigest()},
        **({"not_covered": TOTALS} if "not_covered" in about else {}),
        **({"program": PROGRAM_OF_TABLES, "agreement": LOCAL} if "tables" in about else {"program": PROGRAM}),
        # For whole answers the figures are those of the counts before rounding.
        **({"objective": objective} if about["whole"] is None else {}),
    }


def units_of(errors: Array) -> Array:
    """The units of distances (m,): standard errors; of an exact answer a thousandth of the largest, or 1."""
    return np.where(errors > 0, errors, 1e-3 * errors.max(initial=0.0) or 1.0)


def _distance(answers: Frame) -> tuple[float, float]:
    """The squared distance of refined from released answers, in standard errors: as written, and at most."""
    off = (answers["refined"] - answers["estimate"]) / units_of(answers["standard_error"])
    # Each digit that is not written is below SMALL standard errors.
    return float(off @ off), (float(np.linalg.norm(off)) + SMALL * math.sqrt(len(off))) ** 2 + _UNDERFLOW


def _allowed_figures(manifest: Facts, answers: Frame) -> Facts:
    """The figures that only the manifest states, each as stated where its other figures allow that;
    else the nearest figure that they allow.
    """
    privacy, noise, strategy = manifest["privacy"], manifest["noise"], manifest["strategy"]
    law, parts = _noise_of(manifest), strategy["parts"]
    scale, sensitivity = float(noise["scale"]), float(strategy["sensitivity"])
    rho, epsilon, delta = privacy["rho"], privacy["epsilon"], privacy["delta"]
    # With one part the sensitivity may be stated before or after its relative noise.
    ratios = {1.0, *(part["relative_noise"] for part in parts if len(parts) == 1)}
    each_cost = (law.exact_cost(1, Fraction(scale * each / sensitivity)) for each in ratios if sensitivity)
    cost = min(
        map(float, each_cost), default=0.0, key=lambda each: abs(each - (epsilon if rho is None else rho))
    )
    facts: Facts = {
        "workload": {"cells": max(1, int(manifest["workload"]["cells"]))},
        "strategy": {
            "rows": sum(max(1, int(part["rows"])) for part in parts),
            "bits": int(strategy["bits"]),
            "sensitivity": abs(sensitivity),
        },
        "privacy": {"epsilon": cost, "delta": 0.0} if rho is None else {"rho": cost},
        "noise": {
            "scale": abs(scale),
            "scale_at_unit_strategy": math.ldexp(scale, -strategy["bits"]),
        },
    }
    if rho and delta is not None and math.isclose(rho, cost, rel_tol=_SAME):
        facts["privacy"]["epsilon"] = _least_epsilon(
            manifest, (sensitivity * each for each in ratios if len(parts) == 1)
        )
    if "ledger" in manifest:
        facts["ledger"] = _facts_of_ledger(manifest["ledger"], rho, epsilon)
    if "refined" in manifest:
        facts["refined"] = _facts_of_proof(manifest["refined"], answers)
    return facts


def _least_epsilon(manifest: Facts, sizes: Iterable[float]) -> float:
    """The epsilon of a manifest, if a theorem may prove it at its rho; else the least of continuous noise.

    sizes : the possible sensitivities of the only part, which may be a single count.
    """
    epsilon, delta = float(manifest["privacy"]["epsilon"]), manifest["privacy"]["delta"]
    mu = math.sqrt(2.0 * manifest["privacy"]["rho"]) * (1.0 - _ROUNDED)
    least = continuous_gaussian_epsilon(mu, delta)  # discrete noise proves no less, except on one count
    counts = [round(size) for size in sizes if size >= 1.0 and math.isclose(size, round(size), rel_tol=_SAME)]
    if epsilon < least and any(
        size < mu * MOST_SUMMED and discrete_gaussian_delta(epsilon, size, size / mu) <= delta
        for size in counts
    ):
        return epsilon
    return max(epsilon, least)


def _facts_of_ledger(account: Facts, rho: float | None, epsilon: float | None) -> Facts:
    """Figures of a ledger: ``spent`` follows from the cost, ``left`` is at most the rest of the total."""
    measure: Measure = account["measure"] if rho is None and account["measure"] in MEASURES else "rho"
    spent = above(cost_in(measure, rho, epsilon))
    rest = account["total"] - spent + 2.0 * math.ulp(account["total"])  # which are rounded
    return {
        "data_set": str(account["data_set"]),
        "entry": max(1, int(account["entry"])),
        "measure": measure,
        "spent": spent,
        "total": _between(account["total"], spent),
        "left": _between(account["left"], 0.0, max(0.0, rest)),
        **(
            {"part": {name: str(account["part"][name]) for name in ("column", "value")}}
            if "part" in account
            else {}
        ),
    }


def _facts_of_proof(about: Facts, answers: Frame) -> Facts:
    """Figures of refined answers that are consistent: the bound is at most their squared distance from the
    released answers, and the stated limit on their distance from the best ones is at least the root of
    the objective minus the bound.
    """
    (_, most), whole, count = _distance(answers), about["whole"], len(answers)
    bound = _between(about["bound"], 0.0, most)
    objective = _between(about["objective"], bound)
    root = max(0.0, math.sqrt(objective) - (SMALL * math.sqrt(count) if whole is None else 0.0))
    far = math.sqrt(max(0.0, root**2 * (1.0 - _SAME) - bound))
    facts: Facts = {
        "counts": max(0, int(about["counts"])),
        **(
            {"tables": max(1, int(about["tables"])), "kept": _between(about["kept"], 0.0, KEPT)}
            if "tables" in about
            else {}
        ),
        "totals": [{"of": str(one["of"]), "value": float(one["value"])} for one in about["totals"]],
        "objective": objective,
        "bound": bound,
        "gap": gap_between(objective, bound),
        "grade": str(about["grade"]),
        "standard_errors_from_best": _between(about["standard_errors_from_best"], far),
        "status": str(about["status"]),
        "whole": None,
    }
    if whole is not None and (answers["refined"] == np.rint(answers["refined"])).all():
        near = int(_between(whole["within_one"], 0, count))
        farthest = _between(whole["largest_distance_of_others"], 0.0, math.inf if near < count else 0.0)
        facts["whole"] = {"within_one": near, "others": count - near, "largest_distance_of_others": farthest}
    return facts


def _between(value: float, least: float, most: float = math.inf) -> float:
    """A number, or the nearest one between the limits."""
    return float(min(max(value, least), most))


def _facts_of_solution(manifest: Facts, solution: Solution) -> tuple[Facts, Facts]:
    """Facts of the saved strategy that the manifest repeats, all of them or those that are recomputed; and
    those of the workload of a private release. Simulated answers may use the strategy of another workload.
    """
    facts = {
        "solution": (dict if "seconds" in manifest.get("solution", {}) else checked_summary)(
            solution.summary()
        ),
        **solution.about_program(),
    }
    repeated = {name: fact for name, fact in facts.items() if name in manifest}
    workload = {"hash": solution.workload_hash, "cells": solution.strategy.n}
    return json.loads(json.dumps(repeated)), {"workload": workload} if manifest["private"] else {}


def _before_rounding(claimed: Any, written: float) -> float:
    """The claimed coverage if it agrees with the written one of six digits, rounded down; else the latter."""
    # Former versions rounded the double, and not its decimal: 0.95 was 0.949999.
    is_same = (
        isinstance(claimed, float)
        and 0 < claimed <= 1
        and written in {float(rounded(each, 6, up=False)) for each in (claimed, repr(claimed))}
    )
    return claimed if is_same else written


# -- from the plan


def _plan_again(
    folder: Path, manifest: Facts, answers: Frame, workload: Workload, solution: Solution | None
) -> Plan:
    """The plan of a saved release: its strategy in integers again, with the noise of its manifest."""
    expected = manifest["workload"]["hash"]
    if workload.hash != expected:
        raise ResultError(
            f"'{folder}' answers another workload: its hash is {expected[:16]}…, the hash of the given one "
            f"is {workload.hash[:16]}…",
            hint="give the workload that was released",
        )
    if solution is None:
        raise ResultError(f"'{folder}' does not hold the strategy that was used ({STRATEGY_FILE})")
    privacy, noise = manifest["privacy"], manifest["noise"]
    integer = round_any(solution.strategy, workload, privacy["neighbours"])
    if integer.hash != manifest["strategy"]["hash"] and np.any(integer.of_total):
        # Earlier versions did not use the number of rows.
        integer = round_any(solution.strategy, workload, privacy["neighbours"], uses_total=False)
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
        chosen_for=solution.strategy.neighbours,
    )
    try:
        check_claim(plan)
    except PrivacyError as error:
        raise ResultError(f"'{folder}' contradicts itself: {error.message}", hint=CHANGED) from None
    if not np.allclose(plan.standard_errors, answers["standard_error"], rtol=_NEAR, atol=0.0):
        raise ResultError(
            f"'{folder}' contradicts itself: the noise of its manifest has other standard errors than its "
            "answers",
            hint=CHANGED,
        )
    return plan


def _kind_of_coverage(folder: Path, plan: Plan, answers: Frame, is_newest: bool) -> str:
    """The kind of the intervals; ResultError unless these, labels and columns are those of the plan.

    is_newest : whether the columns have the words of this version.
    """
    intervals, estimates = plan.intervals(float(answers.metadata["confidence"])), answers["estimate"]
    room, description = _SHOWN * plan.standard_errors, described(plan.workload)
    texts = {"query": description["groups"], "label": description["labels"]}
    texts |= description["columns"] if is_newest else {}
    other = [
        name
        for name, values in texts.items()
        if name not in answers.names or list(map(str, answers[name])) != list(map(str, values))
    ]
    other += [
        name
        for name, values, off in (
            ("low", estimates - intervals.widths, room + _WHOLE),
            ("high", estimates + intervals.widths, room + _WHOLE),
            ("coverage", intervals.coverage, 2.0 * _NEAR),
        )
        if not (np.abs(answers[name] - values) <= off).all()
    ]
    if other:
        raise ResultError(
            f"'{folder}' contradicts itself: the column {other[0]} of its answers is not that which follows "
            "from its queries, strategy and noise",
            hint=CHANGED,
        )
    return coverage_kind(intervals)
