"""The file of a saved result: arrays and JSON in one .npz, written whole or not at all.

One .npz holds plain arrays; one of them is the JSON of everything else. Nothing is pickled, so that opening a
file runs nothing. JSON that two readers could read differently is refused.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mmopt.errors import ResultError
from mmopt.limits import MEMORY_LIMIT
from mmopt.numerics.arrays import Array

DEEPEST = 100  # levels; the package writes about ten


def parsed(text: str, read: Callable[[dict[str, Any]], Any] = lambda fields: fields) -> Any:
    """The value of a JSON text. ``read`` makes a value of each object.

    Raises
    ------
    ValueError : no JSON; a name that an object has twice, of which readers take the first or the last; a
        number that is not finite; more than ``DEEPEST`` levels.
    """

    def of_pairs(pairs: list[tuple[str, Any]]) -> Any:
        if len(fields := dict(pairs)) < len(pairs):
            raise ValueError(f"an object has a name twice, of {', '.join(fields)}")
        return read(fields)

    try:
        value = json.loads(text, object_pairs_hook=of_pairs, parse_float=_finite, parse_constant=_finite)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    level: list[Any] = [[value]]
    for _ in range(DEEPEST + 1):
        inside = (each.values() if isinstance(each, dict) else each for each in level)
        level = [each for some in inside for each in some if isinstance(each, dict | list)]
    if level:
        raise ValueError("it is nested too deeply")
    return value


def _finite(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError(f"{text} is not a finite number")
    return number


def write_whole(path: Path, data: bytes) -> None:
    """Write the bytes in place of the old content; a missing folder is made.

    Raises
    ------
    ResultError : the file cannot be written; it keeps its old content.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(data)
        os.replace(part, path)
    except OSError as error:
        with contextlib.suppress(OSError):  # there is none, or no such folder
            part.unlink()
        raise ResultError(f"'{path}' cannot be written: {error.strerror}") from None


FORMAT = 1
RECORD = "record.json"
READERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
LONGEST = 2**26  # bytes of the record
LARGEST = 4 * MEMORY_LIMIT  # bytes of all arrays
# Raised where a file is of another kind, cut short or changed (zipfile: RuntimeError for an encrypted member
# and its subclass NotImplementedError for an unknown method; numpy: SyntaxError and TokenError for a header),
# or where its values do not fit together.
UNREADABLE = (
    OSError,
    ValueError,
    ArithmeticError,
    LookupError,
    MemoryError,
    TypeError,
    AttributeError,
    EOFError,
    RuntimeError,
    SyntaxError,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)


def _encode(value: Any) -> Any:
    """Replace infinities and NaN, which JSON does not have, by texts."""
    if isinstance(value, dict):
        return {k: _encode(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_encode(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    return value


def _decode(value: dict[str, Any]) -> Any:
    return float(value["float"]) if value.keys() == {"float"} else value


def write(record: Mapping[str, Any], arrays: Mapping[str, Array], path: Path) -> Path:
    """Write to ``path`` (``.npz`` is added when it is missing), whole or not at all.

    Raises
    ------
    ResultError : the file cannot be written.
    """
    if path.suffix != ".npz":
        path = path.with_name(path.name + ".npz")
    text = json.dumps(
        {"format": FORMAT, "record": _encode(dict(record))}, ensure_ascii=False, allow_nan=False
    )
    everything: dict[str, Any] = {RECORD: np.frombuffer(text.encode(), dtype=np.uint8), **arrays}
    packed = io.BytesIO()
    np.savez_compressed(packed, allow_pickle=False, **everything)
    write_whole(path, packed.getvalue())
    return path


def _arrays_in(value: Any) -> set[str]:
    """The arrays that a part of a record names."""
    if not isinstance(value, dict):
        return set()
    if set(value) == {"array"}:
        return {value["array"]}
    return set().union(*map(_arrays_in, value.values()))


def _array(archive: zipfile.ZipFile, name: str) -> Array:
    """An array of a file; ValueError where its header and the archive differ about its size."""
    with archive.open(f"{name}.npy") as member:
        header = READERS[np.lib.format.read_magic(member)]
        shape, _, dtype = header(member)
        if member.tell() + dtype.itemsize * math.prod(shape) != archive.getinfo(f"{name}.npy").file_size:
            raise ValueError(name)
    with archive.open(f"{name}.npy") as member:
        return np.asarray(np.lib.format.read_array(member, allow_pickle=False))


def read(path: Path) -> tuple[dict[str, Any], dict[str, Array]]:
    """The record and the arrays of a saved file.

    Raises
    ------
    ResultError : no such file, not a saved result, or one of another version.
    """
    if not path.is_file():
        release_strategy = path / "strategy.npz"
        hint = f"a release keeps its strategy in '{release_strategy}'" if release_strategy.is_file() else ""
        raise ResultError(f"there is no saved solution '{path}'", hint=hint)
    try:
        with zipfile.ZipFile(path) as archive:
            members = [(m.filename.removesuffix(".npy"), m.file_size) for m in archive.infolist()]
            sizes = dict(members)
            if sizes[RECORD] > LONGEST or sum(sizes.values()) > LARGEST:
                limits = f"{LONGEST / 2**30:g} GiB of record and {LARGEST / 2**30:g} GiB in all"
                raise ResultError(f"'{path}' declares more than {limits}")
            saved = parsed(bytes(_array(archive, RECORD)).decode(), _decode)
            version, record = saved["format"], dict(saved["record"])
            # An array that the record does not name, or that is there twice, is not read.
            names = sorted([RECORD, *_arrays_in(record)])
            if version == FORMAT and sorted(name for name, _ in members) != names:
                raise ValueError(path)
            arrays = {name: _array(archive, name) for name in _arrays_in(record)}
    except UNREADABLE:
        hint = "save one with --out or Solution.save"
        raise ResultError(f"'{path}' is not a saved solution", hint=hint) from None
    if version != FORMAT:
        raise ResultError(f"'{path}' has format {version}, this version reads {FORMAT}")
    return record, arrays
