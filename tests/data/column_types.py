"""One column of every common type of each engine, and what it is to ``init``, ``check`` and a release."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import pytest

from mmopt.data import check_columns, data_vector, marginal_counts, schema_columns
from mmopt.errors import DataError
from mmopt.workloads import Workload

MONTHS = {"range": ["2020-01-01", "2020-03-01"], "width": "month"}
BERLIN = {**MONTHS, "zone": "Europe/Berlin"}
TEXTS, NUMBERS, TRUTH = {"values": ["a", "b"]}, {"bins": [0, 1, 2]}, {"values": [False, True]}
UUIDS = {"values": ["00000000-0000-0000-0000-00000000000a", "00000000-0000-0000-0000-00000000000b"]}

#: By kind of a column in a draft: a form of it in which the value of each row below is in the second cell.
FORMS: dict[str, dict[str, Any]] = {
    "values": TEXTS,
    "numbers": NUMBERS,
    "truth": TRUTH,
    "dates": MONTHS,
    "instants": BERLIN,
    "uuid": UUIDS,
}
#: One hour after midnight in Berlin, on the first of February, is another day in UTC.
INSTANT = "2020-01-31 23:30:00+00:00"


class Column(NamedTuple):
    """A type, a value of it in SQL, and the kind of the column in a draft: "" for one that is refused."""

    type: str
    value: str
    kind: str


def as_select(columns: Sequence[Column], quote: str = '"') -> str:
    """A query with a row of all values, and one of NULLs."""
    names = [f"{quote}c{i}{quote}" for i in range(len(columns))]
    values = ", ".join(
        f"CAST({one.value} AS {one.type}) AS {name}" for one, name in zip(columns, names, strict=True)
    )
    nulls = ", ".join(f"CAST(NULL AS {one.type})" for one in columns)
    return f"SELECT {values} UNION ALL SELECT {nulls}"


def workload_of(forms: Mapping[str, dict[str, Any]]) -> Workload:
    domain = {name: {**form, "missing": {"cell": "missing"}} for name, form in forms.items()}
    return Workload.of(domain=domain, workload=[{"marginals": {"ways": 1}}])


def refusal_of(data: object, forms: Mapping[str, dict[str, Any]], **options: Any) -> str:
    """The message of an early check."""
    asked = workload_of(forms)
    with pytest.raises(DataError) as caught:
        check_columns(data, asked.domain, workload=asked, **options)
    return str(caught.value)


def judge(
    columns: Sequence[Column], data: Any, follow: Callable[[str, str], Any] | None, **options: Any
) -> None:
    """Check and count each column, or see it refused alike; what a refusal proposes has to work.

    follow : from a name and SQL for its value the table of that value; None where there is no SQL to follow.
    """
    kinds = {f"c{i}": one.kind for i, one in enumerate(columns)}
    asked = workload_of({name: FORMS[kind] for name, kind in kinds.items() if kind})
    check_columns(data, asked.domain, workload=asked, **options)
    counts = marginal_counts(data, asked, **options)
    for i, name in enumerate(asked.domain.names):
        assert counts.of((i,)).tolist() == [0, 1, 1], columns[int(name[1:])]
    at = {kind: name for name, kind in kinds.items()}
    for kind in {"instants", "dates"} & set(at):
        other = {"instants": MONTHS, "dates": BERLIN}[kind]
        words = refusal_of(data, {at[kind]: other}, **options)
        hint = "write '{}: {{…, zone: Europe/Berlin}}'" if kind == "instants" else "leave its zone out"
        assert hint.format(at[kind]) in words, (columns, words)
    for i, one in enumerate(columns):
        if one.kind:
            continue
        words = refusal_of(data, {f"c{i}": TEXTS}, **options)
        assert f"column 'c{i}' is of type " in words, (one, words)
        proposed = words.partition("for instance ")[2]
        assert proposed, words
        if follow is not None:
            with pytest.raises(DataError) as caught:
                data_vector(data, workload_of({f"c{i}": TEXTS}), **options)
            assert str(caught.value) == words
            is_text = "CAST" in proposed or "host" in proposed or "->>" in proposed
            form = TEXTS if is_text else {"bins": ["open", -2, -1]}
            asked = workload_of({f"c{i}": {**form, "outside": {"cell": "other"}}})
            assert data_vector(follow(f"c{i}", proposed), asked).counts.tolist() == [0, 0, 1, 1], (
                one,
                proposed,
            )


def judge_draft(columns: Sequence[Column], data: Any, table: str | None = None) -> None:
    """Check that a draft has each column as what it is."""
    kinds, _, uncounted = schema_columns(data, table)
    for i, one in enumerate(columns):
        assert kinds[f"c{i}"] == ("values" if one.kind == "uuid" else one.kind or "unknown"), one
        assert (f"c{i}" in uncounted) == (not one.kind), one
