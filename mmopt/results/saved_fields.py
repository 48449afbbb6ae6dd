"""Dataclasses of results to files and back, values by component among them.

There is one way for all of them: fields as declared, in one .npz of plain arrays, of which one is the JSON of
everything else. Nothing is pickled, so that opening a file runs nothing.

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
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

from mmopt.errors import ResultError
from mmopt.installation_and_files import parse_json, write_whole
from mmopt.limits import MEMORY_LIMIT
from mmopt.numerics.arrays import Array
from mmopt.numerics.component_arrays import Kronecker, Level, Measure, Space, Split
from mmopt.results.status_grade_and_verification import GRADES, Status
from mmopt.sectors.functions_of_few import Mixture
from mmopt.strategies import FORMS, StrategyForm
from mmopt.symmetry.components import AttributeSymmetry, Cells, Chosen, Joint

Value = Array | Split | Level | Measure | Kronecker
Fields = dict[str, Any]

MATRIX, VECTOR, MEASURE = "matrix by component", "vector by orbit", "measure of cells"


def _require(holds: Any) -> None:
    """Raise ResultError where saved values do not fit together."""
    if not holds:
        raise ResultError("its values by component do not fit together")


def _matrix(fields: Mapping[str, Any]) -> Split:
    """A matrix by component from its saved fields."""
    rows, columns = _space(fields["rows"]), _space(fields["columns"])
    flat = np.asarray(fields["parts"], dtype=float)
    _require(rows.count == columns.count and np.array_equal(rows.multiplicities, columns.multiplicities))
    sizes = [r * c for r, c in zip(rows.dims, columns.dims, strict=True)]
    parts = zip(_cut(flat, sizes), rows.dims, columns.dims, strict=True)
    return Split(rows, columns, tuple(part.reshape(r, c) for part, r, c in parts))


def _vector(fields: Mapping[str, Any]) -> Level:
    """A vector by orbit of cells from its saved fields."""
    space, values = _space(fields["space"]), np.asarray(fields["values"], dtype=float)
    _require(space.sizes is not None and values.shape == space.sizes.shape)
    return Level(space, values)


def _measure(fields: Mapping[str, Any]) -> Measure:
    """A measure of cells from its saved fields."""
    factors = fields["factors"]
    matrices = tuple(np.asarray(factors[str(i)], dtype=float) for i in range(len(factors)))
    return Measure(_space(fields["space"]), Mixture(np.asarray(fields["weights"], dtype=float), matrices))


def _plain_space(space: Space) -> Fields:
    """A space as arrays and numbers."""
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
    return {
        "multiplicities": np.asarray(space.multiplicities),
        "dims": np.array(space.dims, dtype=np.int64),
        "total": space.total,
        **({} if space.labels is None else {"labels": _joined(space.labels)}),
        **({} if space.sizes is None else {"sizes": np.asarray(space.sizes)}),
    }


def _space(fields: Mapping[str, Any]) -> Space:
    """A space from its saved fields."""
    dims = tuple(int(d) for d in fields["dims"])
    _require(all(d >= 0 for d in dims))
    if "attributes" in fields:
        return _cells(fields, dims)
    multiplicities, total = np.asarray(fields["multiplicities"], dtype=float), fields["total"]
    is_number = total is None or isinstance(total, int)
    _require(multiplicities.shape == (len(dims),) and (multiplicities >= 1).all() and is_number)
    labels = sizes = None
    if "sizes" in fields:
        sizes, flat = np.asarray(fields["sizes"], dtype=float), np.asarray(fields["labels"])
        _require(sizes.ndim == 1 and (sizes >= 1).all() and flat.dtype.kind == "i")
        _require(((flat >= 0) & (flat < len(sizes))).all())
        labels = tuple(_cut(flat, dims))
    return Space(multiplicities, dims, labels, sizes, total)


def _cells(fields: Mapping[str, Any], dims: tuple[int, ...]) -> Cells:
    """The space of cells from the symmetries of their attributes."""
    classes, mirrors = (
        _cut(fields["classes"], fields["attributes"]),
        _cut(fields["mirrors"], fields["counts"]),
    )
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
        _require(all(0 <= k < len(a.parts) for a, k in zip(attributes, key, strict=True)))
        own_key = tuple(int(k) for k in key)
        _require(kept.dtype.kind == "i" and (np.diff(kept) > 0).all())
        _require(not len(kept) or (kept[0] >= 0 and kept[-1] < joint.dim(own_key)))
        chosen.append(Chosen(own_key, kept))
    return joint.space(chosen)


def _joined(arrays: Any) -> Any:
    """One array of several, end to end."""
    return np.concatenate(list(arrays)) if arrays else np.zeros(0)


def _cut(flat: Any, sizes: Any) -> list[Any]:
    """Pieces of these sizes, which have to add up."""
    _require(np.ndim(flat) == 1 and len(flat) == int(np.sum(sizes, initial=0)))
    return np.split(np.asarray(flat), np.cumsum(sizes, dtype=np.int64)[:-1])


#: Readers of mappings, by kind; they raise ResultError or one of ``UNREADABLE`` where one does not fit.
READERS: Mapping[Any, Callable[[Mapping[str, Any]], Split | Level | Measure]] = MappingProxyType(
    {MATRIX: _matrix, VECTOR: _vector, MEASURE: _measure}
)


Class = TypeVar("Class")  # of a result


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
    """A value with those by component whole again that ``plain`` took apart, also inside mappings."""
    if isinstance(value, Mapping) and value.get("kind") in READERS:
        return READERS[value["kind"]](value)
    return {name: restored(inner) for name, inner in value.items()} if isinstance(value, Mapping) else value


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
        "Value": lambda value: (
            _is_array(value) or (isinstance(value, Mapping) and value.get("kind") in READERS)
        ),
        # ``Solution.from_fields``, ``_restored_field`` go on.
        **dict.fromkeys(("Solution", "Status", "AnyStrategy"), lambda value: isinstance(value, Mapping)),
    }
)
_MAPPING, _TUPLE = re.compile(r"Mapping\[str, (.*)\]"), re.compile(r"tuple\[(.*), \.\.\.\]")


def _fits(annotation: str, value: Any) -> bool:
    """Whether a plain value fits the annotation of its field, a text."""
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
            raise ResultError(f"its field '{name}' is a {type(fields[name]).__name__}, expected {annotation}")


def build(cls: type[Class], fields: Mapping[str, Any]) -> Class:
    """The dataclass with these fields, each checked against its declaration and restored."""
    declared = {f.name: str(f.type) for f in dataclasses.fields(cls)}  # type: ignore[arg-type]
    check_kinds(fields, declared)
    return cls(**{name: _restored_field(declared.get(name, ""), value) for name, value in fields.items()})


def _restored_field(annotation: str, value: Any) -> Any:
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
MOST_RECORD_BYTES = 2**26
MOST_BYTES = 4 * MEMORY_LIMIT  # of all arrays together
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
    """A float that ``_encode`` made a text; any other object as it is."""
    return float(value["float"]) if value.keys() == {"float"} else value


def npz_bytes(record: Mapping[str, Any], arrays: Mapping[str, Array]) -> bytes:
    """The contents of an .npz file."""
    text = json.dumps(
        {"format": FORMAT, "record": _encode(dict(record))}, ensure_ascii=False, allow_nan=False
    )
    everything: dict[str, Any] = {RECORD: np.frombuffer(text.encode(), dtype=np.uint8), **arrays}
    packed = io.BytesIO()
    np.savez_compressed(packed, allow_pickle=False, **everything)
    return packed.getvalue()


def write_npz(record: Mapping[str, Any], arrays: Mapping[str, Array], path: Path) -> Path:
    """Write to ``path`` (``.npz`` is added when it is missing), whole or not at all.

    Raises
    ------
    ResultError : the file cannot be written.
    """
    if path.suffix != ".npz":
        path = path.with_name(path.name + ".npz")
    write_whole(path, npz_bytes(record, arrays))
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
            if sizes[RECORD] > MOST_RECORD_BYTES or sum(sizes.values()) > MOST_BYTES:
                raise ResultError(
                    f"'{path}' declares more than {MOST_RECORD_BYTES / 2**30:g} GiB of record and "
                    f"{MOST_BYTES / 2**30:g} GiB in all"
                )
            saved = parse_json(bytes(_array(archive, RECORD)).decode(), _decode)
            version, record = saved["format"], dict(saved["record"])
            # An array that the record does not name, or that is there twice, is not read.
            if version == FORMAT and sorted(name for name, _ in members) != sorted(
                [RECORD, *_arrays_in(record)]
            ):
                raise ValueError(path)
            arrays = {name: _array(archive, name) for name in _arrays_in(record)}
    except UNREADABLE:
        raise ResultError(
            f"'{path}' is not a saved solution", hint="save one with --out or Solution.save"
        ) from None
    if version != FORMAT:
        raise ResultError(f"'{path}' has format {version}, this version reads {FORMAT}")
    return record, arrays
