"""Which tables are neighbours: the set of changes that noise has to hide, and the sensitivity to it.

The counts of a table are x, those of its neighbour x + Σ s_c e_c. The sensitivity of a strategy A to a set of
changes is the largest norm of Σ s_c a_c over them, a_c its columns:

- add-remove: one row, ±a_c; the largest column.
- rows k: up to k rows of one person, added or removed: k times that, which is reached in one cell. With a
  ``column`` that names the person, of whose rows at most k are counted (``mmopt.data.counted_rows``), it is
  the set of all changes by one person, however many rows there are.
- replace-one: a row that moves, a_c - a_d; where rules drop rows also ±a_c (``may_drop``).
- participation: the rows of one person in a stream, whose steps are the cells in order, at most one in a
  step, each added or removed, in at most k steps, any two at least b apart (``numerics.participation``).
"""

import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, assert_never, get_args

import numpy as np

from mmopt.errors import Error, OptionError, PrivacyError, counted
from mmopt.numerics import (
    Array,
    column_norms,
    largest_column_distance,
    most_steps,
    participation_norm,
    times_up,
)
from mmopt.workloads import Workload

Kind = Literal["add-remove", "replace-one", "rows", "participation"]

#: The most rows or steps of one person, and steps between two, that exact integers have room for.
MOST_OF_A_PERSON = 2**20

# What a workload file may say, for messages.
_FORMS = "'add-remove', 'replace-one', {'rows': k} or {'participation': {'separation': b, 'at_most': k}}"

_OF_EACH = " of each "  # between a number of rows and the column that names the person

_UNCHECKED = "that nobody has more is assumed, not checked"  # in what ``words`` say of a person's rows


class _Row(NamedTuple):
    """A kind of neighbours: its texts, with places for its numbers, and the fields that it has.

    name : as ``Neighbours.of`` reads it. change : the difference of two tables, and what nothing checks.
    unit : what the guarantee protects. is_multiple : whether the sensitivity is ``at_most`` times the largest
    column norm.
    """

    name: str
    change: str
    unit: str
    has: tuple[str, ...]
    is_multiple: bool


_PERSON = "one person, taken to have at most {rows}"
_ROWS: Mapping[tuple[str, bool], _Row] = MappingProxyType(
    {  # by kind, and whether a column names the person
        ("add-remove", False): _Row("add-remove", "one row added or removed", "one row", (), True),
        ("replace-one", False): _Row("replace-one", "one row replaced", "one row", ("may_drop",), False),
        ("rows", True): _Row(
            f"rows {{k}}{_OF_EACH}{{column}}",
            "one {column} added or removed (all rows with one value of that column), of which at most "
            "{rows} {are} counted",
            "one {column}: all rows with one value of that column, of which at most {rows} {are} counted",
            ("at_most", "column"),
            True,
        ),
        ("rows", False): _Row(
            "rows {k}",
            f"up to {{k}} rows of one person, added or removed; {_UNCHECKED}",
            _PERSON,
            ("at_most", "column"),
            True,
        ),
        ("participation", False): _Row(
            "participation separation {b} at most {k}",
            "the rows of one person: one in a step, added or removed, in at most {k} steps (the cells in "
            f"order), any two at least {{b}} apart; {_UNCHECKED}",
            _PERSON,
            ("at_most", "separation"),
            False,
        ),
    }
)


@dataclass(frozen=True, repr=False)
class Neighbours:
    """A set of neighbours.

    Parameters
    ----------
    kind : see the module. at_most : rows, or steps, of one person. separation : of two of these steps.
    may_drop : a replaced row may be one that rules drop: then it counts as added or removed.
    column : of rows of one person: the column of the table that names the person, of whose rows at most
        ``at_most`` are counted; "" where the table is assumed to have no more.

    Raises
    ------
    OptionError : another kind; numbers that are not whole, below 1, or above ``MOST_OF_A_PERSON``; a number
        or a rule that the kind does not have; a column that is no text.
    """

    kind: Kind = "add-remove"
    at_most: int = 1
    separation: int = 1
    may_drop: bool = False
    column: str = ""

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise OptionError(f"neighbours is {self.kind!r}, expected {_FORMS}")
        most = "rows" if self.kind == "rows" else "at_most"
        for name, value in ((most, self.at_most), ("separation", self.separation)):
            if isinstance(value, bool) or not isinstance(value, int):
                raise OptionError(f"'{name}' of neighbours is {value!r}, expected a whole number")
            if not 1 <= value <= MOST_OF_A_PERSON:
                raise OptionError(
                    f"'{name}' of neighbours is {value}, expected 1 to {MOST_OF_A_PERSON:,}",
                    hint="it counts the rows, or the steps, of one person",
                )
        if not isinstance(self.may_drop, bool):
            raise OptionError(f"'may_drop' of neighbours is {self.may_drop!r}, expected True or False")
        if not isinstance(self.column, str):
            raise OptionError(f"'column' of neighbours is {self.column!r}, expected the name of a column")
        for name in ("at_most", "separation", "may_drop", "column"):
            if name not in _ROWS[self.kind, False].has and getattr(self, name) != getattr(Neighbours, name):
                raise OptionError(
                    f"'{name}' of neighbours is {getattr(self, name)!r}, but {self.kind} has none"
                )

    @staticmethod
    def of(value: object) -> "Neighbours":
        """The set that a value names: a word or mapping as in a workload file, words of a manifest, or a set.

        Raises
        ------
        OptionError : anything else, as ``Neighbours``.

        >>> Neighbours.of({"participation": {"separation": 4, "at_most": 2}})
        Neighbours.of('participation separation 4 at most 2')
        """
        wrong = OptionError(
            f"neighbours is {value!r}, expected {_FORMS}",
            hint="in words 'rows 3', 'rows 3 of each person' (a column) or "
            "'participation separation 4 at most 2'",
        )
        match value:
            case Neighbours():
                return value
            case str():
                words, of_each, column = value.partition(_OF_EACH)
                neighbours = _of_words(words.split(), wrong)
                return replace(neighbours, column=column) if of_each else neighbours
            case {"column": _, "rows": _, **rest} if not rest:
                return unit_of(value)
            case {"rows": k, **rest} if not rest:
                return Neighbours("rows", k)
            case {"participation": {"separation": b, "at_most": k, **more}, **rest} if not (more or rest):
                return Neighbours("participation", k, b)
        raise wrong

    def over(self, workload: Workload) -> "Neighbours":
        """This set for the tables of a workload: whether rules drop rows.

        Raises
        ------
        PrivacyError : rows that may be dropped, where no rule of the workload drops any; a participation in
            anything but the cells of one attribute, which are its steps in order, or with a cell for rows of
            no step: its distance from another step means nothing.
        """
        match self.kind:
            case "add-remove" | "rows":
                return self
            case "replace-one":
                if self.may_drop and not workload.domain.may_drop:
                    raise PrivacyError(
                        "these neighbours may drop a row, and no rule of the workload drops rows",
                        hint="write 'missing: drop' for an attribute, or leave out may_drop",
                    )
                return replace(self, may_drop=workload.domain.may_drop)
            case "participation":
                names = [a.name for a in workload.domain.attributes]
                if len(names) != 1:
                    raise PrivacyError(
                        "a participation is one in steps, the cells of one attribute; there are "
                        f"{len(names)} attributes ({', '.join(names)})",
                        hint="ask about the steps alone, or write 'neighbours: {rows: k}' for persons with "
                        "k rows",
                    )
                (steps,) = workload.domain.attributes
                for key, rule in (("missing", steps.missing), ("outside", steps.outside)):
                    if rule not in ("", "refuse", "drop"):
                        raise PrivacyError(
                            f"a participation is one in steps, the cells of '{steps.name}' in order; its "
                            f"cell '{rule}' takes rows that are in no step ({key})",
                            hint=f"write '{key}: drop' or '{key}: refuse', or 'neighbours: {{rows: k}}' for "
                            "persons with k rows",
                        )
                return self
            case _:
                assert_never(self.kind)

    def __str__(self) -> str:
        """A few words, which ``of`` reads."""
        return self._filled(self._row.name)

    def __repr__(self) -> str:
        return f"Neighbours.of('{self}')"

    @property
    def _row(self) -> _Row:
        """Its row; KeyError for a kind without one."""
        return _ROWS[self.kind, bool(self.column)]

    def _filled(self, text: str) -> str:
        """A text of ``_ROWS`` with the numbers and the column of this set in its places."""
        k, are = self.at_most, "is" if self.at_most == 1 else "are"
        return text.format(k=k, b=self.separation, rows=counted(k, "row"), are=are, column=self.column)

    @property
    def words(self) -> str:
        """The difference of two neighbouring tables, in words, and the part of it that nothing checks."""
        return f"{self}: tables that differ by {self._filled(self._row.change)}"

    @property
    def unit(self) -> str:
        """The unit that the guarantee protects, in words: one row, or a person with so many of them."""
        return self._filled(self._row.unit)

    @property
    def times(self) -> int | None:
        """The sensitivity over the norm of the largest column, exactly; None where it does not decide."""
        return self.at_most if self._row.is_multiple else None

    @property
    def is_one_row(self) -> bool:
        """Whether a change is one column, of either sign."""
        return self.times == 1

    @property
    def keeps_total(self) -> bool:
        """Whether all neighbours have the same number of counted rows: rows move, and none is dropped."""
        return self.kind == "replace-one" and not self.may_drop

    def sensitivity(self, matrix: Array, norm: int) -> float:
        """The sensitivity of a finite matrix (p, n), rounded upwards.

        For a participation see ``participation_norm``.
        """
        match self.kind:
            case "add-remove" | "rows":
                return float(times_up(self.at_most, column_norms(matrix, norm).max()))
            case "replace-one":
                moved = largest_column_distance(matrix, norm)
                return max(moved, float(column_norms(matrix, norm).max())) if self.may_drop else moved
            case "participation":
                return participation_norm(matrix, norm, self.separation, self.at_most)
            case _:
                assert_never(self.kind)

    def share(self, d: Array) -> float:
        """c such that the squared sensitivity in the L2 norm is at least c Σ d_i ‖a_i‖² / Σ d_i, d >= 0 (n,).

        k² for k rows; nothing for replaced rows, unless they may be dropped. For a participation: cut the
        steps r, r + b, r + 2b, … for each r into runs of k. They are patterns, the squared sensitivity is at
        least Σ ‖a_i‖² over each (the mean over signs), so Σ d_i ‖a_i‖² is at most it times the sum over the
        runs of the largest d_i.
        """
        match self.kind:
            case "add-remove" | "rows":
                return float(self.at_most**2)
            case "replace-one":
                return float(self.may_drop)
            case "participation":
                n, b, k = len(d), self.separation, most_steps(len(d), self.separation, self.at_most)
                starts = [(r, at) for r in range(min(b, n)) for at in range(0, len(d[r::b]), k)]
                total = math.fsum(d[r::b][at : at + k].max() for r, at in starts)
                return max(1.0, float(np.sum(d)) / total * (1.0 - 1e-12)) if total > 0 else 1.0
            case _:
                assert_never(self.kind)

    def refuse_weight(self, weight: str | None, kind: type[Error]) -> None:
        """Raise an error of this kind where the rows of a person cannot be told apart: a line has several."""
        if self.column and weight is not None:
            raise kind(
                f"unit has the column '{self.column}' of persons, and data the weight '{weight}': the rows "
                "of a line are not told apart",
                hint="use the table before it was aggregated, or 'unit: {rows: k}' where nobody has more; "
                "of a survey's rows, one per line, leave the weight out",
            )

    def refuse_totals(self, totals: object, kind: type[Error]) -> None:
        """Raise an error of this kind where totals are given, and only some rows of a person are counted."""
        if self.column and totals:
            raise kind(
                f"totals are of rows that were counted, and of each person in '{self.column}' only some "
                "were: no such total is public",
                hint="leave totals out",
            )

    def fields(self) -> dict[str, Any]:
        """The numbers of the set, to be saved."""
        return asdict(self)


def unit_of(value: object) -> Neighbours:
    """The set of neighbours of a unit of privacy, {"rows": k} or {"column": name, "rows": k}; or a set.

    Raises
    ------
    OptionError : anything else, as ``Neighbours``.

    >>> unit_of({"column": "person", "rows": 3}).unit
    'one person: all rows with one value of that column, of which at most 3 rows are counted'
    """
    if isinstance(value, Neighbours):
        return value
    if not isinstance(value, Mapping) or set(value) not in ({"rows"}, {"column", "rows"}):
        raise OptionError(f"unit is {value!r}, expected {{'rows': k}} or {{'column': name, 'rows': k}}")
    column = value.get("column", "")
    if "column" in value and not (isinstance(column, str) and column):
        raise OptionError(f"'column' of unit is {column!r}, expected the name of a column")
    return Neighbours("rows", value["rows"], column=column)


_is_count = re.compile("[0-9]{1,18}").fullmatch


def _of_words(words: list[str], wrong: OptionError) -> Neighbours:
    """The set that these words name, but for a column; ``wrong`` is raised for others."""
    match words:
        case [("add-remove" | "replace-one") as kind]:
            return Neighbours(kind)
        case ["rows", k] if _is_count(k):
            return Neighbours("rows", int(k))
        case ["participation", "separation", b, "at", "most", k] if _is_count(b) and _is_count(k):
            return Neighbours("participation", int(k), int(b))
    raise wrong


#: One row added or removed: the default.
ADD_REMOVE = Neighbours()

#: An argument of callers, which ``Neighbours.of`` reads.
NeighboursLike = Neighbours | str | Mapping[str, Any]
