"""The file of a ledger: its rows, read and changed in transactions of SQLite.

The database is read whole, and changed in one transaction at a time. A process that spends holds the file's
only write lock from before it reads the entries until its entry is on disk (``BEGIN IMMEDIATE``,
``synchronous=EXTRA``), so that of two processes the second sees what the first spent. A process that is
killed leaves a journal, with which the next one undoes what was not committed. SQLite finds it by the file's
name: so a ledger has one name, and none is created beside a journal. Nothing is held between calls.

Terms and entries are rows of texts, each with a checksum, since SQLite's check looks at the structure alone:
a damaged file is refused, not read. The checksums are a chain: that of an entry covers the one before, that
of the first entry covers that of the terms, and a last one, the seal, covers the last of them and the number
of entries. So no entry can be removed, or come from elsewhere, unless all later ones are computed anew. In
the first format each checksum was of its row alone. Such a file is read as it is; the transaction that
changes it turns it into this format.
"""

import hashlib
import json
import math
import os
import re
import secrets
import sqlite3
import stat
import urllib.parse
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

from mmopt.errors import LedgerError
from mmopt.ledger.account import MEASURES, Account, Entry, State, Terms

TERMS = "data_set, measure, neighbours, partition, declared, created"
ENTRIES = "number, time, spent, workload, workload_hash, part, state, folder, manifest_hash"
# The beginning of the chain of checksums.
ROOT = "mmopt ledger 2"

DAMAGED = "put back a copy of it that is whole; releases made since count too"
DIGITS = 2000  # a double squared has 650
_FRACTION = re.compile(rf"[0-9]{{1,{DIGITS}}}(/[1-9][0-9]{{0,{DIGITS - 1}}})?")


def terms_of(path: Path, row: Sequence[Any], before: str | None) -> Terms:
    """The terms in a row of ``TERMS``, its checksum and the total; LedgerError where they were changed.

    before : as for ``checksum``.
    """
    *values, digest, total = row
    data_set, measure, neighbours, partition, declared, created = values
    if digest != checksum(values, before) or measure not in MEASURES:
        raise LedgerError(f"'{path}' is damaged: what it declares was changed", hint=DAMAGED)
    allowed, amount = _amount(path, declared), _amount(path, total)
    if amount > allowed:
        raise LedgerError(
            f"the total of '{path}' was raised since its creation, from {declared} to {total}",
            hint="a total may be lowered; for a larger one every release would have to be forgotten",
        )
    return Terms(data_set, measure, amount, neighbours, partition, allowed, created)


def entry_of(path: Path, number: int, row: Sequence[Any], before: str | None) -> Entry:
    """The entry of this number in a row of ``ENTRIES`` and its checksum; LedgerError where it is another.

    before : as for ``checksum``.
    """
    *values, digest = row
    if values[0] != number or digest != checksum(values, before) or values[6] not in get_args(State):
        raise LedgerError(f"'{path}' is damaged: entry {number} is missing or was changed", hint=DAMAGED)
    _, time, cost, *rest = values
    return Entry(number, time, _amount(path, cost), *rest)


def amount_text(amount: Fraction) -> str:
    """The stored text of a total or a cost.

    Raises
    ------
    LedgerError : it has more digits than ``read`` accepts.
    """
    largest = max(amount.numerator, amount.denominator)
    if largest >= 10**DIGITS:
        raise LedgerError(
            f"an amount cannot be stored whose fraction has a number of about 10^{math.log10(largest):.0f}; "
            f"a ledger holds fractions of numbers of at most {DIGITS:,} digits"
        )
    return str(amount)


def _amount(path: Path, text: Any) -> Fraction:
    """The total or cost with this stored text; LedgerError for any other value."""
    if not (isinstance(text, str) and _FRACTION.fullmatch(text)):
        raise LedgerError(f"'{path}' is damaged: a cost in it is no fraction", hint=DAMAGED)
    return Fraction(text)


def terms_row(terms: Terms) -> list[Any]:
    """The values of the columns ``TERMS``; LedgerError as ``amount_text``."""
    return [
        *(terms.data_set, terms.measure, terms.neighbours, terms.partition),
        *(amount_text(terms.declared), terms.created),
    ]


def entry_row(entry: Entry) -> list[Any]:
    """The values of the columns ``ENTRIES``; LedgerError as ``amount_text``."""
    return [
        *(entry.number, entry.time, amount_text(entry.spent)),
        *(entry.workload, entry.workload_hash, entry.part),
        *(entry.state, entry.folder, entry.manifest_hash),
    ]


def stored_path(path: str) -> str:
    """The stored text of a path: bytes that are not UTF-8 are spelled out."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def chain(terms: Terms, entries: Sequence[Entry]) -> list[str]:
    """The checksums of the terms and of each entry, and the seal."""
    checksums = [ROOT]
    for row in (terms_row(terms), *map(entry_row, entries), [len(entries)]):
        checksums.append(checksum(row, checksums[-1]))
    return checksums[1:]


def checksum(row: Sequence[Any], before: str | None) -> str:
    """SHA-256 of a row and of the checksum before it: it reveals damage, not forgery.

    before : None in the first format, whose rows are not chained.
    """
    try:
        text = json.dumps([*row] if before is None else [before, *row], ensure_ascii=True)
    except TypeError:  # a value of a type that was never written
        return ""
    return hashlib.sha256(text.encode()).hexdigest()


# The mark of a ledger among SQLite's files: "mmlg".
APPLICATION = 0x6D6D6C67

FORMAT = 2
# The longest wait for another process.
BUSY_SECONDS = 10.0

_SCHEMA = f"""
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {FORMAT};
BEGIN;
CREATE TABLE terms (
    one INTEGER PRIMARY KEY CHECK (one = 1), data_set TEXT NOT NULL, measure TEXT NOT NULL,
    neighbours TEXT NOT NULL, partition TEXT, declared TEXT NOT NULL, created TEXT NOT NULL,
    checksum TEXT NOT NULL, total TEXT NOT NULL, entries INTEGER NOT NULL, seal TEXT NOT NULL
);
CREATE TABLE entries (
    number INTEGER PRIMARY KEY, time TEXT NOT NULL, spent TEXT NOT NULL, workload TEXT NOT NULL,
    workload_hash TEXT NOT NULL, part TEXT, state TEXT NOT NULL, folder TEXT NOT NULL,
    manifest_hash TEXT NOT NULL, checksum TEXT NOT NULL
);
COMMIT;
"""
_UNSURE = "nothing was released; 'mmopt ledger show' says what is spent"


def now() -> str:
    """UTC, in seconds."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def create(path: Path, terms: Terms) -> None:
    """Write a new ledger of which nothing is spent; it appears whole or not at all.

    Raises
    ------
    LedgerError : the file exists or cannot be written, or its total has more digits than ``read`` accepts.
    """
    if os.path.lexists(path):
        raise LedgerError(
            f"'{path}' exists already; a ledger is written to a new file",
            hint="what was spent from a ledger stays spent: choose another name for another data set",
        )
    if os.path.lexists(journal := f"{os.path.realpath(path)}-journal"):
        raise LedgerError(
            f"'{journal}' was left by an interrupted process; SQLite would apply it to a new ledger '{path}'",
            hint="move the ledger that it belongs to back next to it, and read that; or choose another name",
        )
    row = [*terms_row(terms), amount_text(terms.total)]
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")
    try:
        with closing(sqlite3.connect(part, isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous = EXTRA")
            connection.executescript(_SCHEMA)
            connection.execute(
                f"INSERT INTO terms ({TERMS}, total, one, checksum, entries, seal) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, 1, '', 0, '')",
                row,
            )
            _write(connection, Account(terms), 1)
        os.link(part, path)  # unlike a rename it replaces nothing
    except FileExistsError:
        raise LedgerError(f"'{path}' was made meanwhile by another process; it is left as it is") from None
    except (OSError, sqlite3.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise LedgerError(
            f"cannot create '{path}': {reason}", hint="its parent must be a folder that you may write to"
        ) from None
    finally:
        with suppress(OSError):
            part.unlink()


def read(path: Path) -> Account:
    """Read the account of a ledger, all of it at one moment.

    Raises
    ------
    LedgerError : no such file, no ledger, one of a later version or damaged, or one that another process held
        for ``BUSY_SECONDS``.
    """
    with _transaction(path, "BEGIN") as connection:
        return _read(connection, path)


def spend(path: Path, entry: Entry, check: Callable[[Account], None]) -> Account:
    """Add an entry, numbered and timed here, if ``check`` raises nothing; the account with it.

    When this returns, the entry is on disk. When it raises, nothing was spent, unless the message says that
    this is not certain.

    Raises
    ------
    LedgerError : as ``read``; the file cannot be written. Errors of ``check`` on the account before.
    """
    with _transaction(path, "BEGIN IMMEDIATE") as connection:
        account = _read(connection, path)
        check(account)
        number, workload = len(account.entries) + 1, stored_path(entry.workload)
        added = replace(entry, number=number, time=now(), workload=workload)
        after = Account(account.terms, (*account.entries, added))
        _write(connection, after, added.number)
        if _read(connection, path) != after:  # before the entry counts as spent
            raise LedgerError(
                f"'{path}' does not hold what was written to it; nothing was spent", hint=DAMAGED
            )
    return after


def confirm(path: Path, entry: Entry, folder: str, manifest_hash: str) -> None:
    """Note the folder of an entry's release; an entry that has a folder keeps it.

    Raises
    ------
    LedgerError : as ``read``; the file cannot be written, or has no such entry.
    """
    with _transaction(path, "BEGIN IMMEDIATE") as connection:
        account = _read(connection, path)
        at = entry.number - 1
        stored = account.entries[at] if at < len(account.entries) else None
        if stored is None or (stored.time, stored.spent) != (entry.time, entry.spent):
            raise LedgerError(f"'{path}' has no entry {entry.number} of {entry.time}; was it replaced?")
        if stored.state == "released":
            return
        confirmed = replace(stored, state="released", folder=stored_path(folder), manifest_hash=manifest_hash)
        entries = (*account.entries[:at], confirmed, *account.entries[at + 1 :])
        _write(connection, Account(account.terms, entries), stored.number)


# -- the file


@contextmanager
def _transaction(path: Path, begin: str) -> Iterator[sqlite3.Connection]:
    """A connection to a file that exists. Within, the file has one state; errors of SQLite get words.

    Changes are committed at the end, and undone after an error, when the connection is closed. ``begin`` is
    "BEGIN" to read, and "BEGIN IMMEDIATE" to write: it takes the write lock at once.
    """
    try:
        status = os.stat(path)
    except OSError as error:
        raise LedgerError(
            f"there is no ledger '{path}': {error.strerror}",
            hint="mmopt ledger create FILE --data-set NAME --rho R [--neighbours UNIT]",
            in_python="create one: mmopt.Ledger.create(file, data_set, rho=R)",
        ) from None
    if not stat.S_ISREG(status.st_mode):
        kind = "a folder" if stat.S_ISDIR(status.st_mode) else "no regular file"
        raise LedgerError(f"'{path}' is {kind}, and a ledger is one file")
    if status.st_size == 0:
        raise LedgerError(f"'{path}' is empty (0 bytes), and so no ledger", hint=DAMAGED)
    if begin != "BEGIN" and status.st_nlink > 1:
        raise LedgerError(
            f"'{path}' has {status.st_nlink} names (hard links); a crash is repaired under one of them alone",
            hint="nothing was spent; remove the other names",
        )
    # The real path: the journal is next to it, whatever link the file was opened by.
    address = f"file:{urllib.parse.quote(os.path.realpath(path))}?mode=rw"
    try:
        with closing(
            sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
        ) as connection:
            connection.execute("PRAGMA synchronous = EXTRA")
            connection.execute(begin)
            yield connection
            try:
                connection.execute("COMMIT")
            except sqlite3.Error as error:
                raise LedgerError(
                    f"{_in_words(path, error).message}, at the end of a transaction", hint=_UNSURE
                ) from None
    except sqlite3.Error as error:
        raise _in_words(path, error) from None


# The beginnings of SQLite's codes, what an error says of the file, and its hint.
_ERRORS = (
    (
        ("SQLITE_BUSY", "SQLITE_LOCKED"),
        "was held by another process for {seconds:g} seconds",
        "nothing was spent; try again when that is done",
    ),
    (("SQLITE_NOTADB",), "is not a ledger: it is not an SQLite database", ""),
    (
        ("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH"),
        "may not be written ({code})",
        "nothing was spent; a ledger and its folder must be yours to write",
    ),
    (("SQLITE_FULL", "SQLITE_IOERR"), "cannot be written ({code})", _UNSURE),
    (("",), "is damaged ({code})", DAMAGED),
)


def _in_words(path: Path, error: sqlite3.Error) -> LedgerError:
    """The error for an error of SQLite, by its code."""
    code = getattr(error, "sqlite_errorname", "text that is not UTF-8")
    words, hint = next((words, hint) for codes, words, hint in _ERRORS if code.startswith(codes))
    return LedgerError(f"'{path}' {words.format(code=code, seconds=BUSY_SECONDS)}", hint=hint)


# -- its rows


def _read(connection: sqlite3.Connection, path: Path) -> Account:
    """The whole account; LedgerError where the file is not what a ledger of this version wrote."""
    ((application,),) = connection.execute("PRAGMA application_id").fetchall()
    if application != APPLICATION:
        raise LedgerError(f"'{path}' is not a ledger: it is an SQLite database of something else")
    ((version,),) = connection.execute("PRAGMA user_version").fetchall()
    if version not in (1, FORMAT):
        raise LedgerError(
            f"'{path}' is a ledger of format {version}, this version reads formats 1 and {FORMAT}",
            hint="use the version of mmopt that wrote it, or a later one",
        )
    if connection.execute("PRAGMA integrity_check(1)").fetchall() != [("ok",)]:
        raise LedgerError(f"'{path}' is damaged: SQLite finds its structure broken", hint=DAMAGED)
    objects = set(connection.execute("SELECT type, name FROM sqlite_master"))
    if objects - {("table", "terms"), ("table", "entries")}:  # a trigger could undo what is spent
        raise LedgerError(f"'{path}' is damaged: it holds other things than a ledger's tables", hint=DAMAGED)
    terms_rows = connection.execute(f"SELECT {TERMS}, checksum, total FROM terms").fetchall()
    rows = connection.execute(f"SELECT {ENTRIES}, checksum FROM entries ORDER BY number").fetchall()
    if len(terms_rows) != 1:
        raise LedgerError(f"'{path}' is damaged: it declares no total", hint=DAMAGED)
    before = None if version == 1 else ROOT  # the checksum before each row
    terms, before = terms_of(path, terms_rows[0], before), before and terms_rows[0][-2]
    entries = []
    for number, row in enumerate(rows, 1):
        entries.append(entry_of(path, number, row, before))
        before = before and row[-1]
    columns = "entries, NULL" if version == 1 else "entries, seal"
    ((count, seal),) = connection.execute(f"SELECT {columns} FROM terms").fetchall()
    if count != len(rows):
        raise LedgerError(f"'{path}' is damaged: it has {len(rows)} entries of {count}", hint=DAMAGED)
    if seal != (before and checksum([count], before)):
        raise LedgerError(f"'{path}' is damaged: entries after its last were taken away", hint=DAMAGED)
    return Account(terms, tuple(entries))


def _write(connection: sqlite3.Connection, account: Account, first: int) -> None:
    """Write the entries from this number on and the chain; in a file of the first format, all entries."""
    if connection.execute("PRAGMA user_version").fetchall() == [(1,)]:
        connection.execute("ALTER TABLE terms ADD COLUMN seal TEXT NOT NULL DEFAULT ''")
        connection.execute(f"PRAGMA user_version = {FORMAT}")
        first = 1
    of_terms, *of_entries, seal = chain(account.terms, account.entries)
    rows = [[*entry_row(entry), digest] for entry, digest in zip(account.entries, of_entries, strict=True)]
    connection.executemany(
        f"INSERT OR REPLACE INTO entries ({ENTRIES}, checksum) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        rows[first - 1 :],
    )
    connection.execute("UPDATE terms SET checksum = ?, entries = ?, seal = ?", [of_terms, len(rows), seal])
