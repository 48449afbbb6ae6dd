"""What a ledger declares, and what was spent from it: values, read from the file and never changed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from mmopt.errors import OptionError

__all__ = ["MEASURES", "Account", "Entry", "Measure", "State", "Terms", "checked_name"]

Measure = Literal["rho", "epsilon"]
State = Literal["spent", "released"]

MEASURES = {"rho": "rho, zero-concentrated", "epsilon": "pure epsilon"}
"""In what a total may be declared, and the words for it."""

LONGEST = 200  # characters of a name
_ADDRESS = re.compile(r"://|:[^/\s]*@")  # of a database, with or without a password in it
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


@dataclass(frozen=True)
class Terms:
    """What a ledger declares.

    Attributes
    ----------
    data_set : its name. measure : what is counted. total : how much of it may be spent, exactly.
    neighbours : the unit of privacy, in the words of ``Neighbours``, which that of each release has to be.
    partition : the column whose values part the rows, so that releases of parts compose in parallel.
    declared : the total at creation; ``total`` may have been lowered since, by hand.
    created : when, in UTC (ISO 8601).
    """

    data_set: str
    measure: Measure
    total: Fraction
    neighbours: str
    partition: str | None
    declared: Fraction
    created: str


@dataclass(frozen=True)
class Entry:
    """One release, of which nothing about the data is kept.

    Attributes
    ----------
    number : from 1 on. time : of spending, in UTC (ISO 8601). spent : in the measure of the ledger, exactly.
    workload : the name of its file, or nothing. workload_hash : SHA-256 of the queries, as in the manifest.
    part : the value of the partition's column in the rows that were counted; None where all were.
    state : "spent" before noise is drawn, "released" once the folder stands there whole.
    folder, manifest_hash : its path as it was given, and the SHA-256 of its manifest; empty until then.
    """

    number: int
    time: str
    spent: Fraction
    workload: str
    workload_hash: str
    part: str | None
    state: State = "spent"
    folder: str = ""
    manifest_hash: str = ""


@dataclass(frozen=True)
class Account:
    """A ledger as it was read: terms, and entries in the order in which they were spent."""

    terms: Terms
    entries: Sequence[Entry] = ()


def checked_name(what: str, name: object) -> str:
    """A name that may stand in a ledger for all who read it.

    Raises
    ------
    OptionError : no text, an empty or a long one, one of several lines, or one that looks like the address
        of a database, which may hold a password: the message does not repeat it.
    """
    if not isinstance(name, str):
        raise OptionError(f"{what} is of type {type(name).__name__}, expected a text")
    if _ADDRESS.search(name):
        raise OptionError(
            f"{what} looks like the address of a database, which may hold a password; nothing was written",
            hint="give it a name: a ledger is read by others",
        )
    if not name.strip() or len(name) > LONGEST or _CONTROL.search(name):
        shown = ascii(name if len(name) <= 40 else f"{name[:40]}…")
        raise OptionError(f"{what} is {shown}, expected a name of 1 to {LONGEST} characters in one line")
    return name
