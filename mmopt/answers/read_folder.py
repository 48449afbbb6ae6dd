"""The folder of a release read back: its manifest and its answers.

A folder is read only if it is whole, and its files are those of its manifest. What the manifest says is then
compared with what follows from the files: ``recheck_folder.py``.
"""

import csv
import hashlib
import io
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mmopt.errors import OptionError, ResultError
from mmopt.installation_and_files import parse_json
from mmopt.mechanism.measurement import FIGURES
from mmopt.mechanism.release_writing import (
    ANSWERS_FILE,
    FORMAT,
    GUARANTEE,
    MANIFEST_FILE,
    PARQUET_FILE,
    SIMULATED,
    guarantee,
)
from mmopt.report.accuracy_release_and_ledger_tables import release_rows
from mmopt.report.workload_tables import wish_words
from mmopt.results import Frame
from mmopt.results.saved_fields import UNREADABLE

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
        raise ResultError(f"'{folder}' is no release: it has no {MANIFEST_FILE}", hint=HINT)
    try:
        manifest = parse_json((folder / MANIFEST_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise ResultError(f"'{folder / MANIFEST_FILE}' is no manifest of a release", hint=HINT) from None
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
        raise ResultError(f"'{folder / MANIFEST_FILE}' is no manifest of a release", hint=HINT) from None
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
                f"'{folder}' is not whole: its manifest lists {name}, which cannot be read",
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
