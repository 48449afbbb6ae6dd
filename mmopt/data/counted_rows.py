"""The rows that are counted, as codes of cells: by rules, persons, parts and weights.

``coded_rows`` turns the rows of an opened table into codes of cells, one column for each attribute: an
expression, not yet computed. Rules decide into which cell a code counts, and which rows are refused. A weight
is the column of an aggregated table with the number of rows that each line stands for. A part of a table is
its rows with one value of a column; no two parts share a row.

At most k rows of each person are counted, and that person's rows alone decide which. The rows of a person
that no rule drops are ordered by a hash of their codes, the person and a public text, and the first k are
kept. Rows with equal codes are interchangeable, as only codes are counted: they get the numbers 0, 1, …,
which are hashed, too, so that each of a person's rows is as likely as any other to be kept. As this
is so for each person alone, many are dealt with share by share, in the memory of one share.

Theorem: let one table be another with the rows of one more person. Then the same rows of everybody else are
kept in both, up to equal codes, and at most k of that person: the counts differ by at most k rows, all in the
same direction, which is one of the changes of ``Neighbours.of({"rows": k})``. Proof: each window holds the
rows of one person, and depends on that person's codes alone. It is the bounding of a user's contributions of
Wilson et al., PoPETs 2020, by a hash in place of a sample: whatever sets of attributes are counted, the same
rows are kept.
"""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmopt.data.cell_codes import (
    CONVENTIONS,
    HEADER,
    MISSING,
    OTHERWISE,
    OUTSIDE,
    SPELLINGS,
    STRAYS,
    UNREADABLE,
    USUAL,
    USUAL_WORDS,
    code_of,
    declared_kinds,
    doubles_spelled,
    in_our_way,
    loosened,
    reading_of,
    shown_type,
    typed,
    without_words,
)
from mmopt.data.draft_workload import null_key
from mmopt.data.open_table import OF_PERSONS, TableColumns, is_table
from mmopt.data.table_files_and_connections import called, hash_of, ibis
from mmopt.errors import DataError, counted
from mmopt.numerics.arrays import grouped
from mmopt.privacy.rounding.norms_and_measured_integers import MAX_ROWS
from mmopt.request.domain_data_and_query_keys import SPELLING_RULES, is_delimiter, spelling_problem
from mmopt.strategies import Neighbours
from mmopt.workloads import Attribute, Bins, Domain, Workload, attribute_uses

#: The faults of a weight that is no count; the code of each is its place, from 1 on.
_FAULTS = (
    "missing (NULL, empty, NaN or listed under null)",
    "no number",
    "negative",
    f"above {MAX_ROWS}",
    "no whole number",
)

#: Codes of faults, 0 for none among them.
FAULTS = len(_FAULTS) + 1


def _of_kinds(kinds: Sequence[str], column: Any, table: str, name: str, use: str, hint: str) -> Any:
    """The column as ``typed``, of one of these kinds of Ibis types; else DataError, with its ``use``."""
    column = typed(column)
    kind = column.type()
    if not any(getattr(kind, f"is_{one}")() for one in kinds):
        raise DataError(f"{table}: column '{name}' is of type {shown_type(kind)}{use}", hint=hint)
    return column


def weights_of(
    column: Any, table: str, name: str, null: Sequence[str], spelling: str = "exact"
) -> dict[str, Any]:
    """Ibis integer expressions: ``fault``, 0 or its code (``_FAULTS``), and ``weight``, 0 where there is one.

    Raises
    ------
    DataError : the column is of a type that holds no numbers.
    """
    use = "; the weight of a line is a whole number"
    hint = "name another column with 'weight', or leave it out: each line is a row then"
    column = _of_kinds(("string", "integer", "floating", "decimal"), column, table, name, use, hint)
    is_text = column.type().is_string()
    column = in_our_way(without_words(column, null), ("numbers",), spelling) if is_text else column
    number = doubles_spelled(column) if is_text else column.cast("float64")
    exact = column if column.type().is_decimal() else number
    tests = (
        column.isnull() | number.isnan(),
        number.isnull(),
        number < 0,
        number > float(MAX_ROWS),
        exact != exact.floor(),
    )
    codes = ((test, ibis.literal(code, "int64")) for code, test in enumerate(tests, 1))
    fault = ibis.cases(*codes, else_=0).cast("int64")
    # Doubles hold all whole numbers up to MAX_ROWS.
    return {"fault": fault, "weight": (fault == 0).ifelse(number, 0.0).cast("int64")}


def refuse_weights(
    table: str, name: str, faults: NDArray[np.int64], lines: NDArray[np.int64], rows: NDArray[np.int64]
) -> None:
    """Raise for weights that are no counts, or count too many rows: how many lines, never values.

    Parameters
    ----------
    faults, lines, rows : for each group of lines: the code of its fault, the number of lines, and
        the number of rows that they stand for.
    """
    wrong = [
        f"{counted(int(lines[faults == code].sum()), 'line')} {fault}"
        for code, fault in enumerate(_FAULTS, 1)
        if lines[faults == code].any()
    ]
    if wrong:
        raise DataError(
            f"{table}: column '{name}' is the weight of each line, a whole number from 0 to {MAX_ROWS}; "
            f"found (confidential, do not publish) {', '.join(wrong)}",
            hint="correct the table, or leave such lines out of it"
            + "; weights of a survey count no rows, and weighted totals are not released: leave the weight "
            "out, and each line is a row" * wrong[-1].endswith(_FAULTS[-1]),
        )
    if int(rows.sum()) > MAX_ROWS:
        raise DataError(
            f"{table}: the weights add up to more rows than the limit, {MAX_ROWS} (confidential, do not "
            "publish)"
        )


#: A column, and its value as a text.
Part = tuple[str, str]


def is_in_part(column: Any, table: str, part: Part) -> Any:
    """An Ibis boolean expression: whether the text of a row's value is that of the part, byte by byte.

    Their SHA-256 are compared, as ``f`` may equal ``F`` in a column of a database: then a row would be in two
    parts. NULL is in none.

    Raises
    ------
    DataError : a column of neither texts nor whole numbers; values of other types have several texts.
    """
    use = ", and a partition is by texts or whole numbers"
    hint = "make a column of texts of it in every copy of the table"
    column = _of_kinds(("string", "integer"), column, table, part[0], use, hint)
    return (hash_of(column.cast("string")) == hashlib.sha256(part[1].encode()).hexdigest()).fill_null(False)


def wanted_columns(
    data: object,
    domain: object,
    workload: Workload | None,
    table: str | None,
    weight: str | None,
    delimiter: str | None,
    part: Part | None,
    unit: object,
    null: object = (),
    spelling: object = "exact",
) -> tuple[dict[str, str], Neighbours | None]:
    """The columns that are read, each with its purpose; and the unit, where a column of it names persons.

    Raises
    ------
    DataError : arguments of other types; a column of persons as well as weights, as a row of a line cannot be
        left out.
    """
    if not isinstance(unit, Neighbours | None):
        raise DataError(
            f"unit is of type {type(unit).__name__}, expected Neighbours or None",
            hint="write Neighbours.of({'column': 'person', 'rows': 3}), from mmopt.strategies",
        )
    persons = unit if unit is not None and unit.column else None
    if persons is not None:
        persons.refuse_weight(weight, DataError)
    if not (is_table(data) and isinstance(domain, Domain)):
        raise DataError(
            f"a {type(data).__name__} and a {type(domain).__name__} are given, expected a table (path, data "
            "frame, dictionary of columns or Ibis table) and a Domain",
            hint=_way_in(data),
        )
    if workload is not None and getattr(workload, "domain", None) != domain:
        raise DataError(
            "the workload says which columns are read, and is not over this domain",
            hint="give the domain of that workload: workload.domain, workload=workload",
        )
    for option, given in (("table", table), ("weight", weight), ("delimiter", delimiter)):
        if not isinstance(given, str | None):
            raise DataError(f"{option} is of type {type(given).__name__}, expected a text or None")
    if delimiter is not None and not is_delimiter(delimiter):
        raise DataError(
            f"the delimiter is {delimiter!r}, expected one character",
            hint="for example '~'; a quote or a line end cannot be one",
        )
    if not (isinstance(null, list | tuple) and all(isinstance(word, str) for word in null)):
        raise DataError(
            "null is not a list of texts, the words that stand for a missing value",
            hint="write null=['NA', '-9']; NULL, None, NaN and blank texts are missing without it",
        )
    if problem := spelling_problem(spelling):
        raise DataError(problem)
    attributes = attributes_to_read(domain, workload)
    uses = [
        *((column, f"attribute '{a.name}'") for a in attributes for column in (*a.above, a.column)),
        *([] if weight is None else [(weight, "the weight of each line")]),
        *([] if part is None else [(part[0], "the partition of the ledger")]),
    ]
    # Attributes may share a column; the first names it.
    wanted = {column: first for column, (first, *_) in grouped(uses).items()}
    if persons is not None:
        wanted[persons.column] = OF_PERSONS
    return wanted, persons


def _way_in(data: object) -> str:
    """A hint: what to pass in place of an object that is no table."""
    if type(data).__module__.partition(".")[0] == "pyspark":
        return "pass ibis.pyspark.connect(session), and the name of a table or view with table="
    if isinstance(data, list):
        return "make a data frame of the rows first: pandas.DataFrame(rows)"
    if hasattr(data, "collect"):
        return "collect the lazy frame first: data.collect()"
    return "the table comes first: 'people.csv', a data frame, {'age': [31, 52]}"


def attributes_to_read(domain: Domain, workload: Workload | None) -> tuple[Attribute, ...]:
    """The attributes whose columns are read."""
    uses = {} if workload is None else attribute_uses(workload)
    return tuple(a for a in domain.attributes if uses.get(a.name) != "none")


def targets_of(attribute: Attribute) -> NDArray[np.int64]:
    """The cell that each code counts into, -1 for the codes of dropped rows."""
    rules = [attribute.missing if code == MISSING else attribute.outside for code in range(STRAYS)]
    extra = [-1 if rule in ("", "refuse", "drop") else attribute.labels.index(rule) for rule in rules]
    return np.array([*range(attribute.size), *extra], dtype=np.int64)


def dropped_codes(attribute: Attribute) -> list[int]:
    """The codes of rows that are counted nowhere."""
    return np.flatnonzero(targets_of(attribute) < 0).tolist()


def refuse_rows(
    path: str,
    attributes: Sequence[Attribute],
    misfits: Sequence[Sequence[int]],
    total: int,
    unit: Neighbours | None,
    nobody: int,
    null: Sequence[str] = (),
    spelling: str = "exact",
) -> None:
    """Raise for rows that the rules refuse, or that name no person: how many, never values.

    Parameters
    ----------
    path : the table, for messages.
    misfits : for each attribute the numbers of rows with its codes that are no cell. total : all rows.
    nobody : the number of rows that name no person of the ``unit``. null, spelling : what data has already.
    """
    if unit is not None and nobody:
        raise DataError(
            f"{path}: column '{unit.column}' says whose a row is, and is missing (NULL, blank or in null) in "
            f"{counted(nobody, 'row')} (confidential, do not publish)",
            hint="leave such rows out of the table, or say whose they are",
        )
    refused: list[str] = []
    example: tuple[str, str] | None = None  # an attribute, and which of its rules
    wrong = ends = way = ""  # parts of the hint
    strays = np.zeros(STRAYS, dtype=np.int64)
    for attribute, count in zip(attributes, misfits, strict=True):
        outside = sum(count) - count[MISSING]
        parts = []
        if attribute.outside in ("", "refuse") and outside:
            kinds = _kinds_of_strays(attribute, count)
            parts.append(f"{outside:,} outside the declared domain{kinds and f' (of them {kinds})'}")
            strays += count
            example = example or (attribute.name, "outside")
            if (
                count[OUTSIDE]
                and isinstance(attribute.encoding, Bins)
                and attribute.encoding.edges[-1] != np.inf
            ):
                ends = f"; the right end of the last bin of '{attribute.name}' is outside, too"
            if count[UNREADABLE] == total - count[MISSING]:
                wrong = f"is '{attribute.column}' the right column? name another with 'column:', or "
            if 2 * sum(count[UNREADABLE:]) > total:
                way = f"mend how '{attribute.column}' is written or read: most rows have this problem"
        if attribute.missing in ("", "refuse") and count[MISSING]:
            parts.append(f"{count[MISSING]:,} {_FAULTS[0]}")
            example = example or (attribute.name, "missing")
        if parts:
            refused.append(
                f"\n    column '{attribute.column}' (attribute '{attribute.name}'): {', '.join(parts)}"
            )
    if example:
        name, rule = example
        rest = (
            " leaves them out; the label of a cell in place of 'drop' counts them in that cell; {} counts "
            "them in a new cell"
        )
        raise DataError(
            f"{path}: rows without a cell, of {total} (confidential, do not publish):" + "".join(refused),
            hint=wrong
            + (
                way
                or f"decide where they go in the workload file: '{name}: {{…, {rule}: drop}}'"
                f"{rest.format('{cell: a new label}')}{ends}"
            )
            + _mending(strays.tolist(), null, spelling),
            in_python=wrong
            + (
                way
                or f"say where they go: Domain.of({{{name!r}: {{…, '{rule}': 'drop'}}}})"
                f"{rest.format({'cell': 'a new label'})}{ends}"
            )
            + _mending(strays.tolist(), null, spelling, in_python=True),
        )


def _kinds_of_strays(attribute: Attribute, count: Sequence[int]) -> str:
    """In words, how many rows outside the domain are of each kind; no kind says "" of them."""
    no_kind = f"no {declared_kinds(attribute).removesuffix('s')}"
    return ", ".join(
        f"{counted(number, 'text')} that {'is' if number == 1 else 'are'} {of_kind}"
        for number, of_kind in zip(
            count[UNREADABLE:],
            (
                no_kind,
                "a usual word for missing, such as NA or -",
                "the name of the column, as in a header among the rows",
                *(f"declared but for {how}" for how in SPELLINGS),
                *(words for _, words, *_ in CONVENTIONS.values()),
            ),
            strict=True,
        )
        if number
    )


_HEADER = (
    "a header among the rows of a text file is left out so:\n"
    "    awk 'NR == 1 {h = $0} NR == 1 || $0 != h' old.csv > new.csv"
)
#: Words of ``CONVENTIONS`` whose texts may be of another one, and the question that decides it.
_UNSURE = {
    "thousands commas": "is 1,234 in it between 1 and 2? then write 'decimal comma' for 'thousands commas'",
    "MM/DD/YYYY": "is 01/02/2020 in it in February? then write DD/MM/YYYY for MM/DD/YYYY",
}


def _mending(count: Sequence[int], null: Sequence[str], spelling: str, *, in_python: bool = False) -> str:
    """Lines of the hint, by the numbers of rows with each code: keys of ``data``, or arguments, by which
    more is read."""
    usual = USUAL_WORDS if count[USUAL] else ("NA",) if count[UNREADABLE] else ()
    words = list(dict.fromkeys([*null, *usual]))
    declared = [rule for rule in spelling.split(", ") if rule != "exact"]
    rules = list(declared)
    names = zip(("loose",) * len(SPELLINGS) + tuple(CONVENTIONS), count[OTHERWISE:], strict=True)
    seen = sorted(dict.fromkeys(rule for rule, number in names if number), key=_UNSURE.__contains__)
    for rule in seen:
        if rule not in rules and not spelling_problem(", ".join([*rules, rule])):
            rules.append(rule)
    lines = [
        _HEADER if count[HEADER] else "",
        "a number is read as 1234.5, a day as 2020-12-31, and as 'spelling' names them in texts: "
        f"{', '.join(rule for rule in SPELLING_RULES if rule in CONVENTIONS)}; "
        "take other marks, such as % and €, out of the table first"
        if count[UNREADABLE]
        else "",
        "one spelling holds for all columns: name another, or write all numbers (or days) in one way first"
        if any(spelling_problem(", ".join([*declared, rule])) for rule in seen)
        else "",
        "is there a word for missing? list it under null" if usual else "",
        *(_UNSURE.get(rule, "") for rule in rules[len(declared) :]),
    ]
    if len(words) > len(null) or rules != declared:
        keys = [null_key(words)] if words else []
        listed = f"[{', '.join(rules)}]" if len(rules) > 1 else "".join(rules)
        keys += [f"spelling: {listed}"] if rules else []
        called_with = [f"null={words!r}"] * bool(words) + [f"spelling={', '.join(rules)!r}"] * bool(rules)
        lines.append(
            f"in the call: {', '.join(called_with)}"
            if in_python
            else f"in the workload file, with what else data has:\n    data: {{{', '.join(keys)}}}"
        )
    return "".join(f"\n  {line}" for line in lines if line)


#: The column that is 1 for rows that count, else 0.
KEPT = "kept"

#: The column that is 1 for rows that name no person, else 0.
NOBODY = "nobody"


def kept_rows(coded: Any, attributes: Sequence[Attribute], unit: Neighbours, salt: str) -> Any:
    """The codes of rows with ``KEPT`` and ``NOBODY``, in place of the column ``person``.

    Parameters
    ----------
    coded : Ibis table with a code for each attribute, in columns called ``code_name``, and ``person``.
    salt : a public text, the same wherever the same rows have to be kept.
    """
    names = [code_name(i) for i in range(len(attributes))]
    has_cell: Any = ibis.literal(True)
    for attribute, name in zip(attributes, names, strict=True):
        if out := dropped_codes(attribute):
            has_cell &= coded[name].notin(out)
    # With its hash: a database may equate persons that differ in case, or in blanks at the end.
    hashed = coded.mutate(has_cell=has_cell, hash_of_person=hash_of(coded.person))
    # Any order will do: rows of equal codes are equal. Spark wants one.
    equal = ibis.window(group_by=["person", "hash_of_person", *names], order_by=["person"])
    numbered = hashed.mutate(number=ibis.row_number().over(equal))
    parts = [ibis.literal(salt), *(numbered[name].cast("string") for name in (*names, "number", "person"))]
    ordered = numbered.mutate(
        place=hash_of(reduce(lambda text, part: text + ibis.literal("|") + part, parts))
    )
    by_person = ibis.window(group_by=["person", "hash_of_person", "has_cell"], order_by=["place"])
    ranked = ordered.mutate(rank=ibis.row_number().over(by_person))
    is_kept = ranked.has_cell & ranked.person.notnull() & (ranked["rank"] < unit.at_most)
    return ranked.select(
        *names,
        **{KEPT: ibis.ifelse(is_kept, 1, 0).cast("int16")},
        **{NOBODY: ibis.ifelse(ranked.person.isnull(), 1, 0).cast("int16")},
    )


def is_in_share(person: Any, share: tuple[int, int]) -> Any:
    """An expression of DuckDB: whether a person falls into one of several shares; NULL is in one, too.

    share : its place, and the number of shares.
    """
    return called("hash", "uint64", person) % share[1] == share[0]


def person_of(column: Any, table: str, name: str, null: Sequence[str] = ()) -> Any:
    """The person of a row, as a text that is the same on every engine.

    Raises
    ------
    DataError : a column of a type whose texts differ between engines, such as floating numbers.
    """
    use = "; a person is named by a text, a whole number, a day or a UUID"
    hint = (
        "convert the column first"
        + f" (whole numbers in pandas: .astype({{{name!r}: 'Int64'}}))" * column.type().is_floating()
        + ", or name another under 'unit'"
    )
    column = _of_kinds(("string", "integer", "uuid", "date"), column, table, name, use, hint)
    return without_words(column.cast("string"), null)


def _column(attribute: Attribute, columns: Any, table: str, null: Sequence[str]) -> Any:
    """The column of an attribute; of several the texts that are not missing, with "/" between.

    Missing where the first is. DataError : one of several is no column of texts or whole numbers.
    """
    if not attribute.above:
        return columns[attribute.column]
    kinds, use, hint = ("string", "integer"), ", and codes are texts or whole numbers", "convert it first"
    names = {name for label in attribute.labels for name in label.split("/")}
    null = [word for word in null if word not in names]  # Namibia's NA is a value
    return reduce(
        lambda path, text: text.isnull().ifelse(path, path + "/" + text),
        (
            without_words(_of_kinds(kinds, columns[name], table, name, use, hint).cast("string"), null)
            for name in (*attribute.above, attribute.column)
        ),
    )


#: Groups that come back from the engine at a time.
GROUPS_AT_A_TIME = 2**16


def code_name(place: int) -> str:
    """The name of the column with the codes of the attribute at this place among those that are read."""
    return f"code{place}"


def coded_rows(
    opened: TableColumns,
    attributes: Sequence[Attribute],
    weight: str | None,
    part: Part | None = None,
    unit: Neighbours | None = None,
    null: Sequence[str] = (),
    spelling: str = "exact",
    share: tuple[int, int] | None = None,
) -> Any:
    """An Ibis table with the code of each attribute, named by ``code_name``; called as ``TableColumns.rows``.

    With a weight also ``fault`` and ``weight``, of ``weights_of``; with a unit whose
    column names persons ``person``, for ``kept_rows``. Without these and without attributes only its number
    of rows has a meaning. With a part it has that part's rows alone, with a share of the unit's persons
    theirs.
    """
    rows, columns = opened.rows()
    if share is not None and unit is not None:  # before anything is computed: DuckDB does not move it here
        rows = rows.filter(is_in_share(columns[unit.column], share))
    coded = [
        (a, reading_of(a, _column(a, columns, opened.name, null), opened.name, spelling)) for a in attributes
    ]
    coded = [loosened(*one) for one in coded] if "loose" in spelling else coded
    lines = {} if weight is None else weights_of(columns[weight], opened.name, weight, null, spelling)
    in_part = {} if part is None else {"in_part": is_in_part(columns[part[0]], opened.name, part)}
    person = (
        {} if unit is None else {"person": person_of(columns[unit.column], opened.name, unit.column, null)}
    )
    if not (coded or lines or in_part or person):
        return rows
    to_code = {
        f"{name}{i}": expression
        for i, (_, one) in enumerate(coded)
        for name, expression in one.columns().items()
    }
    inner = rows.select(**to_code, **lines, **in_part, **person)
    if in_part:
        inner = inner.filter(inner.in_part)
    codes = {
        code_name(i): code_of(
            a, replace(one, **{name: inner[f"{name}{i}"] for name in one.columns()}), null
        ).cast("int16" if a.size + STRAYS < 2**15 else "int64")
        for i, (a, one) in enumerate(coded)
    }
    return inner.select(**codes, **{name: inner[name] for name in (*lines, *in_part, *person)})


@contextmanager
def nested_selects_kept() -> Iterator[None]:
    """Within, Ibis does not fuse a select of a select into one: a named expression is computed once a row.

    Else it would be computed at each use.
    """
    fuse_selects = ibis.options.sql.fuse_selects
    ibis.options.sql.fuse_selects = False
    try:
        yield
    finally:
        ibis.options.sql.fuse_selects = fuse_selects


def counts_by_group(coded: Any, by: Sequence[str], weight: str | None) -> Iterator[Any]:
    """The number of rows in each group of ``by`` that occurs, as batches of Arrow.

    With a weight the rows that its lines stand for, and the lines; with a unit also how many rows are kept,
    and how many name no person.
    """
    sums = {"rows": coded.count()} if weight is None else {"rows": coded.weight.sum(), "lines": coded.count()}
    sums |= {name: coded[name].sum() for name in (KEPT, NOBODY) if name in coded.columns}
    grouped = coded.group_by(list(by)).aggregate(**sums) if by else coded.aggregate(**sums)
    with nested_selects_kept():
        if grouped.get_backend().name == "duckdb":
            # Ibis 12 asks for batches through a call that DuckDB 2 has no more.
            batches: Any = grouped.to_pyarrow().to_batches()
        else:
            batches = grouped.to_pyarrow_batches(chunk_size=GROUPS_AT_A_TIME)
    yield from batches


def integers(result: Any, name: str) -> NDArray[np.int64]:
    """A column of counts; NULL, the sum of no rows, is 0."""
    return np.asarray(result[name].fill_null(0).to_numpy(), np.int64)
