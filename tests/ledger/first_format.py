"""Ledgers of the first format, in which each row had a checksum of its own, and no chain."""

import hashlib
import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

__all__ = ["FIRST", "made_before"]

TERMS = ["people", "rho", "add-remove", "part", "1", "2026-01-01T00:00:00+00:00"]
FIRST = [
    (1, "2026-01-02T00:00:00+00:00", "1/8", "w.yaml", "ab" * 32, None, "released", "out", "cd" * 32),
    (2, "2026-01-03T00:00:00+00:00", "1/3", "w.yaml", "ab" * 32, "true", "spent", "", ""),
    (3, "2026-01-04T00:00:00+00:00", "1/3", "", "ef" * 32, "1", "spent", "", ""),
]


def made_before(
    path: Path, entries: Sequence[Sequence[object]] = FIRST, total: str = "1", part: str | None = "part"
) -> Path:
    """A ledger with these rows, in that format; its path."""

    def own(row: Sequence[object]) -> str:
        return hashlib.sha256(json.dumps(list(row), ensure_ascii=True).encode()).hexdigest()

    terms = [*TERMS[:3], part, total, TERMS[5]]
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript(
            """
            PRAGMA application_id = 1835887719;
            PRAGMA user_version = 1;
            CREATE TABLE terms (
                one INTEGER PRIMARY KEY CHECK (one = 1), data_set TEXT NOT NULL, measure TEXT NOT NULL,
                neighbours TEXT NOT NULL, partition TEXT, declared TEXT NOT NULL, created TEXT NOT NULL,
                checksum TEXT NOT NULL, total TEXT NOT NULL, entries INTEGER NOT NULL
            );
            CREATE TABLE entries (
                number INTEGER PRIMARY KEY, time TEXT NOT NULL, spent TEXT NOT NULL, workload TEXT NOT NULL,
                workload_hash TEXT NOT NULL, part TEXT, state TEXT NOT NULL, folder TEXT NOT NULL,
                manifest_hash TEXT NOT NULL, checksum TEXT NOT NULL
            );
            """
        )
        connection.execute(
            "INSERT INTO terms VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [*terms, own(terms), total, len(entries)],
        )
        connection.executemany(
            "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", [[*row, own(row)] for row in entries]
        )
    return path
