"""One way from a dataclass of results to its file and back: fields as declared, as arrays and JSON."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from mmopt.errors import Error, ResultError
from mmopt.notebook import Displayed
from mmopt.numerics.spanned_cells import Measure
from mmopt.numerics.split_arrays import Array, Level, Split
from mmopt.results import npz_file
from mmopt.results.component_storage import READERS, plain_level, plain_measure, plain_split
from mmopt.results.solve_status import GRADES, Status
from mmopt.results.verification import as_text
from mmopt.strategies import FORMS, StrategyForm

__all__ = ["Saved", "build", "check_kinds", "pack", "plain", "restored", "unpack"]

PROGRAM = "solution of a program"  # a file that names no kind

Class = TypeVar("Class")
Own = TypeVar("Own", bound="Saved")


def plain(value: Any) -> Any:
    """A result as numbers, texts, arrays and mappings of those, also inside mappings."""
    if isinstance(value, Split):
        return plain_split(value)
    if isinstance(value, Level):
        return plain_level(value)
    if isinstance(value, Measure):
        return plain_measure(value)
    if isinstance(value, StrategyForm | Saved):
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


def _strategy(fields: Mapping[str, Any]) -> StrategyForm:
    """A strategy of any form; those that programs choose do not say which."""
    check_kinds(
        fields,
        {"matrix": "Array", "norm": "int", "neighbours": "Mapping[str, float | int | bool | str | None]"},
    )
    form = fields.get("form", "by_component" if "split" in fields else "dense")
    if form not in FORMS:
        known = list(FORMS)
        raise ResultError(
            f"its strategy has the form '{form}', expected {', '.join(known[2:-1])} or {known[-1]}"
        )
    return FORMS[form].from_fields(restored(fields))


def _is_number(value: Any) -> bool:
    return isinstance(value, float) or _is_whole(value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63


def _is_figure(value: Any) -> bool:
    return isinstance(value, bool) or _is_number(value)


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "fiu"


def _is_value(value: Any) -> bool:
    """An array, or a matrix or vector by component, whose fields its own reader checks."""
    return _is_array(value) or (isinstance(value, Mapping) and value.get("kind") in READERS)


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, bool | str) or _is_number(value)


def _of(kind: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, kind)


def _or_none(inner: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or inner(value)


def _mapping(inner: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, Mapping) and all(map(inner, value.values()))


def _several(inner: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list | tuple) and all(map(inner, value))


class _Kind(NamedTuple):
    """Whether a plain value fits, and what it is restored by."""

    fits: Callable[[Any], bool]
    restored: Callable[[Any], Any] = lambda value: value


# How a field is annotated -> its kind.
_KINDS: Mapping[str, _Kind] = MappingProxyType(
    {
        "str": _Kind(_of(str)),
        "bool": _Kind(_of(bool)),
        "int": _Kind(_is_whole),
        "int | None": _Kind(_or_none(_is_whole)),
        "float": _Kind(_is_number),
        "Grade": _Kind(lambda value: value in GRADES),
        "Grade | None": _Kind(lambda value: value is None or value in GRADES),
        "float | None": _Kind(_or_none(_is_number)),
        "Array": _Kind(_is_array),
        "Mapping[str, Array]": _Kind(_mapping(_is_array)),
        "Value": _Kind(_is_value, restored),
        "Value | None": _Kind(_or_none(_is_value), restored),
        "Mapping[str, Value]": _Kind(_mapping(_is_value), restored),
        "Mapping[str, float]": _Kind(_mapping(_is_number)),
        "Mapping[str, float | int | bool | str | None]": _Kind(_mapping(_is_plain)),
        "tuple[str, ...]": _Kind(_several(_of(str)), tuple),
        "tuple[Mapping[str, float | bool], ...]": _Kind(_several(_mapping(_is_figure)), tuple),
        "Mapping[str, Solution]": _Kind(_mapping(_of(Mapping))),  # ``Solution.from_fields`` goes on
        "Status": _Kind(_of(Mapping), lambda fields: build(Status, fields)),
        "AnyStrategy": _Kind(_of(Mapping), _strategy),
        "StrategyForm": _Kind(_of(Mapping), _strategy),
    }
)


def check_kinds(fields: Mapping[str, Any], annotations: Mapping[str, str]) -> None:
    """Raise :class:`~mmopt.errors.ResultError` at the first field that is not what its annotation says.

    A field without a value is left to the dataclass; an annotation without a row above is a KeyError.
    """
    for name, annotation in annotations.items():
        if name in fields and not _KINDS[annotation].fits(fields[name]):
            found = type(fields[name]).__name__
            raise ResultError(f"its field '{name}' is a {found}, expected {annotation}")


def build(cls: type[Class], fields: Mapping[str, Any]) -> Class:
    """The dataclass with these fields, each checked and restored as it is declared."""
    declared = {f.name: str(f.type) for f in dataclasses.fields(cls)}  # type: ignore[arg-type]
    check_kinds(fields, declared)
    return cls(
        **{name: _KINDS[declared[name]].restored(v) if name in declared else v for name, v in fields.items()}
    )


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


class Saved(Displayed, ABC):
    """A frozen dataclass that ``save`` and ``load`` give back equal, and that is shown as rows.

    KIND : what a file of it holds. WHAT : the words for it. HINT : where a file of it comes from. COMMAND :
    which makes one. Every kind has, besides, ``strategy``, ``workload_hash``, ``error``, ``error_bound`` and
    ``rmse``; ``program``, ``words`` and ``about_program()`` say what it solves; ``covariance``,
    ``own_sensitivity`` and ``steps`` are empty where there are none.
    """

    KIND: ClassVar[str] = PROGRAM
    WHAT: ClassVar[str]
    HINT: ClassVar[str]
    COMMAND: ClassVar[str]

    def fields(self) -> dict[str, Any]:
        """Every field as plain numbers, texts, arrays and mappings of those."""
        return {f.name: plain(getattr(self, f.name)) for f in dataclasses.fields(self)}  # type: ignore[arg-type]

    @classmethod
    def from_fields(cls: type[Own], fields: Mapping[str, Any]) -> Own:
        """The result whose ``fields`` these are; ResultError when one is of another kind."""
        return build(cls, fields)

    @classmethod
    def unpacked(cls: type[Own], path: str | Path, record: Mapping[str, Any], arrays: Any) -> Own:
        """The result of a file; ResultError where it cannot be read."""
        if (kind := record.get("kind", PROGRAM)) != cls.KIND:
            hint = "'mmopt release --strategy' and 'mmopt verify' take it"
            raise ResultError(f"'{path}' holds a {kind}, not the {cls.KIND}", hint=hint)
        what = f"'{path}' is not a saved {cls.WHAT}"
        try:
            return cls.from_fields(unpack(record, arrays))
        except npz_file.UNREADABLE:
            raise ResultError(what, hint=cls.HINT) from None
        except Error as error:
            raise ResultError(f"{what}: {error.message}", hint=error.hint or cls.HINT) from None

    @classmethod
    def load(cls: type[Own], path: str | Path) -> Own:
        """Read a saved one; :class:`~mmopt.errors.ResultError` when it cannot be read."""
        return cls.unpacked(path, *npz_file.read(Path(path)))

    @abstractmethod
    def rows(self) -> list[tuple[str, str]]:
        """What a reader wants to see first, as (name, text)."""

    def save(self, path: str | Path) -> Path:
        """Write plain arrays and JSON into one .npz file (no pickle), atomically; returns the path."""
        return npz_file.write(*pack(self.fields()), Path(path))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        (mine, my_arrays), (theirs, their_arrays) = pack(self.fields()), pack(other.fields())
        same = mine == theirs and my_arrays.keys() == their_arrays.keys()
        return same and all(np.array_equal(my_arrays[k], their_arrays[k]) for k in my_arrays)

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        return as_text(self.rows())
