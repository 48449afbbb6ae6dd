"""Releases and ledgers to be edited, and the edits: one leaf of a manifest, one cell of a ledger.

Judged by the bytes on disk: JSON, Parquet and SQLite are read with their own libraries.
"""

import copy
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mmopt
from mmopt.answers import Release, private_release
from mmopt.driver.templates import templates
from mmopt.ledger import ledger_file
from mmopt.ledger.account import Entry
from mmopt.workloads import Workload

Where = tuple[Any, ...]
MISSING = object()
PEOPLE = {
    "sex": ["F", "M", "F", "M", "F"],
    "age": ["a", "b", "c", "c", "c"],
    "region": list("nsnsn"),
    "person": [1, 2, 3, 4, 1],
}
DOMAIN = mmopt.Domain.of(sex=["F", "M"], age=["a", "b", "c"])
TABLES = DOMAIN.marginal("sex", "age") + DOMAIN.marginal("sex")
PREFIXES = DOMAIN.product(age="prefix")
APPROXIMATE = {"epsilon": 1.0, "delta": 1e-6}


def released(workload: Workload, privacy: Any, **options: Any) -> tuple[Release, Workload]:
    return mmopt.release(PEOPLE, workload, privacy, **options), workload


def in_parts(norm: int, privacy: Any, template: str) -> tuple[Release, Workload]:
    found = templates(TABLES, norm, (template,))
    return released(TABLES, privacy, strategy=found.solution(TABLES, found.best))


def charged(folder: Path, **options: Any) -> tuple[Release, Workload]:
    path = mmopt.Ledger.create(folder / "people.ledger", "people", rho=2.0, partition="region").path
    return released(PREFIXES, {"rho": 0.5}, ledger=path, data_set="people", **options)


def refined(folder: Path, **options: Any) -> tuple[Release, Workload]:
    release, workload = released(PREFIXES, APPROXIMATE, program="l2_strategy", simulate=1)
    return release.refine(**options), workload


KINDS: dict[str, Callable[[Path], tuple[Release, Workload]]] = {
    "pure epsilon": lambda _: released(TABLES, {"epsilon": 0.5}),
    "epsilon and delta": lambda _: released(PREFIXES, APPROXIMATE, program="l2_strategy"),
    "zero-concentrated": lambda _: released(PREFIXES, {"rho": 0.3}, program="l2_strategy"),
    "no protection": lambda _: released(DOMAIN.marginal("sex"), {"rho": 20.0}, program="l2_strategy"),
    "simulated": lambda _: released(PREFIXES, APPROXIMATE, program="l2_strategy", simulate=3),
    "one row replaced": lambda _: released(PREFIXES, {"rho": 0.1}, neighbours="replace-one"),
    "three rows of a person": lambda _: released(
        PREFIXES, {"rho": 0.1}, unit={"column": "person", "rows": 3}, program="l2_strategy"
    ),
    "steps": lambda _: released(
        mmopt.Domain.of(age=["a", "b", "c"]).product(age="prefix"),
        {"rho": 0.1},
        neighbours={"participation": {"separation": 2, "at_most": 2}},
    ),
    "several parts": lambda _: in_parts(2, {"rho": 0.2}, "sectorwise"),
    "parts of Laplace noise": lambda _: in_parts(1, {"epsilon": 0.7}, "marginals"),
    "a strategy that was given": lambda _: released(
        PREFIXES, {"rho": 0.2}, strategy=mmopt.solve(PREFIXES, "l2_strategy"), confidence=0.9
    ),
    "targets": lambda _: released(
        mmopt.Workload.of(
            domain={"age": {"values": ["a", "b", "c"]}}, workload=[{"marginal": ["age"], "max_variance": 4.0}]
        ),
        None,
        program="fitness_for_use",
    ),
    "charged": charged,
    "a part": lambda folder: charged(folder, part="n"),
    "Laplace noise, charged": lambda folder: released(
        PREFIXES,
        {"epsilon": 0.5},
        ledger=mmopt.Ledger.create(folder / "people.ledger", "people", epsilon=2.0).path,
        data_set="people",
    ),
    "refined": refined,
    "refined to whole numbers": lambda folder: refined(folder, whole=True, totals=5),
}


def saved(kind: str, folder: Path) -> tuple[Path, Workload]:
    """The folder of a release of this kind, without a chart, which takes longer than all else."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(private_release, "has_matplotlib", lambda: False)
        release, workload = KINDS[kind](folder)
        return release.save(folder / "out"), workload


# -- manifests


def leaves(value: Any, where: Where = ()) -> Iterator[tuple[Where, Any]]:
    """All that a manifest says that holds nothing else, by the way to it."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if not inside:
        yield where, value
    for name, each in inside:
        yield from leaves(each, (*where, name))


def others(value: Any) -> list[Any]:
    """Other values for a leaf: by a factor, in sign, in type, to another text; taken away."""
    found: list[Any] = [MISSING, None, True, False, "", "x", [], [value], 0, 1.0, -7]
    if isinstance(value, str):
        found += [value + " ", value[:-1], value.swapcase(), value + "0"]
    elif isinstance(value, int | float) and not isinstance(value, bool):
        found += [-value, value * 0.1, value * 1.5, value * (1 + 1e-3), value + 1, str(value), float("nan")]
        found += [float("inf"), 10**400 if isinstance(value, int) else 1e300]
    return [each for each in found if not is_same(each, value)]


def is_same(one: Any, other: Any) -> bool:
    """Up to what arithmetic rounds."""
    if isinstance(one, float) and isinstance(other, float):
        return one == other or abs(one - other) < 1e-9 * abs(other)
    return type(one) is type(other) and one == other


def edited(manifest: Any, where: Where, value: Any) -> Any:
    """A copy with this leaf changed, or without it."""
    copied = copy.deepcopy(manifest)
    inside = copied
    for name in where[:-1]:
        inside = inside[name]
    if value is MISSING:
        del inside[where[-1]]
    else:
        inside[where[-1]] = value
    return copied


def is_listed(where: Where, unchecked: tuple[str, ...]) -> bool:
    """Whether a place, or one that it lies in, is said to be unchecked."""
    return any(".".join(map(str, where[:depth])) in unchecked for depth in range(1, len(where) + 1))


# -- ledgers


def ledger_of(folder: Path, entries: int = 4) -> Path:
    path = mmopt.Ledger.create(folder / "people.ledger", "people", rho=2.0, partition="region").path
    for number in range(entries):
        entry = Entry(
            0, "", Fraction(1, number + 3), f"w{number}.yaml", "ab" * 32, "n" if number % 2 else None
        )
        account = ledger_file.spend(path, entry, lambda _: None)
        if number != 1:
            ledger_file.confirm(path, account.entries[-1], f"out{number}", "cd" * 32)
    return path


def statements(path: Path, rng: np.random.Generator) -> Iterator[tuple[str, list[Any]]]:
    """One random change of each cell, row by row; rows taken away, moved, twice, with what counts them."""
    with closing(sqlite3.connect(path)) as connection:
        for table in ("terms", "entries"):
            names = [name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")]
            for row in connection.execute(f"SELECT rowid, * FROM {table}").fetchall():
                for name, value in zip(names, row[1:], strict=True):
                    new = rng.choice(np.array([e for e in others(value) if plain(e)], dtype=object))
                    yield f"UPDATE {table} SET {name} = ? WHERE rowid = {row[0]}", [new]
        (count,) = connection.execute("SELECT count(*) FROM entries").fetchone()
    for number in range(1, count + 1):
        fewer = f"UPDATE terms SET entries = {count - 1}"
        yield f"DELETE FROM entries WHERE number = {number}; {fewer}", []
        moved = f"UPDATE entries SET number = number - 1 WHERE number > {number}"
        yield f"DELETE FROM entries WHERE number = {number}; {moved}; {fewer}", []
        last = f"coalesce((SELECT checksum FROM entries WHERE number = {number - 1}), checksum)"
        end = f"UPDATE terms SET entries = {number - 1}, seal = {last}"
        yield f"DELETE FROM entries WHERE number >= {number}; {end}", []


def plain(value: Any) -> bool:
    """Whether SQLite holds it."""
    return isinstance(value, str | float | bool) or (isinstance(value, int) and abs(value) < 2**63)
