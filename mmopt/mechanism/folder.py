"""A release on disk: answers and manifest in a new folder, complete or absent."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import platform
import shutil
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from mmopt.errors import OptionError
from mmopt.mechanism.planning import Plan
from mmopt.mechanism.release import Answers

__all__ = ["ANSWERS_FILE", "MANIFEST_FILE", "build_manifest", "write_release"]

ANSWERS_FILE = "answers.csv"
MANIFEST_FILE = "manifest.json"
_SAMPLERS = {1: "opendp make_laplace", 2: "opendp make_gaussian"}


def build_manifest(plan: Plan, answers: Answers, **extra: Any) -> dict[str, Any]:
    """What was asked, what was spent and with which software.

    It must not hold exact facts about the data, such as a row count or how many rows were dropped: those
    are not covered by the privacy claim. `extra` (JSON values, such as the program's name and source) is
    held to the same rule by the caller; a key that stands already is an OptionError.
    """
    integer = plan.integer
    found = plan.intervals(answers.confidence)
    manifest: dict[str, Any] = {
        "format": "mmopt release 1",
        "private": answers.private,
        "workload": {"hash": plan.workload.hash, "queries": plan.workload.m, "cells": plan.workload.n},
        "strategy": {
            "hash": integer.hash,
            "rows": integer.rows,
            "bits": integer.bits + plan.fineness,
            "sensitivity": integer.sensitivity,
            "norm": f"L{integer.norm}",
            "parts": [{"rows": part.rows, "relative_noise": part.relative} for part in integer.parts],
            "bias": integer.bias,
            "rounding_loss": integer.loss,
        },
        "privacy": {
            "neighbours": plan.neighbours,
            "guarantee": plan.guarantee,
            "rho": plan.rho,
            "epsilon": plan.epsilon,
            "delta": plan.delta,
            "theorem": plan.theorem,
            "set_by": "targets" if plan.absolute else "privacy parameters",
        },
        "noise": {
            "kind": plan.kind if answers.private else "simulated, not private",
            "sampler": _SAMPLERS[plan.integer.norm] if answers.private else "numpy",
            "scale": math.ldexp(plan.scale, plan.fineness),
            "scale_at_unit_strategy": plan.noise,
        },
        "accuracy": {
            "rmse": plan.rmse,
            "confidence": answers.confidence,
            "coverage": {
                "least": float(found.coverage.min()),
                "largest": float(found.coverage.max()),
                "kind": "of the law drawn" if found.is_exact else "lower bound",
            },
        },
        "versions": {
            **{name: _version(name) for name in ("mmopt", "opendp", "numpy")},
            "python": platform.python_version(),
        },
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    for key, value in extra.items():
        if key in manifest:
            raise OptionError(f"the manifest already has a '{key}'", hint="choose another key")
        manifest[key] = value
    return manifest


def write_release(answers: Answers, manifest: Mapping[str, Any], folder: str | Path) -> Path:
    """Write answers.csv and manifest.json into the new folder `folder`; returns its path.

    Both are written and synced in a temporary sibling that is then renamed, so the folder appears
    complete or not at all. OptionError when it exists already or its parent cannot be written.
    """
    target = Path(folder)
    texts = {
        ANSWERS_FILE: _answers_text(answers),
        MANIFEST_FILE: json.dumps(manifest, indent=2, ensure_ascii=False, allow_nan=False) + "\n",
    }
    if os.path.lexists(target):
        raise OptionError(
            f"'{target}' exists already; a release is written to a new folder", hint="name another folder"
        )
    try:
        temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".partial", dir=target.parent))
    except OSError as error:
        raise OptionError(
            f"cannot create '{target}': {error.strerror}",
            hint="its parent must be a folder that you may write to",
        ) from error
    try:
        for name, text in texts.items():
            with open(temporary / name, "w", encoding="utf-8", newline="") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
        temporary.chmod(0o755)  # mkdtemp's is 0700
        _sync(temporary)
        # rename(2) would replace an empty folder made meanwhile, but refuses any other thing.
        os.rename(temporary, target)
        _sync(target.parent)
    except OSError as error:
        raise OptionError(f"cannot write '{target}': {error.strerror}") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return target


def _answers_text(answers: Answers) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["query", "label", "estimate", "standard_error", "low", "high", "coverage"])
    columns = (answers.estimates, answers.standard_errors, answers.low, answers.high, answers.coverage)
    for group, label, *numbers in zip(answers.groups, answers.labels, *columns, strict=True):
        writer.writerow([group, label, *(repr(float(number)) for number in numbers)])
    return text.getvalue()


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
