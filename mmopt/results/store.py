"""Saved solutions: one .npz of plain arrays, one of which is the JSON of everything else."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from mmopt.errors import ResultError
from mmopt.queries import Strategy
from mmopt.results.solution import Array, Solution
from mmopt.results.status import Status

__all__ = ["load", "pack", "save"]

FORMAT = 1
RECORD = "record.json"
PLAIN = (
    "program",
    "title",
    "cite",
    "solver",
    "solver_version",
    "objective",
    "bound",
    "error",
    "error_bound",
    "sensitivity",
    "rmse",
    "value",
    "iterations",
    "workload_hash",
    "program_text",
)
MAPPINGS = ("seconds", "options", "scaling")
ARRAY_MAPPINGS = ("variables", "multipliers", "givens")
ARRAYS = ("error_multipliers", "covariance", "basis")


def pack(solution: Solution, prefix: str = "") -> tuple[dict[str, Any], dict[str, Array]]:
    """The JSON record and the arrays of a solution and its steps."""
    record: dict[str, Any] = {name: getattr(solution, name) for name in PLAIN}
    record |= {name: dict(getattr(solution, name)) for name in MAPPINGS}
    record["status"] = dataclasses.asdict(solution.status)
    record["norm"] = solution.strategy.norm
    record["reductions"] = list(solution.reductions)
    record["warnings"] = list(solution.warnings)
    arrays: dict[str, Array] = {f"{prefix}strategy": solution.strategy.matrix}
    for name in ARRAYS:
        value = getattr(solution, name)
        if value is not None:
            arrays[prefix + name] = value
    for name in ARRAY_MAPPINGS:
        mapping = getattr(solution, name)
        record[name] = list(mapping)
        arrays |= {f"{prefix}{name}/{key}": np.asarray(value) for key, value in mapping.items()}
    record["steps"] = {}
    for name, step in solution.steps.items():
        inner, inner_arrays = pack(step, f"{prefix}steps/{name}/")
        record["steps"][name] = inner
        arrays |= inner_arrays
    return record, arrays


def _encode(value: Any) -> Any:
    """JSON has no infinity; a text stands for it."""
    if isinstance(value, dict):
        return {k: _encode(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_encode(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    return value


def _decode(value: Any) -> Any:
    if isinstance(value, dict):
        if set(value) == {"float"}:
            return float(value["float"])
        return {k: _decode(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_decode(v) for v in value]
    return value


def save(solution: Solution, path: Path) -> Path:
    """Write a solution to ``path`` (``.npz`` is added when it is missing), whole or not at all."""
    if path.suffix != ".npz":
        path = path.with_name(path.name + ".npz")
    record, arrays = pack(solution)
    text = json.dumps({"format": FORMAT, "solution": _encode(record)}, ensure_ascii=False, allow_nan=False)
    handle = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, handle = tempfile.mkstemp(dir=path.parent, suffix=".part")
        with os.fdopen(descriptor, "wb") as file:
            np.savez_compressed(file, **{RECORD: np.frombuffer(text.encode(), dtype=np.uint8)}, **arrays)  # type: ignore[arg-type]
        os.replace(handle, path)
    except OSError as error:
        if handle is not None:
            Path(handle).unlink(missing_ok=True)
        raise ResultError(f"'{path}' cannot be written: {error.strerror}") from None
    return path


def load(path: Path) -> Solution:
    """Read a saved solution; ResultError for a file that is not one."""
    if not path.is_file():
        raise ResultError(f"there is no saved solution '{path}'")
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        saved = json.loads(bytes(arrays.pop(RECORD)).decode())
        version = saved["format"]
        if version != FORMAT:
            raise ResultError(f"'{path}' has format {version}, this version reads {FORMAT}")
        return _unpack(_decode(saved["solution"]), arrays, "")
    except (OSError, ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile):
        raise ResultError(f"'{path}' is not a saved solution", hint="save one with --out or Solution.save") from None


def _unpack(record: dict[str, Any], arrays: dict[str, Array], prefix: str) -> Solution:
    known: dict[str, Any] = {name: record[name] for name in (*PLAIN, *MAPPINGS)}
    known |= {name: arrays.get(prefix + name) for name in ARRAYS}
    for name in ARRAY_MAPPINGS:
        known[name] = {key: arrays[f"{prefix}{name}/{key}"] for key in record[name]}
    steps = {name: _unpack(inner, arrays, f"{prefix}steps/{name}/") for name, inner in record["steps"].items()}
    return Solution(
        status=Status(**record["status"]),
        strategy=Strategy(arrays[f"{prefix}strategy"], record["norm"]),
        reductions=tuple(record["reductions"]),
        warnings=tuple(record["warnings"]),
        steps=steps,
        **known,
    )
