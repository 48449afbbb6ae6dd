"""One release: refused or charged before its noise is drawn, and confirmed when its folder is written."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from mmopt.errors import Error, LedgerError, OptionError, PrivacyError
from mmopt.ledger import ledger_file
from mmopt.ledger.account import Account, Entry, checked_name
from mmopt.ledger.composition import above, below, cost_in, left, same_account, shown

__all__ = ["Bill", "Charge", "charge_in_errors"]


@dataclass(frozen=True)
class Bill:
    """A release that is to be charged to a ledger; its cost is said later.

    ``part``: the value of the ledger's ``partition`` in the rows that are counted; None for all rows.
    """

    path: Path
    data_set: str
    part: str | None
    partition: str | None

    @staticmethod
    def to(path: str | Path, data_set: str, part: str | None = None) -> Bill:
        """Of a release of this data set, or of a part of it, to this ledger.

        Raises
        ------
        OptionError : a name that may not stand in a ledger; a part without a partition.
        LedgerError : as ``ledger_file.read``; a ledger of another data set.
        """
        checked_name("the data set", data_set)
        if part is not None:
            checked_name("the part", part)
        account = ledger_file.read(Path(path))
        bill = Bill(Path(path), data_set, part, account.terms.partition)
        bill._refuse_names(account)
        return bill

    @property
    def selection(self) -> tuple[str, str] | None:
        """The column, and its value in the rows that are counted; None for all rows."""
        return None if self.partition is None or self.part is None else (self.partition, self.part)

    def check(self, neighbours: str, rho: float | None, epsilon: float | None) -> None:
        """Refuse what ``spend`` would, as the ledger stands now; nothing is spent."""
        self._cost(ledger_file.read(self.path), neighbours, rho, epsilon)

    def spend(
        self, neighbours: str, rho: float | None, epsilon: float | None, workload: str, workload_hash: str
    ) -> Charge:
        """Charge the release; when this returns, that is on disk.

        Parameters
        ----------
        neighbours : its unit of privacy, in the words of ``Neighbours``. rho, epsilon : as ``cost_in``.
        workload, workload_hash : the name of its file, and the SHA-256 of its queries.

        Raises
        ------
        PrivacyError : more than is left; noise that the ledger cannot count.
        LedgerError : another data set or unit; as ``ledger_file.spend``.
        """
        cost = self._cost(ledger_file.read(self.path), neighbours, rho, epsilon)
        account = ledger_file.spend(
            self.path,
            Entry(0, "", cost, workload, workload_hash, self.part),
            lambda found: self._same_cost(self._cost(found, neighbours, rho, epsilon), cost),
        )
        return Charge(self.path, account, account.entries[-1])

    def _same_cost(self, found: Fraction, cost: Fraction) -> None:
        if found != cost:
            raise LedgerError(f"'{self.path}' was replaced meanwhile by a ledger of another measure")

    def _refuse_names(self, account: Account) -> None:
        terms = account.terms
        if terms.data_set != self.data_set:
            raise LedgerError(
                f"'{self.path}' is the ledger of the data set '{terms.data_set}', and this release is of "
                f"'{self.data_set}'",
                hint="name its own ledger; or, where the table is that data set under another name, say so: "
                f"--data-set '{terms.data_set}' (data_set= in Python)",
            )
        if terms.partition != self.partition:
            raise LedgerError(f"'{self.path}' was replaced meanwhile by a ledger of another partition")
        if self.part is not None and terms.partition is None:
            raise OptionError(
                f"the part '{self.part}' is asked for, and '{self.path}' declares no partition",
                hint="leave the part out; a partition is declared when a ledger is created: --partition",
            )

    def _cost(self, account: Account, neighbours: str, rho: float | None, epsilon: float | None) -> Fraction:
        """What the release costs; errors as ``spend``."""
        self._refuse_names(account)
        terms = account.terms
        if terms.neighbours != neighbours:
            raise LedgerError(
                f"'{self.path}' counts privacy of {terms.neighbours}, and this release is private for "
                f"{neighbours}",
                hint="costs of different units do not add up: ask for the ledger's unit (neighbours: or "
                "unit: in the workload file), or keep a ledger for each",
            )
        cost, remaining = cost_in(terms.measure, rho, epsilon), left(account, self.part)
        if cost > remaining:
            what = terms.measure
            least = f"{what} {shown(remaining, is_left=True)} is left" if remaining > 0 else "nothing is left"
            others = [] if self.part is None else same_account(account.entries, self.part)
            where = "" if self.part is None else f" for the part '{self.part}'"
            if others:  # the same rows, as another copy of the table may spell their value
                where += f" (one account with {', '.join(map(repr, others))})"
            raise PrivacyError(
                f"the release costs {what} {shown(cost)}, and {least} of {what} {shown(terms.total)}"
                f"{where} in '{self.path}'",
                hint="nothing was spent and no row was released; ask for less: 'mmopt ledger show' lists "
                "what was spent on what",
            )
        return cost


@dataclass(frozen=True)
class Charge:
    """What a release has spent: the entry, and the account with it."""

    path: Path
    account: Account
    entry: Entry

    @property
    def words(self) -> str:
        """What was spent, for whoever sees the release fail."""
        return (
            f"{self.account.terms.measure} {shown(self.entry.spent)} was spent before: entry "
            f"{self.entry.number} of the ledger '{self.path}' counts, whatever became of the release"
        )

    def section(self) -> dict[str, Any]:
        """What the manifest says: costs rounded up, what is left rounded down; nothing of the data."""
        terms, entry = self.account.terms, self.entry
        part = {} if entry.part is None else {"part": {"column": terms.partition, "value": entry.part}}
        return {
            "data_set": terms.data_set,
            "entry": entry.number,
            "measure": terms.measure,
            **part,
            "spent": above(entry.spent),
            "total": below(terms.total),
            "left": below(left(self.account, entry.part)),
        }

    def confirm(self, folder: Path, manifest: bytes) -> None:
        """Note in the ledger where the release stands, by its manifest.

        Raises
        ------
        LedgerError : as ``ledger_file.confirm``; the release is complete all the same, and says so.
        """
        try:
            ledger_file.confirm(self.path, self.entry, str(folder), hashlib.sha256(manifest).hexdigest())
        except LedgerError as error:
            raise LedgerError(
                f"the release is complete in '{folder}', and entry {self.entry.number} of the ledger does "
                f"not say so: {error.message}",
                hint="it counts as spent, and the folder is whole: 'mmopt show' reads it",
            ) from None


@contextmanager
def charge_in_errors(charge: Charge | None) -> Iterator[None]:
    """Within, whatever goes wrong also says what was spent: an ``Error`` in its hint, others in a note."""
    try:
        yield
    except BaseException as error:
        if charge is not None and isinstance(error, Error):
            error.hint = "\n  ".join(text for text in (error.hint, charge.words) if text)
        elif charge is not None:
            error.add_note(charge.words)
        raise
