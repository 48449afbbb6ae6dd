"""``Ledger``: a ledger as users hold it: created, listed, exported, explained."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from mmopt.errors import OptionError, PrivacyError
from mmopt.ledger import ledger_file
from mmopt.ledger.account import MEASURES, Account, Entry, Measure, Terms, checked_name
from mmopt.ledger.composition import (
    above,
    below,
    left,
    left_for_new_part,
    shown,
    total_spent,
)
from mmopt.ledger.explanation import epsilon_deltas, explanation
from mmopt.ledger.part_accounts import readings
from mmopt.notebook import Tabular
from mmopt.results import Frame
from mmopt.results.whole_file import write_whole
from mmopt.strategies import ADD_REMOVE, Neighbours, NeighboursLike

__all__ = ["Ledger"]

LARGEST = sys.float_info.max  # of a total


@dataclass(frozen=True, repr=False)
class Ledger(Tabular):
    """A ledger of privacy spent, as it stood when it was read. ``path`` is its file.

    >>> import mmopt, tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp(), "people.ledger")
    >>> ledger = mmopt.Ledger.create(file, "people", rho=0.5)
    >>> domain = mmopt.Domain.of(sex=["F", "M"])
    >>> people = {"sex": ["F", "M", "F"]}
    >>> r = mmopt.release(people, domain.marginal("sex"), {"rho": 0.125}, ledger=file, data_set="people")
    >>> mmopt.Ledger.load(file).left
    0.375
    """

    path: Path
    account: Account

    @staticmethod
    def create(
        path: str | Path,
        data_set: str,
        *,
        rho: float | None = None,
        epsilon: float | None = None,
        neighbours: NeighboursLike = ADD_REMOVE,
        partition: str | None = None,
    ) -> Ledger:
        """A new ledger, in a new file.

        Parameters
        ----------
        data_set : the name that releases have to give. rho, epsilon : the total, in one of the two: of
            zero-concentrated privacy, in which all noise is counted, or of pure epsilon.
        neighbours : the unit of privacy: that of every release, as ``mmopt.release`` takes it.
        partition : a column; releases of the rows with one value of it compose in parallel. For one row added
            or removed alone: the rows of a person may stand in several parts, a replaced row may change its.

        Raises
        ------
        OptionError : names that may not stand in a ledger; a partition for another unit.
        PrivacyError : no total, both, or one that is no double, finite and above 0.
        LedgerError : there is such a file, or it cannot be written.
        """
        checked_name("the data set", data_set)
        if partition is not None:
            checked_name("the partition", partition)
        if (rho is None) == (epsilon is None):
            raise PrivacyError(
                f"the total is rho {_said(rho)} and epsilon {_said(epsilon)}, expected one of the two",
                hint="rho for zero-concentrated privacy, in which Gaussian noise is counted, too",
            )
        measure: Measure = "rho" if epsilon is None else "epsilon"
        total: object = rho if epsilon is None else epsilon
        if isinstance(total, bool) or not isinstance(total, int | float) or not 0 < total < math.inf:
            raise PrivacyError(f"the total {measure} is {_said(total)}, expected a finite number above 0")
        if total > LARGEST:  # what is spent, left and explained is said in doubles
            raise PrivacyError(
                f"the total {measure} is {_said(total)}, expected at most {LARGEST:.3g}, the largest double"
            )
        unit = Neighbours.of(neighbours)
        if partition is not None and str(unit) != str(ADD_REMOVE):
            raise OptionError(
                f"the partition '{partition}' is declared for {unit}, and releases of parts compose in "
                "parallel for one row added or removed only",
                hint="leave the partition out: the rows of a person may stand in several parts, and a "
                "replaced row may move to another",
            )
        amount = Fraction(total)
        terms = Terms(data_set, measure, amount, str(unit), partition, amount, ledger_file.now())
        ledger_file.create(Path(path), terms)
        return Ledger(Path(path), Account(terms))

    @staticmethod
    def load(path: str | Path) -> Ledger:
        """A ledger, read from its file.

        Raises
        ------
        LedgerError : no such file, no ledger, one of a later version, one that was damaged or is held.
        """
        return Ledger(Path(path), ledger_file.read(Path(path)))

    @property
    def total(self) -> float:
        """What may be spent in all, rounded down."""
        return below(self.account.terms.total)

    @property
    def spent(self) -> float:
        """What all releases have cost together, rounded up."""
        return above(total_spent(self.account))

    @property
    def left(self) -> float:
        """What a release of the whole table may cost, rounded down; below 0 where the total was lowered."""
        return below(left(self.account))

    def left_for(self, part: str) -> float:
        """What a release of the rows of one part may cost, rounded down; OptionError without a partition."""
        if self.account.terms.partition is None:
            raise OptionError(f"'{self.path}' declares no partition, and so no part '{part}'")
        return below(left(self.account, part))

    def explain(self) -> str:
        """Why the total holds: what is counted, by which theorems, and what it amounts to."""
        return "\n\n".join(explanation(self.account))

    def rows(self) -> list[tuple[str, str]]:
        """What is declared, spent and left, as (name, text)."""
        terms, used = self.account.terms, total_spent(self.account)
        remaining, what = left(self.account), terms.measure
        lowered = "" if terms.total == terms.declared else f", lowered since from {shown(terms.declared)}"
        passed = "" if remaining >= 0 else "; MORE THAN THE TOTAL: nothing can be released"
        rows = [
            ("data set", terms.data_set),
            ("total", f"{what} {shown(terms.total)}{lowered} ({MEASURES[what]})"),
            ("spent", f"{what} {shown(used)}{passed}"),
            ("left", f"{what} {shown(max(remaining, Fraction(0)), is_left=True)}"),
            ("neighbours", Neighbours.of(terms.neighbours).words),
            ("created", terms.created),
        ]
        if what == "rho":
            rows.insert(3, ("amounts to", f"(epsilon, delta) = {', '.join(epsilon_deltas(used))}"))
        if terms.partition is not None:
            rows.append(("partition", f"by '{terms.partition}': the largest sum over its parts counts"))
            parts = [(f"left for '{part}'", left(self.account, part)) for part in self._parts()]
            for name, remaining in (*parts, ("left for other parts", left_for_new_part(self.account))):
                amount = shown(max(remaining, Fraction(0)), is_left=True)
                rows.append((name, f"{what} {amount}"))
        if unconfirmed := [str(entry.number) for entry in self.account.entries if entry.state == "spent"]:
            rows.append(("not confirmed", f"{', '.join(unconfirmed)}: no folder is known; counted in full"))
        return rows

    def _parts(self) -> list[str]:
        """Those of which releases were made, one name of each."""
        names: dict[frozenset[str], str] = {}
        for entry in self.account.entries:
            if entry.part is not None:
                names.setdefault(readings(entry.part), entry.part)
        return list(names.values())

    def frame(self) -> Frame:
        """A row for each release: what was spent, when, on what, and where it stands; costs rounded up."""
        entries = self.account.entries
        texts = ("time", "workload", "workload_hash", "part", "state", "folder", "manifest_hash")
        columns = {name: _texts([getattr(entry, name) for entry in entries]) for name in texts}
        return Frame(
            {
                "entry": np.array([entry.number for entry in entries], dtype=np.int64),
                "spent": np.array([above(entry.spent) for entry in entries], dtype=np.float64),
                "exactly": _texts([str(entry.spent) for entry in entries]),
                **columns,
            },
            {"data_set": self.account.terms.data_set, "measure": self.account.terms.measure},
        )

    def summary(self) -> dict[str, Any]:
        """All that stands in it as one JSON object; costs in doubles rounded outward, and as fractions."""
        terms = self.account.terms
        return {
            "data_set": terms.data_set,
            "measure": terms.measure,
            "total": self.total,
            "total_exactly": str(terms.total),
            "declared_exactly": str(terms.declared),
            "spent": self.spent,
            "spent_exactly": str(total_spent(self.account)),
            "left": self.left,
            "neighbours": terms.neighbours,
            "partition": terms.partition,
            "left_for_parts": {part: below(left(self.account, part)) for part in self._parts()},
            "created": terms.created,
            "entries": [_fields(entry) for entry in self.account.entries],
        }

    def export(self, path: str | Path) -> Path:
        """Write the entries into a .csv file, or all of it into a .json file; returns the path.

        Raises
        ------
        OptionError : another ending, or the ledger's own file. ResultError : the file cannot be written.
        """
        target = Path(path)
        if target.exists() and target.samefile(self.path):
            raise OptionError(f"'{target}' is the ledger itself", hint="name another file with --out")
        match target.suffix.lower():
            case ".csv":
                text = self.frame().to_csv()
            case ".json":
                text = json.dumps(self.summary(), indent=2, ensure_ascii=False) + "\n"
            case suffix:
                raise OptionError(
                    f"'{target}' ends in '{suffix}', and a ledger is exported to .csv or .json",
                    hint=".csv has a line for each release, .json also what is declared and left",
                )
        write_whole(target, text.encode())
        return target

    def __repr__(self) -> str:
        terms, what = self.account.terms, self.account.terms.measure
        entries = len(self.account.entries)
        return (
            f"Ledger('{terms.data_set}', {entries} entries, {what} {shown(total_spent(self.account))} spent "
            f"of {shown(terms.total)})"
        )


def _said(total: object) -> str:
    """What was given as a total; whole numbers beyond doubles, which Python may not print, by their size."""
    if isinstance(total, int) and abs(total) > LARGEST:
        return f"about {'-' if total < 0 else ''}10^{math.log10(abs(total)):.0f}"
    return repr(total)


def _fields(entry: Entry) -> dict[str, Any]:
    own = {name: getattr(entry, name) for name in entry.__dataclass_fields__ if name != "spent"}
    return {**own, "spent": above(entry.spent), "spent_exactly": str(entry.spent)}


def _texts(values: list[str | None]) -> Any:
    return np.array([value or None for value in values], dtype=object)
