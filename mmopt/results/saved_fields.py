"""Dataclasses of results to files and back, values by component among them.

There is one way for all of them: fields as declared, in one .npz of plain arrays, of which one is the JSON of
everything else. Nothing is pickled, so that opening a file runs nothing. ``Status`` says how a solve ended,
in parts that do not imply each other, and ``Grade`` what a figure rests on.

Cells by component are saved as the symmetries of their attributes, from which the rest of their space is made
again. Coordinates of queries are not saved, so that nothing on them can be lifted. For cells that are not
listed only the sizes of the components are saved: ``verify`` finds the rest from the workload.
"""

from __future__ import annotations

import dataclasses
import io
import json
import math
import re
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeVar

import numpy as np

from mmopt.errors import ResultError
from mmopt.limits import MEMORY_LIMIT
from mmopt.numerics.arrays import Array
from mmopt.numerics.split_arrays import Kronecker, Level, Measure, Space, Split
from mmopt.reasons_to_stop import Stop
from mmopt.resources import parse_json, write_whole
from mmopt.sectors.moments_and_column_lengths import Mixture
from mmopt.strategies import FORMS, StrategyForm
from mmopt.symmetry.components import AttributeSymmetry, Cells, Chosen, Joint

Grade = Literal["claimed", "estimated", "proved"]
"""The grade of a figure.

proved : evaluated with an error bound and rounded to the safe side; for a bound, also by a certificate that
    is shipped with its proof. estimated : evaluated without an error bound. claimed : by a certificate of the
    program's author, which feasible points have not refuted; or for givens that the caller passed in place of
    the workload's queries or targets.

A point is feasible at τ = 1e-10 when every line holds after each of its terms is changed by at most the part
τ (like terms joined, an atom one term): an equality |r| <= τ Σ|terms|, an inequality g <= τ Σ|terms|, a psd
line F + τ diag(m) psd, m_i = Σ|terms of F_ii|, its row 0 where m_i is. Misses are charged to the objective at
the multipliers, and the objective is then proved only where every line is proved to hold.

A bound is for the exact queries: it is charged for the rounding of their root, by the backward error of
Householder QR (Higham 2002, Theorem 19.4, with the constant 8: ``numerics.arrays``); coordinates by orbit and
singular values are taken to be right to 32 ε d^1.5. An objective is charged, too, and is estimated where the
charge is more than 1e-6 of it or unknown; the bound of a program over given design queries is that of the
root as rounded. A query counts as supported when at most 1e-9 of its length is outside the span of the
strategy.
"""

GRADES: tuple[Grade, ...] = ("claimed", "estimated", "proved")  # the weakest first

# All texts of ``Status.stop``.
_WORDS = (Stop.REACHED, Stop.EVERY_STEP, Stop.LIFTED, Stop.FINISHED, Stop.CLOSED, Stop.CERTIFIED)
_LIMIT = "|".join((Stop.MISSED, Stop.TIME, Stop.ITERATIONS, Stop.INTERRUPTED))
_RANK = rf"({Stop.NO_RANK} (\(residual \S+\)|at a feasible point)|{Stop.RANK} in \d+ of \d+ starts)"
_STOPS = re.compile(
    rf"{'|'.join(_WORDS)}|({_LIMIT})|(({_LIMIT}), )?{_RANK}"
    rf"|{Stop.LOCAL}, \d+ starts?(, \d+ followed)?(, spread \S+)?"
)


def weakest(*grades: Grade) -> Grade:
    """The grade of a figure that is made of several: the weakest of theirs."""
    return min(grades, key=GRADES.index)


def is_stop(text: str) -> bool:
    """Whether a solve can end with this text as its ``Status.stop``."""
    return _STOPS.fullmatch(text) is not None


@dataclass(frozen=True)
class Status:
    """The reason why a solve stopped; whether its point is feasible; whether its bound is valid.

    stop : "gap reached", "gap not reached", "time limit", "iteration limit", "interrupted"; for a program of
        class rank "rank reached in 3 of 5 starts" or "rank not reached (residual 3.1e-02)", with the least
        residual of all rounds ("at a feasible point" where that is none), perhaps after one of the limits:
        "time limit, rank not reached (…)".
        "certified" for a strategy that was given.
    feasible : whether every constraint holds after the repair (to rounding).
    violation : largest relative violation of the solver's point before the repair.
    bound_valid : whether the bound is proved, not claimed; False without one. In files of version 0.1.0:
        whether there is a bound.
    raw : the solver's word, to be looked up in its documentation.
    """

    stop: str
    feasible: bool
    violation: float
    bound_valid: bool
    raw: str

    @property
    def is_interrupted(self) -> bool:
        """Whether Ctrl-C ended the solve."""
        return self.stop.startswith(Stop.INTERRUPTED)

    def __str__(self) -> str:
        point = "feasible" if self.feasible else "not feasible"
        return f"{self.stop}; {point} (before repair off by {self.violation:.1e})"


Value = Array | Split | Level | Measure | Kronecker
Fields = dict[str, Any]

MATRIX, VECTOR, MEASURE = "matrix by component", "vector by orbit", "measure of cells"


def _require(holds: Any) -> None:
    if not holds:
        raise ResultError("its values by component do not fit together")


def _matrix(fields: Mapping[str, Any]) -> Split:
    rows, columns = _space(fields["rows"]), _space(fields["columns"])
    flat = np.asarray(fields["parts"], dtype=float)
    _require(rows.count == columns.count and np.array_equal(rows.multiplicities, columns.multiplicities))
    sizes = [r * c for r, c in zip(rows.dims, columns.dims, strict=True)]
    _require(flat.shape == (sum(sizes),))
    parts = zip(_cut(flat, sizes), rows.dims, columns.dims, strict=True)
    return Split(rows, columns, tuple(part.reshape(r, c) for part, r, c in parts))


def _vector(fields: Mapping[str, Any]) -> Level:
    space, values = _space(fields["space"]), np.asarray(fields["values"], dtype=float)
    _require(space.sizes is not None and values.shape == space.sizes.shape)
    return Level(space, values)


def _measure(fields: Mapping[str, Any]) -> Measure:
    factors = fields["factors"]
    matrices = tuple(np.asarray(factors[str(i)], dtype=float) for i in range(len(factors)))
    return Measure(_space(fields["space"]), Mixture(np.asarray(fields["weights"], dtype=float), matrices))


def _plain_space(space: Space) -> Fields:
    if isinstance(space, Cells):
        attributes = space.joint.attributes
        return {
            "attributes": np.array([len(a.classes) for a in attributes]),
            "classes": _joined([a.classes for a in attributes]),
            "counts": np.array([len(a.mirror) for a in attributes]),
            "mirrors": _joined([a.mirror for a in attributes]),
            "keys": np.array([c.key for c in space.chosen]).reshape(-1, len(attributes)),
            "dims": np.array(space.dims, dtype=np.int64),
            "kept": _joined([c.kept for c in space.chosen]),
        }
    fields: Fields = {
        "multiplicities": np.asarray(space.multiplicities),
        "dims": np.array(space.dims, dtype=np.int64),
        "total": space.total,
    }
    if space.labels is not None:
        fields["labels"] = _joined(space.labels)
    if space.sizes is not None:
        fields["sizes"] = np.asarray(space.sizes)
    return fields


def _space(fields: Mapping[str, Any]) -> Space:
    dims = tuple(int(d) for d in fields["dims"])
    _require(all(d >= 0 for d in dims))
    if "attributes" in fields:
        return _cells(fields, dims)
    multiplicities, total = np.asarray(fields["multiplicities"], dtype=float), fields["total"]
    _require(multiplicities.shape == (len(dims),) and (multiplicities >= 1).all())
    _require(total is None or isinstance(total, int))
    labels = sizes = None
    if "sizes" in fields:
        sizes = np.asarray(fields["sizes"], dtype=float)
        flat = np.asarray(fields["labels"])
        _require(sizes.ndim == 1 and (sizes >= 1).all() and flat.shape == (sum(dims),))
        _require(flat.dtype.kind == "i" and ((flat >= 0) & (flat < len(sizes))).all())
        labels = tuple(_cut(flat, dims))
    return Space(multiplicities, dims, labels, sizes, total)


def _cells(fields: Mapping[str, Any], dims: tuple[int, ...]) -> Cells:
    classes = _cut(fields["classes"], fields["attributes"])
    mirrors = _cut(fields["mirrors"], fields["counts"])
    attributes = []
    for labels, mirror in zip(classes, mirrors, strict=True):
        numbers = np.arange(len(mirror))
        _require(labels.dtype.kind == mirror.dtype.kind == "i" and np.array_equal(np.unique(labels), numbers))
        _require(np.array_equal(np.sort(mirror), numbers) and np.array_equal(mirror[mirror], numbers))
        sizes = np.bincount(labels)
        _require(np.array_equal(sizes, sizes[mirror]))
        attributes.append(AttributeSymmetry(labels, mirror))
    joint = Joint(tuple(attributes))
    chosen = []
    for key, kept in zip(fields["keys"], _cut(fields["kept"], dims), strict=True):
        parts = zip(attributes, key, strict=True)
        _require(all(0 <= k < len(a.parts) for a, k in parts))
        own_key = tuple(int(k) for k in key)
        _require(kept.dtype.kind == "i" and (np.diff(kept) > 0).all())
        _require(not len(kept) or (kept[0] >= 0 and kept[-1] < joint.dim(own_key)))
        chosen.append(Chosen(own_key, kept))
    return joint.space(chosen)


def _joined(arrays: Any) -> Any:
    return np.concatenate(list(arrays)) if arrays else np.zeros(0)


def _cut(flat: Any, sizes: Any) -> list[Any]:
    """Pieces of these sizes, which have to add up."""
    _require(np.ndim(flat) == 1 and len(flat) == int(np.sum(sizes, initial=0)))
    return np.split(np.asarray(flat), np.cumsum(sizes, dtype=np.int64)[:-1])


READERS: Mapping[Any, Callable[[Mapping[str, Any]], Split | Level | Measure]] = MappingProxyType(
    {MATRIX: _matrix, VECTOR: _vector, MEASURE: _measure}
)
"""Readers of mappings, by kind; they raise ResultError or one of ``UNREADABLE`` where one does not fit."""


Class = TypeVar("Class")


def plain(value: Any) -> Any:
    """A result as numbers, texts, arrays and mappings of those, also inside mappings."""
    if isinstance(value, Split):  # a matrix by component
        return {
            "kind": MATRIX,
            "rows": _plain_space(value.rows),
            "columns": _plain_space(value.columns),
            "parts": _joined([np.asarray(p).ravel() for p in value.parts]),
        }
    if isinstance(value, Level):  # a vector by orbit of cells
        return {"kind": VECTOR, "space": _plain_space(value.space), "values": np.asarray(value.values)}
    if isinstance(value, Measure):  # on cells that are not listed: products, one factor an attribute
        return {
            "kind": MEASURE,
            "space": _plain_space(value.space),
            "weights": np.asarray(value.mixture.weights),
            "factors": {str(i): np.asarray(factor) for i, factor in enumerate(value.mixture.factors)},
        }
    if isinstance(value, StrategyForm):
        return plain(value.fields())
    if isinstance(value, Status):
        return dataclasses.asdict(value)
    return {name: plain(inner) for name, inner in value.items()} if isinstance(value, Mapping) else value


def restored(value: Any) -> Any:
    """The values by component that ``plain`` took apart, also inside mappings."""
    if not isinstance(value, Mapping):
        return value
    if value.get("kind") in READERS:
        return READERS[value["kind"]](value)
    return {name: restored(inner) for name, inner in value.items()}


def restored_strategy(fields: Mapping[str, Any]) -> StrategyForm:
    """A strategy of any form; the forms that programs choose are not named in the file."""
    check_kinds(
        fields,
        {"matrix": "Array", "norm": "int", "neighbours": "Mapping[str, float | int | bool | str | None]"},
    )
    form = fields.get("form", "by_component" if "split" in fields else "dense")
    if form not in FORMS:
        forms = list(FORMS)
        raise ResultError(
            f"its strategy has the form '{form}', expected {', '.join(forms[2:-1])} or {forms[-1]}"
        )
    return FORMS[form].from_fields(restored(fields))


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "fiu"


def _is_mapping(value: Any) -> bool:
    return isinstance(value, Mapping)


# A word of an annotation -> whether a plain value fits.
_FITS: Mapping[str, Callable[[Any], bool]] = MappingProxyType(
    {
        "None": lambda value: value is None,
        "str": lambda value: isinstance(value, str),
        "bool": lambda value: isinstance(value, bool),
        "int": _is_whole,
        "float": lambda value: isinstance(value, float) or _is_whole(value),
        "Grade": lambda value: value in GRADES,
        "Array": _is_array,
        # An array, or a matrix or vector by component, whose fields are checked by its reader.
        "Value": lambda value: _is_array(value) or (_is_mapping(value) and value.get("kind") in READERS),
        "Solution": _is_mapping,  # ``Solution.from_fields`` goes on
        "Status": _is_mapping,
        "AnyStrategy": _is_mapping,
    }
)
_MAPPING, _TUPLE = re.compile(r"Mapping\[str, (.*)\]"), re.compile(r"tuple\[(.*), \.\.\.\]")


def _fits(annotation: str, value: Any) -> bool:
    if inner := _MAPPING.fullmatch(annotation):
        return isinstance(value, Mapping) and all(_fits(inner[1], each) for each in value.values())
    if inner := _TUPLE.fullmatch(annotation):
        return isinstance(value, list | tuple) and all(_fits(inner[1], each) for each in value)
    return any(_FITS[word](value) for word in annotation.split(" | "))


def check_kinds(fields: Mapping[str, Any], annotations: Mapping[str, str]) -> None:
    """Raise :class:`~mmopt.errors.ResultError` at the first field whose value does not fit its annotation.

    A field without a value is left to the dataclass; an annotation without a row above is a KeyError.
    """
    for name, annotation in annotations.items():
        if name in fields and not _fits(annotation, fields[name]):
            kind = type(fields[name]).__name__
            raise ResultError(f"its field '{name}' is a {kind}, expected {annotation}")


def build(cls: type[Class], fields: Mapping[str, Any]) -> Class:
    """The dataclass with these fields, each checked against its declaration and restored."""
    declared = {f.name: str(f.type) for f in dataclasses.fields(cls)}  # type: ignore[arg-type]
    check_kinds(fields, declared)
    return cls(**{name: _restored(declared.get(name, ""), value) for name, value in fields.items()})


def _restored(annotation: str, value: Any) -> Any:
    """The value of a field with this annotation, from a plain one that fits."""
    if annotation == "Status":
        return build(Status, value)
    if annotation == "AnyStrategy":
        return restored_strategy(value)
    if _TUPLE.fullmatch(annotation):
        return tuple(value)
    return restored(value) if "Value" in annotation else value


def pack(fields: Mapping[str, Any], prefix: str = "") -> tuple[dict[str, Any], dict[str, Array]]:
    """Split a mapping of fields: arrays (also inside mappings) by their path, the rest as JSON values."""
    record: dict[str, Any] = {}
    arrays: dict[str, Array] = {}
    for name, value in fields.items():
        path = f"{prefix}{name}"
        if isinstance(value, np.ndarray):
            arrays[path] = value
            record[name] = {"array": path}
        elif isinstance(value, Mapping):
            inner, inner_arrays = pack(value, path + "/")
            record[name] = {"mapping": inner}
            arrays |= inner_arrays
        else:
            record[name] = list(value) if isinstance(value, tuple) else value
    return record, arrays


def unpack(record: Mapping[str, Any], arrays: Mapping[str, Array]) -> dict[str, Any]:
    """The fields that ``pack`` took apart; lists stay lists."""
    fields: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, Mapping) and set(value) == {"array"}:
            fields[name] = arrays[value["array"]]
        elif isinstance(value, Mapping) and set(value) == {"mapping"}:
            fields[name] = unpack(value["mapping"], arrays)
        else:
            fields[name] = value
    return fields


FORMAT = 1
RECORD = "record.json"
HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
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
    return {"float": repr(value)} if isinstance(value, float) and not math.isfinite(value) else value


def _decode(value: dict[str, Any]) -> Any:
    return float(value["float"]) if value.keys() == {"float"} else value


def write_npz(record: Mapping[str, Any], arrays: Mapping[str, Array], path: Path) -> Path:
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
    return {value["array"]} if set(value) == {"array"} else set().union(*map(_arrays_in, value.values()))


def _array(archive: zipfile.ZipFile, name: str) -> Array:
    """An array of a file; ValueError where its header and the archive differ about its size."""
    with archive.open(f"{name}.npy") as member:
        shape, _, dtype = HEADERS[np.lib.format.read_magic(member)](member)
        if member.tell() + dtype.itemsize * math.prod(shape) != archive.getinfo(f"{name}.npy").file_size:
            raise ValueError(name)
    with archive.open(f"{name}.npy") as member:
        return np.asarray(np.lib.format.read_array(member, allow_pickle=False))


def read_npz(path: Path) -> tuple[dict[str, Any], dict[str, Array]]:
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
            saved = parse_json(bytes(_array(archive, RECORD)).decode(), _decode)
            version, record = saved["format"], dict(saved["record"])
            # An array that the record does not name, or that is there twice, is not read.
            if version == FORMAT and sorted(name for name, _ in members) != sorted(
                [RECORD, *_arrays_in(record)]
            ):
                raise ValueError(path)
            arrays = {name: _array(archive, name) for name in _arrays_in(record)}
    except UNREADABLE:
        hint = "save one with --out or Solution.save"
        raise ResultError(f"'{path}' is not a saved solution", hint=hint) from None
    if version != FORMAT:
        raise ResultError(f"'{path}' has format {version}, this version reads {FORMAT}")
    return record, arrays
