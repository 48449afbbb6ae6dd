"""``Ledger``: created, listed, charged, exported, explained.

A release is a ``Bill``, refused or charged before its noise is drawn; its ``Charge`` is confirmed when its
folder is written. ``explanation`` tells readers of a ledger why its total holds; the proof is in ``account``.
"""

import hashlib
import json
import math
import shlex
import sys
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from mmopt.display_base_classes import Tabular
from mmopt.errors import LedgerError, OptionError, PrivacyError, counted
from mmopt.installation_and_files import write_whole
from mmopt.ledger import ledger_file
from mmopt.ledger.account import (
    LEAST_LEFT,
    MEASURES,
    NEXT_TO_NOTHING,
    Account,
    Entry,
    Measure,
    Terms,
    above,
    below,
    checked_name,
    cost_in,
    epsilon_of,
    left,
    left_for_new_part,
    readings,
    same_account,
    shown,
    spent,
)
from mmopt.numerics.arrays import rounded
from mmopt.results import Frame
from mmopt.results.frame import texts_column
from mmopt.strategies import ADD_REMOVE, Neighbours, NeighboursLike


@dataclass(frozen=True)
class Bill:
    """A release that is to be charged to a ledger; its cost is given later.

    ``part``: the value of the ledger's ``partition`` in the rows that are counted; None for all rows.
    """

    path: Path
    data_set: str
    part: str | None
    partition: str | None

    @staticmethod
    def to(path: str | Path, data_set: str, part: str | None = None, neighbours: str | None = None) -> "Bill":
        """Bill a release of this data set, or of a part of it, to this ledger.

        ``neighbours``: its unit of privacy, in the words of ``Neighbours``; None where a program decides.

        Raises
        ------
        OptionError : a name that a ledger cannot hold; a part without a partition.
        LedgerError : as ``ledger_file.read``; a ledger of another data set or unit.
        PrivacyError : nothing is left.
        """
        checked_name("the data set", data_set)
        if part is not None:
            checked_name("the part", part)
        account = ledger_file.read(Path(path))
        bill = Bill(Path(path), data_set, part, account.terms.partition)
        bill._refuse_terms(account, neighbours)
        if left(account, part) < LEAST_LEFT:
            raise bill._exceeded(account, "")
        return bill

    @property
    def selection(self) -> tuple[str, str] | None:
        """The column, and its value in the rows that are counted; None for all rows."""
        return None if self.partition is None or self.part is None else (self.partition, self.part)

    def check(self, neighbours: str, rho: float | None, epsilon: float | None) -> None:
        """Refuse what ``spend`` would refuse now; spend nothing."""
        self._cost(ledger_file.read(self.path), neighbours, rho, epsilon)

    def spend(
        self, neighbours: str, rho: float | None, epsilon: float | None, workload: str, workload_hash: str
    ) -> "Charge":
        """Charge the release; when this returns, the entry is on disk.

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
            lambda current: self._require_same_cost(self._cost(current, neighbours, rho, epsilon), cost),
        )
        return Charge(self.path, account, account.entries[-1])

    def _require_same_cost(self, cost_at_charge: Fraction, cost: Fraction) -> None:
        """Refuse to charge a cost that was computed before the file was replaced by another ledger."""
        if cost_at_charge != cost:
            raise LedgerError(f"'{self.path}' was replaced meanwhile by a ledger of another measure")

    def _refuse_terms(self, account: Account, neighbours: str | None) -> None:
        """Refuse an account of another data set, partition or unit, or of no part where one is asked for."""
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
                f"the part '{self.part}' was requested, and '{self.path}' declares no partition",
                hint="leave the part out; a partition is declared when a ledger is created: --partition",
            )
        if terms.neighbours != (neighbours or terms.neighbours):
            raise LedgerError(
                f"'{self.path}' counts privacy of {terms.neighbours}, and this release is private for "
                f"{neighbours}",
                hint="costs of different units do not add up: state the ledger's unit (neighbours: or unit: "
                "in the workload file), or keep a ledger for each: mmopt ledger create FILE --data-set "
                f"{shlex.quote(terms.data_set)} --{terms.measure} TOTAL "
                f"--neighbours {shlex.quote(str(neighbours))}",
            )

    def _cost(self, account: Account, neighbours: str, rho: float | None, epsilon: float | None) -> Fraction:
        """The cost of the release; errors as ``spend``."""
        self._refuse_terms(account, neighbours)
        terms = account.terms
        cost = cost_in(terms.measure, rho, epsilon)
        if cost > left(account, self.part):
            raise self._exceeded(account, f"the release costs {terms.measure} {shown(cost)}, and ")
        return cost

    def _exceeded(self, account: Account, cost: str) -> PrivacyError:
        """The error for a release that costs more than is left; ``cost`` says what it costs, if known."""
        what, remaining = account.terms.measure, left(account, self.part)
        amount = f"{what} {shown(remaining, is_left=True)}" if remaining >= LEAST_LEFT else "nothing"
        is_spent = remaining < NEXT_TO_NOTHING * account.terms.total
        advice = "no useful release of these rows is possible any more" if is_spent else "ask for less"
        advice = f"nothing was spent and no row was released; {advice}"
        others = [] if self.part is None else same_account(account.entries, self.part)
        where = "" if self.part is None else f" for the part '{self.part}'"
        if others:  # the same rows, as another copy of the table may spell their value
            where += f" (one account with {', '.join(map(repr, others))})"
        return PrivacyError(
            f"{cost}{amount} is left of {what} {shown(account.terms.total)}{where} in '{self.path}'",
            hint=f"{advice}: 'mmopt ledger show' lists what was spent on what",
            in_python=f"{advice}: mmopt.Ledger.load({str(self.path)!r}).frame() lists what was spent on what",
        )


@dataclass(frozen=True)
class Charge:
    """The charge of a release: its entry, and the account with it."""

    path: Path
    account: Account
    entry: Entry

    @property
    def words(self) -> str:
        """The entry in a sentence, for the message of a release that failed after it."""
        return (
            f"{self.account.terms.measure} {shown(self.entry.spent)} was spent before: entry "
            f"{self.entry.number} of the ledger '{self.path}' counts, whatever became of the release"
        )

    def section(self) -> dict[str, Any]:
        """The ledger's section of the manifest, nothing of the rows: costs rounded up, what is left down."""
        terms, entry = self.account.terms, self.entry

        return {
            "data_set": terms.data_set,
            "entry": entry.number,
            "measure": terms.measure,
            **({} if entry.part is None else {"part": {"column": terms.partition, "value": entry.part}}),
            "spent": above(entry.spent),
            "total": below(terms.total),
            "left": below(left(self.account, entry.part)),
        }

    def confirm(self, folder: Path, manifest: bytes) -> None:
        """Note in the ledger where the release is, and the hash of its manifest.

        Raises
        ------
        LedgerError : as ``ledger_file.confirm``; the message says that the release is complete all the same.
        """
        try:
            ledger_file.confirm(self.path, self.entry, str(folder), hashlib.sha256(manifest).hexdigest())
        except LedgerError as error:
            raise LedgerError(
                f"the release is complete in '{folder}', and entry {self.entry.number} of the ledger does "
                f"not say so: {error.message}",
                hint="it counts as spent, and the folder is whole: 'mmopt show' reads it",
            ) from None


# The deltas at which the epsilon of a rho is given.
DELTAS = (1e-6, 1e-9)


def epsilon_deltas(rho: Fraction) -> list[str]:
    """The texts ``(epsilon, delta)`` of a rho at each of ``DELTAS``, rounded up."""
    return [f"({rounded(str(epsilon_of(rho, delta)), 6, up=True)}, {delta:g})" for delta in DELTAS]


def explanation(account: Account) -> list[str]:
    """Paragraphs: what is counted, which theorem makes the total hold, and what it amounts to."""
    terms, used = account.terms, spent(account.entries, None)
    zcdp = terms.measure == "rho"
    zcdp_rules = (
        "Each release is rho-zCDP for the rho that its manifest states. Together they are zCDP for the "
        "sum (Bun and Steinke 2016, Lemma 1.7), also where later releases, and what they cost, were "
        "chosen after earlier answers were seen (Feldman and Zrnic 2021), since none is made that would "
        "pass the total.",
        "A release with Laplace noise satisfies pure epsilon, which is epsilon²/2-zCDP (Bun and Steinke "
        "2016, Proposition 1.4); so much is counted.",
    )
    pure_rules = (
        "Each release satisfies pure epsilon-DP. Together they satisfy it for the sum: basic composition "
        "(Dwork, McSherry, Nissim and Smith 2006), also where later releases, and what they cost, were "
        "chosen after earlier answers were seen (Rogers, Roth, Ullman and Vadhan 2016), since none is "
        "made that would pass the total.",
        "Releases with Gaussian noise are refused: they satisfy no pure epsilon.",
    )
    of_parts = (
        f"Releases of rows with one value of '{terms.partition}' compose in parallel: a row that is "
        "added or removed stands in one part, and releases of other parts do not depend on it. So what "
        "counts is what was spent on the whole table, and the most that was spent on one part (McSherry "
        "2009, Theorem 4; for rho by the same argument). It rests on that column having the same value "
        "for a row wherever the data set is read from. Names that may spell one value share an account: "
        "true and 1, 1,5 and 1.5, a day and its midnight. They are published in this ledger."
    )
    amounts = [
        f"{name}, rho {shown(rho)}, amounts to (epsilon, delta) = {' and '.join(epsilon_deltas(rho))} "
        "(Canonne, Kamath and Steinke 2020, Corollary 13)."
        for name, rho in (("What is spent", used), ("The total", terms.total))
        if zcdp
    ]
    return [
        f"The ledger of the data set '{terms.data_set}' allows {terms.measure} "
        f"{shown(terms.total, is_left=True)} in all; {shown(used)} is spent by "
        f"{counted(len(account.entries), 'release')}. The unit of privacy is that "
        f"of each release: {terms.neighbours}.",
        *(zcdp_rules if zcdp else pure_rules),
        *([] if terms.partition is None else [of_parts]),
        *(amounts or ["It holds with delta = 0, and so at every delta."]),
        "A release is charged before its noise is drawn, so one that was cut off is counted in full. Sums "
        "are exact fractions. What the ledger cannot know: whether a table that is given its data set's name "
        "is that data set; releases made without the ledger; an older copy of the file put in its place; a "
        "file that was moved while the journal of a killed process (FILE-journal) lay beside it; and "
        "deliberate changes to the file."
        + " Where a row may be replaced, each table must be all of the data set: a replaced row may leave a "
        "selection (a view, a filter), whose number of rows is published as it is."
        * terms.neighbours.startswith("replace-one"),
    ]


LARGEST_TOTAL = sys.float_info.max


@dataclass(frozen=True, repr=False)
class Ledger(Tabular):
    """A ledger of privacy spent, as it was when read. ``path`` is its file.

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
    ) -> "Ledger":
        """Create a ledger, in a new file.

        Parameters
        ----------
        data_set : the name that releases have to give. rho, epsilon : the total, in one of the two: of
            zero-concentrated privacy, in which all noise is counted, or of pure epsilon. A number means the
            decimal that it is written as: ten releases at 0.1 fit into a total of 1.
        neighbours : the unit of privacy of every release, as ``mmopt.release`` takes it.
        partition : a column; releases of the rows with one value of it compose in parallel. Only where
            neighbours differ by one row added or removed: the rows of a person may be in several parts, and a
            replaced row may move to another.

        Raises
        ------
        OptionError : names that a ledger cannot hold; a partition for another unit.
        PrivacyError : no total, both, or one that is not a finite double above 0.
        LedgerError : the file exists, or cannot be written.
        """
        checked_name("the data set", data_set)
        if partition is not None:
            checked_name("the partition", partition)
        if (rho is None) == (epsilon is None):
            raise PrivacyError(
                f"the total is rho {_total_text(rho)} and epsilon {_total_text(epsilon)}, expected one of "
                "the two",
                hint="--rho (rho= in Python) counts all noise, --epsilon only Laplace noise: name one",
            )
        measure: Measure = "rho" if epsilon is None else "epsilon"
        total: object = rho if epsilon is None else epsilon
        if isinstance(total, bool) or not isinstance(total, int | float) or not 0 < total < math.inf:
            raise PrivacyError(
                f"the total {measure} is {_total_text(total)}, expected a finite number above 0"
            )
        if total > LARGEST_TOTAL:  # sums are shown and explained in doubles
            raise PrivacyError(
                f"the total {measure} is {_total_text(total)}, expected at most {LARGEST_TOTAL:.3g}, the "
                "largest double"
            )
        unit = Neighbours.of(neighbours)
        if partition is not None and str(unit) != str(ADD_REMOVE):
            raise OptionError(
                f"the partition '{partition}' is declared for {unit}, and releases of parts compose in "
                "parallel for one row added or removed only",
                hint="leave the partition out: the rows of a person may stand in several parts, and a "
                "replaced row may move to another",
            )
        amount = Fraction(str(total))  # the decimal: 1/10 for 0.1
        terms = Terms(data_set, measure, amount, str(unit), partition, amount, ledger_file.now())
        ledger_file.create(Path(path), terms)
        return Ledger(Path(path), Account(terms))

    @staticmethod
    def load(path: str | Path) -> "Ledger":
        """Read a ledger from its file.

        Raises
        ------
        LedgerError : no such file, no ledger, one of a later version, damaged, or held by another process.
        """
        return Ledger(Path(path), ledger_file.read(Path(path)))

    @property
    def total(self) -> float:
        """The total that may be spent, rounded down."""
        return below(self.account.terms.total)

    @property
    def spent(self) -> float:
        """The cost of all releases together, rounded up."""
        return above(spent(self.account.entries, None))

    @property
    def left(self) -> float:
        """The amount left for a release of all rows, rounded down; below 0 where the total was lowered."""
        return below(left(self.account))

    def left_for(self, part: str) -> float:
        """The amount left for a release of one part, rounded down; OptionError without a partition."""
        if self.account.terms.partition is None:
            raise OptionError(f"'{self.path}' declares no partition, and so no part '{part}'")
        return below(left(self.account, part))

    def explain(self) -> str:
        """Why the total holds: what is counted, by which theorems, and what it amounts to."""
        return "\n\n".join(explanation(self.account))

    def rows(self) -> list[tuple[str, str]]:
        """The terms, the amount spent and the amount left: (name, text)."""
        terms, used = self.account.terms, spent(self.account.entries, None)
        remaining, what = left(self.account), terms.measure
        lowered = "" if terms.total == terms.declared else f", lowered since from {shown(terms.declared)}"
        overspent = "" if remaining >= 0 else "; MORE THAN THE TOTAL: nothing can be released"
        amounts = f"(epsilon, delta) = {', '.join(epsilon_deltas(used))}" if what == "rho" else ""
        rows = [
            ("data set", terms.data_set),
            ("total", f"{what} {shown(terms.total)}{lowered} ({MEASURES[what]})"),
            ("spent", f"{what} {shown(used)}{overspent}"),
            *([("amounts to", amounts)] if amounts else []),
            ("left", f"{what} {shown(max(remaining, Fraction(0)), is_left=True)}"),
            ("neighbours", Neighbours.of(terms.neighbours).words),
            ("created", terms.created),
        ]
        if terms.partition is not None:
            parts = [
                *((f"left for '{part}'", left(self.account, part)) for part in self._parts()),
                ("left for other parts", left_for_new_part(self.account)),
            ]
            rows += [
                ("partition", f"by '{terms.partition}': the largest sum over its parts counts"),
                *(
                    (name, f"{what} {shown(max(left_there, Fraction(0)), is_left=True)}")
                    for name, left_there in parts
                ),
            ]
        if unconfirmed := [str(entry.number) for entry in self.account.entries if entry.state == "spent"]:
            rows.append(("not confirmed", f"{', '.join(unconfirmed)}: no folder is known; counted in full"))
        return rows

    def _parts(self) -> list[str]:
        """The parts with a release, one name for each."""
        names: dict[frozenset[str], str] = {}
        for entry in self.account.entries:
            if entry.part is not None:
                names.setdefault(readings(entry.part), entry.part)
        return list(names.values())

    def frame(self) -> Frame:
        """A row for each release: its cost, rounded up, its time, workload and folder."""
        entries = self.account.entries
        texts = ("time", "workload", "workload_hash", "part", "state", "folder", "manifest_hash")
        return Frame(
            {
                "entry": np.array([entry.number for entry in entries], dtype=np.int64),
                "spent": np.array([above(entry.spent) for entry in entries], dtype=np.float64),
                "exactly": texts_column(str(entry.spent) for entry in entries),
                **{name: texts_column(getattr(entry, name) for entry in entries) for name in texts},
            },
            {"data_set": self.account.terms.data_set, "measure": self.account.terms.measure},
        )

    def summary(self) -> dict[str, Any]:
        """The whole ledger as one JSON object; costs in doubles rounded outward, and as fractions."""
        terms = self.account.terms
        return {
            "data_set": terms.data_set,
            "measure": terms.measure,
            "total": self.total,
            "total_exactly": str(terms.total),
            "declared_exactly": str(terms.declared),
            "spent": self.spent,
            "spent_exactly": str(spent(self.account.entries, None)),
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
        return (
            f"Ledger('{terms.data_set}', {len(self.account.entries)} entries, "
            f"{what} {shown(spent(self.account.entries, None))} spent of {shown(terms.total)} when read)"
        )


def _total_text(total: object) -> str:
    """The text of a given total; a whole number beyond doubles, which Python may not print, by its size."""
    if isinstance(total, int) and abs(total) > LARGEST_TOTAL:
        return f"about {'-' if total < 0 else ''}10^{math.log10(abs(total)):.0f}"
    return repr(total)


def _fields(entry: Entry) -> dict[str, Any]:
    """An entry for JSON; its cost as a double, rounded up, and as a fraction."""
    fields = {name: getattr(entry, name) for name in entry.__dataclass_fields__ if name != "spent"}
    return {**fields, "spent": above(entry.spent), "spent_exactly": str(entry.spent)}
