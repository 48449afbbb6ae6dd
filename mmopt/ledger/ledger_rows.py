"""The rows of a ledger's file: what is declared and what was spent as texts with a checksum, and back.

The checksums are a chain: that of an entry covers the one before, that of the first what is declared, and a
last one, the seal, the last of them and their number. So no entry can be taken away, or come from elsewhere,
without computing all that follow. In the first format each row had its own alone.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

from mmopt.errors import LedgerError
from mmopt.ledger.account import MEASURES, Entry, State, Terms

__all__ = [
    "DAMAGED",
    "ENTRIES",
    "ROOT",
    "TERMS",
    "amount_text",
    "chain",
    "checksum",
    "entry_of",
    "entry_row",
    "stored_path",
    "terms_of",
    "terms_row",
]

TERMS = "data_set, measure, neighbours, partition, declared, created"
ENTRIES = "number, time, spent, workload, workload_hash, part, state, folder, manifest_hash"
ROOT = "mmopt ledger 2"
"""What the chain of checksums begins with."""

DAMAGED = "put back a copy of it that is whole; releases made since count too"
DIGITS = 2000  # a double squared has 650
_FRACTION = re.compile(rf"[0-9]{{1,{DIGITS}}}(/[1-9][0-9]{{0,{DIGITS - 1}}})?")


def terms_of(path: Path, row: Sequence[Any], before: str | None) -> Terms:
    """What is declared, of a row of ``TERMS``, its checksum and the total; LedgerError where changed.

    before : as for ``checksum``.
    """
    *held, digest, total = row
    data_set, measure, neighbours, partition, declared, created = held
    if digest != checksum(held, before) or measure not in MEASURES:
        raise LedgerError(f"'{path}' is damaged: what it declares was changed", hint=DAMAGED)
    allowed = _amount(path, declared)
    amount = _amount(path, total)
    if amount > allowed:
        raise LedgerError(
            f"the total of '{path}' was raised since its creation, from {declared} to {total}",
            hint="a total may be lowered; for a larger one every release would have to be forgotten",
        )
    return Terms(data_set, measure, amount, neighbours, partition, allowed, created)


def entry_of(path: Path, number: int, row: Sequence[Any], before: str | None) -> Entry:
    """The entry of this number, of a row of ``ENTRIES`` and its checksum; LedgerError where it is another.

    before : as for ``checksum``.
    """
    *held, digest = row
    if held[0] != number or digest != checksum(held, before) or held[6] not in get_args(State):
        raise LedgerError(f"'{path}' is damaged: entry {number} is missing or was changed", hint=DAMAGED)
    _, time, cost, *rest = held
    return Entry(number, time, _amount(path, cost), *rest)


def amount_text(amount: Fraction) -> str:
    """A total or a cost as it is stored.

    Raises
    ------
    LedgerError : it has more digits than are read back.
    """
    largest = max(amount.numerator, amount.denominator)
    if largest >= 10**DIGITS:
        raise LedgerError(
            f"an amount cannot be stored whose fraction has a number of about 10^{math.log10(largest):.0f}; "
            f"a ledger holds fractions of numbers of at most {DIGITS:,} digits"
        )
    return str(amount)


def _amount(path: Path, text: Any) -> Fraction:
    if not (isinstance(text, str) and _FRACTION.fullmatch(text)):
        raise LedgerError(f"'{path}' is damaged: a cost in it is no fraction", hint=DAMAGED)
    return Fraction(text)


def terms_row(terms: Terms) -> list[Any]:
    """What stands in the columns ``TERMS``; LedgerError as ``amount_text``."""
    names = (terms.data_set, terms.measure, terms.neighbours, terms.partition)
    return [*names, amount_text(terms.declared), terms.created]


def entry_row(entry: Entry) -> list[Any]:
    """What stands in the columns ``ENTRIES``; LedgerError as ``amount_text``."""
    return [
        *(entry.number, entry.time, amount_text(entry.spent)),
        *(entry.workload, entry.workload_hash, entry.part),
        *(entry.state, entry.folder, entry.manifest_hash),
    ]


def stored_path(path: str) -> str:
    """A path as a text that can be stored: bytes that are no UTF-8 are spelled out."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def chain(terms: Terms, entries: Sequence[Entry]) -> list[str]:
    """The checksums of what is declared and of each entry, and the seal."""
    found = [ROOT]
    for row in (terms_row(terms), *map(entry_row, entries), [len(entries)]):
        found.append(checksum(row, found[-1]))
    return found[1:]


def checksum(row: Sequence[Any], before: str | None) -> str:
    """SHA-256 of a row and of the checksum before it; against damage, not against those who can compute it.

    before : None in the first format, whose rows are not chained.
    """
    try:
        held = json.dumps([*row] if before is None else [before, *row], ensure_ascii=True)
    except TypeError:  # of a type that was never written
        return ""
    return hashlib.sha256(held.encode()).hexdigest()
