"""The folder of a release: the columns of its answers, its manifest and its files.

The columns describe each query and give its numbers, rounded as published. A release on disk is a new folder
of answers, manifest and further files, complete or absent.
"""

import contextlib
import hashlib
import json
import math
import os
import platform
import re
import secrets
import shutil
import warnings
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from mmopt.errors import OptionError
from mmopt.installation_and_files import version as own_version
from mmopt.mechanism.measured_and_simulated_releases import FIGURES, Answers
from mmopt.mechanism.release_plan import Plan, wishes_and_missed
from mmopt.mechanism.standard_errors_and_intervals import Intervals
from mmopt.numerics.arrays import rounded
from mmopt.privacy.noise import Noise
from mmopt.results import Frame

# The finest digit of refined answers that is written, in standard errors.
SMALL = 1e-9
# Rows by which known totals of refined answers, and sums of two of their tables, may be missed at most.
KEPT = 1e-6

SIMULATED = "SIMULATED NOISE: these answers are not private and must not be published"
#: Of totals that a caller states, in a manifest.
STATED = "stated to be public, not read from the table: the guarantee does not cover what they say"
REFINED = (
    "refined answers are post-processing: they spend no privacy, and are biased; standard errors and "
    "intervals are of the unbiased estimates beside them"
)

# What is said of refined answers on tables.
LOCAL = (
    "any two tables have the same sums where they share attributes; there may still be no list of persons "
    "with all these tables at once: one may say A = B of everybody, one B = C, and one A ≠ C"
)


def answers_frame(answers: Answers, metadata: Mapping[str, str] | None = None) -> Frame:
    """The columns query (the group), label, those of ``Answers.columns``, and ``FIGURES``.

    Numbers are rounded far below their standard errors, the ends of intervals and the coverage outwards: the
    CSV and the Parquet file hold the same ones. Simulated answers have one more column, ``private``, which is
    False in every row, and a ``warning`` in the metadata.
    """
    numbers = (answers.estimates, answers.standard_errors, answers.low, answers.high, answers.coverage)
    shown = np.array([_rounded(*row) for row in zip(*(column.tolist() for column in numbers), strict=True)])
    # A last column, not a comment: readers by name or position still work, and copied rows keep it.
    return Frame(
        {
            "query": np.array(answers.groups, dtype=object),
            "label": np.array(answers.labels, dtype=object),
            **answers.columns,
            **dict(zip(FIGURES, shown.T, strict=True)),
            **({} if answers.private else {"private": np.zeros(len(shown), dtype=bool)}),
        },
        {
            "confidence": repr(answers.confidence),
            "private": str(answers.private).lower(),
            **(metadata or {}),
            **({} if answers.private else {"warning": SIMULATED}),
        },
    )


def _rounded(estimate: float, error: float, low: float, high: float, covered: float) -> list[float]:
    """The figures of an answer, as published."""
    texts = (
        f"{estimate:.{_digits(estimate, error)}g}",
        f"{error:.12g}",
        rounded(str(low), min(_digits(low, error), 15), up=False),
        rounded(str(high), min(_digits(high, error), 15), up=True),
        rounded(str(covered), 6, up=False),  # 0.95 is what was requested, though its double is less
    )
    return [float(text) for text in texts]


def _digits(number: float, error: float) -> int:
    """Twelve, or more where these are above 1e-6 standard errors; further digits are rounding."""
    return min(17, max(12, 7 + math.floor(math.log10(abs(number) / error) if number and error else 0)))


ANSWERS_FILE, PARQUET_FILE, CHART_FILE = "answers.csv", "answers.parquet", "answers.svg"
MANIFEST_FILE, STRATEGY_FILE = "manifest.json", "strategy.npz"
_NAME_LENGTH = 40  # characters of a folder's name in its sibling's: 255 bytes have room for no more
FORMAT = "mmopt release 3"
GUARANTEE = ("guarantee", "epsilon", "delta", "rho", "neighbours")


def plan_sections(plan: Plan, private: bool) -> dict[str, Any]:
    """The sections of a manifest that follow from the plan, for private or simulated noise."""
    integer = plan.integer
    return {
        "warning": plan.warning,
        "workload": {"hash": plan.workload.hash, "queries": plan.workload.m, "cells": plan.workload.n},
        "strategy": {
            "hash": integer.hash,
            "rows": integer.rows,
            "bits": integer.bits + plan.fineness,
            "sensitivity": math.ldexp(integer.sensitivity, plan.fineness),
            "norm": f"L{integer.norm}",
            "parts": [{"rows": part.rows, "relative_noise": part.relative} for part in integer.parts],
            "bias": integer.bias,
            "rounding_loss": integer.loss,
        },
        "privacy": {
            "unit": plan.neighbours.unit,
            "neighbours": str(plan.neighbours),
            "guarantee": plan.guarantee,
            "rho": plan.rho,
            "epsilon": plan.epsilon,
            "delta": plan.delta,
            "theorem": plan.theorem,
            "sensitivity": plan.sensitivity_of,
            **({"scaled": plan.scaled_from} if plan.scaled_from else {}),
            "not_covered": plan.not_covered,
            "set_by": plan.set_by,
        },
        "noise": {
            **noise_words(plan.law, private),
            "scale": math.ldexp(plan.scale, plan.fineness),
            "scale_at_unit_strategy": plan.noise,
        },
    }


def noise_words(law: Noise, private: bool) -> dict[str, str]:
    """The kind of noise and its sampler, in the words of a manifest."""
    kind, sampler = (f"discrete {law.name}", law.sampler) if private else ("simulated, not private", "numpy")
    return {"kind": kind, "sampler": sampler}


def stated_totals(totals: Mapping[str | int | None, float]) -> dict[str, Any]:
    """Public totals, by label, that of all rows under None, in the words of a manifest."""
    return {"note": STATED, "totals": [{"of": label, "value": value} for label, value in totals.items()]}


def coverage_kind(intervals: Intervals) -> str:
    """The kind of the coverage of intervals, in the words of a manifest."""
    return "of the law drawn" if intervals.is_exact else "lower bound"


def wishes_by_name(plan: Plan) -> dict[str, dict[str, float]]:
    """The accuracy that was requested, and how many queries miss it, by name of the group."""
    groups = zip(plan.workload.groups(), wishes_and_missed(plan), strict=True)
    return {name: each for (name, _), each in groups if each}


def build_manifest(plan: Plan, answers: Answers, **extra: Any) -> dict[str, Any]:
    """The manifest of a release: its queries, its cost, its accuracy and its software.

    It must not hold exact facts about the data, such as a row count or how many rows were dropped: those
    are not covered by the privacy claim. The caller holds `extra` (JSON values, such as the program's name
    and source) to the same rule; a key that the manifest has already is an OptionError.
    """
    intervals = plan.intervals(answers.confidence)
    wanted = wishes_by_name(plan)
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "private": answers.private,
        **plan_sections(plan, answers.private),
        "allowed": plan.allowed_words,
        "accuracy": {
            "rmse": plan.rmse,
            **({"errors": bounds} if (bounds := plan.why_bounds) else {}),
            "confidence": answers.confidence,
            "coverage": {
                "least": float(intervals.coverage.min()),
                "largest": float(intervals.coverage.max()),
                "kind": coverage_kind(intervals),
            },
            **({"asked": wanted} if wanted else {}),
        },
        "versions": {
            "mmopt": own_version(),
            **{name: _version(name) for name in ("opendp", "numpy")},
            "python": platform.python_version(),
        },
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    if taken := [key for key in extra if key in manifest]:
        raise OptionError(f"the manifest already has a '{taken[0]}'", hint="choose another key")
    return {**manifest, **extra}


def write_release(
    answers: Answers | Frame,
    manifest: Mapping[str, Any],
    folder: str | Path,
    files: Mapping[str, bytes] | None = None,
    chart: Callable[[], bytes] | None = None,
) -> Path:
    """Write answers.csv, answers.parquet, further files and manifest.json into the new folder `folder`.

    Also answers.svg, from ``chart``: drawn when all else but the manifest is written, and given up with a
    warning where that fails, as answers may have cost privacy.

    They are written and synced in a temporary sibling that is then renamed, so the folder appears complete or
    not at all; siblings that killed processes left are removed. The manifest lists the other files with their
    SHA-256. The columns are those of ``answers_frame``; both files of answers hold the same numbers, rounded
    far below their standard errors, ends of intervals outwards. Simulated answers have one more column,
    ``private``, which is false in every row.

    Returns
    -------
    the path of the folder.

    Raises
    ------
    OptionError : it exists already, or its parent cannot be written.
    """
    target = Path(folder)
    frame = answers if isinstance(answers, Frame) else answers_frame(answers, guarantee(manifest))
    contents = {
        ANSWERS_FILE: frame.to_csv().encode(),
        PARQUET_FILE: frame.to_parquet(),
        **(files or {}),
    }
    if os.path.lexists(target):
        raise OptionError(
            f"'{target}' exists already; a release is written to a new folder", hint="name another folder"
        )
    temporary = partial_sibling(target)
    _remove_abandoned(target)
    try:
        temporary.mkdir()
    except OSError as error:
        raise OptionError(
            f"cannot create '{target}': {error.strerror}",
            hint="its parent must be a folder that you may write to",
        ) from error
    lock, fault = None, ""
    try:
        lock = _lock(temporary)
        sums = {name: {"sha256": _written(temporary / name, data)} for name, data in contents.items()}
        if chart is not None:
            try:
                sums[CHART_FILE] = {"sha256": _written(temporary / CHART_FILE, chart())}
            except Exception as error:  # noqa: BLE001 - no fault of a chart may cost the answers
                (temporary / CHART_FILE).unlink(missing_ok=True)
                fault = getattr(error, "strerror", None) or type(error).__name__
        text = json.dumps(
            {**manifest, "files": dict(sorted(sums.items()))}, indent=2, ensure_ascii=False, allow_nan=False
        )
        _written(temporary / MANIFEST_FILE, f"{text}\n".encode())
        _sync(temporary)
        # rename(2) would replace an empty folder made meanwhile, but nothing else.
        os.rename(temporary, target)
        _sync(target.parent)
    except OSError as error:
        raise OptionError(f"cannot write '{target}': {error.strerror}") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        if lock is not None:
            os.close(lock)
    if fault:
        warnings.warn(f"no chart: it cannot be drawn and written ({fault})", stacklevel=2)
    return target


def _written(path: Path, data: bytes) -> str:
    """The SHA-256 of the data, once these are on disk."""
    with open(path, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    return hashlib.sha256(data).hexdigest()


def partial_sibling(target: Path) -> Path:
    """The name of the temporary folder in which a release is written."""
    return target.parent / f".{target.name[:_NAME_LENGTH]}.{secrets.token_hex(4)}.partial"


def guarantee(manifest: Mapping[str, Any]) -> dict[str, str]:
    """The guarantee as texts, for the metadata of a file of answers."""
    privacy = manifest.get("privacy", {})
    return {key: str(privacy[key]) for key in GUARANTEE if privacy.get(key) is not None}


def _remove_abandoned(target: Path) -> None:
    """Remove folders with files that dead processes began for this target: their locks are free."""
    name = re.compile(rf"\.{re.escape(target.name[:_NAME_LENGTH])}\.\w{{8}}\.partial")
    with contextlib.suppress(OSError):
        for sibling in target.parent.iterdir():
            # One that is empty may have been made just now, by a process that has not locked it yet.
            is_begun = name.fullmatch(sibling.name) and any(sibling.iterdir())
            if is_begun and (lock := _lock(sibling)) is not None:
                shutil.rmtree(sibling, ignore_errors=True)
                os.close(lock)


def _lock(folder: Path) -> int | None:
    """The handle of a lock that ends with this process; None where another has it, or without locks."""
    if os.name == "nt":
        return None
    import fcntl

    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle


def _sync(folder: Path) -> None:
    """Make a folder's entries durable, where the system can open folders (Windows cannot)."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _version(package: str) -> str:
    """The version of an installed package, in the words of a manifest."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed as a package"
