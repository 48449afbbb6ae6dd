"""The folder of a release: columns of answers and accuracy, manifest, strategy.

The accuracy of each query as columns: what a table, a file and a chart of it are made from.

Answers as columns: what each query says, then its numbers, rounded as they are published.

A release on disk: answers, manifest and what belongs to them in a new folder, complete or absent.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import platform
import re
import secrets
import shutil
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from mmopt.errors import OptionError
from mmopt.mechanism.accuracy import BEYOND, Intervals
from mmopt.mechanism.measurement import FIGURES, Answers
from mmopt.mechanism.release_plan import Plan
from mmopt.numerics.arrays import Array
from mmopt.numerics.outward import rounded
from mmopt.privacy.noise import Noise
from mmopt.resources import version as own_version
from mmopt.results import Frame
from mmopt.workloads.query_product import wishes
from mmopt.workloads.tidy_columns import query_columns

NAMES = (
    *("query", "label", "standard_error", "half_width", "noise", "max_variance", "within"),
    *("within_confidence", "meets", "share_of_cost"),
)
"""Of columns, that no attribute has."""


def accuracy_columns(plan: Plan, confidence: float) -> Frame:
    """One row a query, in their order; nothing in them depends on data.

    query, label : its group and its own text; then what the query says of each attribute (``tidy_columns``).
    standard_error, half_width : in counts, the latter of the interval of this confidence; noise : its kind.
    max_variance, within, within_confidence : what is asked for, or NaN (a max_variance that a wish implies is
    not); meets : whether that is held, NaN where nothing is asked for. None of these where nothing is at all.

    Raises
    ------
    OptionError : a confidence outside (0, 1). TooLargeError : more queries than a table has memory for.
    """
    return Frame({**query_columns(plan.workload, NAMES), **accuracy_figures(plan, confidence)})


def accuracy_figures(plan: Plan, confidence: float) -> dict[str, Array]:
    """The columns that say no more than numbers do, and the kind of the noise: all but texts of the queries.

    Raises
    ------
    OptionError : a confidence outside (0, 1).
    """
    workload = plan.workload
    targets = np.array(workload.targets)
    asked = np.isfinite(targets)
    meets = np.square(plan.standard_errors) <= targets
    half_widths, confidences = np.full(workload.m, np.inf), np.full(workload.m, np.nan)
    for rows, wish in wishes(workload.blocks):
        half_widths[rows], confidences[rows] = wish.half_width, wish.confidence
        is_stricter = targets[rows] < wish.variance
        widths = plan.intervals(wish.confidence).widths[rows]
        meets[rows] = (widths <= wish.half_width * (1 + 2 * BEYOND)) & (meets[rows] | ~is_stricter)
        targets[rows] = np.where(is_stricter, targets[rows], np.inf)
    columns = {
        "standard_error": plan.standard_errors,
        "half_width": plan.intervals(confidence).widths,
        "noise": np.full(workload.m, plan.kind, dtype=object),
    }
    if asked.any():
        columns |= {
            "max_variance": np.where(np.isfinite(targets), targets, np.nan),
            "within": np.where(np.isfinite(half_widths), half_widths, np.nan),
            "within_confidence": confidences,
            "meets": np.where(asked, meets, np.nan),
        }
    return columns


SMALL = 1e-9
"""Standard errors: finer digits of refined answers are not written."""

SIMULATED = "SIMULATED NOISE: these answers are not private and must not be published"
REFINED = (
    "refined answers are post-processing: they spend no privacy, and are biased; standard errors and "
    "intervals are of the unbiased estimates beside them"
)


def answers_frame(answers: Answers, metadata: Mapping[str, str] | None = None) -> Frame:
    """The columns query (the group), label, those of ``Answers.columns``, and ``FIGURES``.

    Numbers are rounded far below their standard errors, the ends of intervals and the coverage outwards: the
    CSV and the Parquet file hold the same ones. Simulated answers have one more column, ``private``, which is
    False in every row, and a ``warning`` in the metadata.
    """
    numbers = (answers.estimates, answers.standard_errors, answers.low, answers.high, answers.coverage)
    shown = np.array([_rounded(*row) for row in zip(*(column.tolist() for column in numbers), strict=True)])
    # A last column, not a comment: readers by name or by position go on, and rows that are copied keep it.
    mark = {} if answers.private else {"private": np.zeros(len(shown), dtype=bool)}
    warning = {} if answers.private else {"warning": SIMULATED}
    return Frame(
        {
            "query": np.array(answers.groups, dtype=object),
            "label": np.array(answers.labels, dtype=object),
            **answers.columns,
            **dict(zip(FIGURES, shown.T, strict=True)),
            **mark,
        },
        {
            "confidence": repr(answers.confidence),
            "private": str(answers.private).lower(),
            **(metadata or {}),
            **warning,
        },
    )


def _rounded(estimate: float, error: float, low: float, high: float, covered: float) -> list[float]:
    texts = (
        f"{estimate:.{_digits(estimate, error)}g}",
        f"{error:.12g}",
        rounded(str(low), min(_digits(low, error), 15), up=False),
        rounded(str(high), min(_digits(high, error), 15), up=True),
        rounded(covered, 6, up=False),
    )
    return [float(text) for text in texts]


def _digits(number: float, error: float) -> int:
    """Twelve, or more where they are above 1e-6 standard errors: beyond is what arithmetic rounds."""
    ratio = math.log10(abs(number) / error) if number and error else 0
    return min(17, max(12, 7 + math.floor(ratio)))


ANSWERS_FILE = "answers.csv"
PARQUET_FILE = "answers.parquet"
MANIFEST_FILE = "manifest.json"
CHART_FILE = "answers.svg"
STRATEGY_FILE = "strategy.npz"
_KEPT = 40  # characters of a folder's name in that of its sibling: a name of 255 bytes has room for no more
GUARANTEE = ("guarantee", "epsilon", "delta", "rho", "neighbours")


def stated(plan: Plan, private: bool) -> dict[str, Any]:
    """What a manifest says that follows from the plan, for private or simulated noise."""
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
    """What a manifest says of the kind of noise, and of what draws it."""
    kind, sampler = (f"discrete {law.name}", law.sampler) if private else ("simulated, not private", "numpy")
    return {"kind": kind, "sampler": sampler}


def coverage_kind(found: Intervals) -> str:
    """What a manifest says of the coverage of intervals."""
    return "of the law drawn" if found.is_exact else "lower bound"


def build_manifest(plan: Plan, answers: Answers, **extra: Any) -> dict[str, Any]:
    """What was asked, what was spent and with which software.

    It must not hold exact facts about the data, such as a row count or how many rows were dropped: those
    are not covered by the privacy claim. `extra` (JSON values, such as the program's name and source) is
    held to the same rule by the caller; a key that stands already is an OptionError.
    """
    found = plan.intervals(answers.confidence)
    manifest: dict[str, Any] = {
        "format": "mmopt release 2",
        "private": answers.private,
        **stated(plan, answers.private),
        "accuracy": {
            "rmse": plan.rmse,
            "confidence": answers.confidence,
            "coverage": {
                "least": float(found.coverage.min()),
                "largest": float(found.coverage.max()),
                "kind": coverage_kind(found),
            },
        },
        "versions": {
            "mmopt": own_version(),
            **{name: _version(name) for name in ("opendp", "numpy")},
            "python": platform.python_version(),
        },
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    for key, value in extra.items():
        if key in manifest:
            raise OptionError(f"the manifest already has a '{key}'", hint="choose another key")
        manifest[key] = value
    return manifest


def write_release(
    answers: Answers | Frame,
    manifest: Mapping[str, Any],
    folder: str | Path,
    files: Mapping[str, bytes] | None = None,
) -> Path:
    """Write answers.csv, answers.parquet, further files and manifest.json into the new folder `folder`.

    All are written and synced in a temporary sibling that is then renamed, so the folder appears complete or
    not at all; siblings that killed processes left are removed. The manifest lists the other files with their
    SHA-256. The columns are those of ``answers_frame``; both files of answers hold the same numbers, rounded
    far below their standard errors, ends of intervals outwards. Simulated answers have one more column,
    ``private``, which says false in every row.

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
    sums = {name: {"sha256": hashlib.sha256(data).hexdigest()} for name, data in contents.items()}
    listed = json.dumps({**manifest, "files": sums}, indent=2, ensure_ascii=False, allow_nan=False)
    contents[MANIFEST_FILE] = (listed + "\n").encode()
    if os.path.lexists(target):
        raise OptionError(
            f"'{target}' exists already; a release is written to a new folder", hint="name another folder"
        )
    temporary = partial_sibling(target)
    _remove_left(target)
    try:
        temporary.mkdir()
    except OSError as error:
        raise OptionError(
            f"cannot create '{target}': {error.strerror}",
            hint="its parent must be a folder that you may write to",
        ) from error
    lock = None
    try:
        lock = _lock(temporary)
        for name, data in contents.items():
            with open(temporary / name, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        _sync(temporary)
        # rename(2) would replace an empty folder made meanwhile, but refuses any other thing.
        os.rename(temporary, target)
        _sync(target.parent)
    except OSError as error:
        raise OptionError(f"cannot write '{target}': {error.strerror}") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        if lock is not None:
            os.close(lock)
    return target


def partial_sibling(target: Path) -> Path:
    """The name under which a release is written before it has its own."""
    return target.parent / f".{target.name[:_KEPT]}.{secrets.token_hex(4)}.partial"


def guarantee(manifest: Mapping[str, Any]) -> dict[str, str]:
    """What the metadata of a file of answers say of the guarantee, as texts."""
    privacy = manifest.get("privacy", {})
    return {key: str(privacy[key]) for key in GUARANTEE if privacy.get(key) is not None}


def _remove_left(target: Path) -> None:
    """Remove what was begun for this target by processes that are no more: nobody holds its lock."""
    name = re.compile(rf"\.{re.escape(target.name[:_KEPT])}\.\w{{8}}\.partial")
    with contextlib.suppress(OSError):
        for found in target.parent.iterdir():
            if name.fullmatch(found.name) and (lock := _lock(found)) is not None:
                shutil.rmtree(found, ignore_errors=True)
                os.close(lock)


def _lock(folder: Path) -> int | None:
    """The handle of a lock that ends with this process; None where another has it, or there are no locks."""
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
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed as a package"
