"""A workload file as a whole, and workloads as callers pass them.

A ``Request`` holds the contents of a file: the queries, their domain, and the privacy. Arguments of
``Domain.of``, ``Domain.product`` and their like are read as in a workload file. Every function with a
workload accepts the same values, and refuses others with a hint. Where no program is named the workload
decides which one is solved. Python values become nodes, as ``yaml_tree.py`` makes them from text; the place
of such a node is its path: ``workload[2].product.age``.
"""

import difflib
import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import scipy.sparse

from mmopt.display_base_classes import Tabular
from mmopt.errors import (
    WORKLOAD_FILES,
    Location,
    OptionError,
    PrivacyError,
    TooLargeError,
    WorkloadError,
    placed,
    suggest,
)
from mmopt.installation_and_files import programs_folder
from mmopt.privacy.epsilon_delta_rho import Privacy, privacy_fault
from mmopt.privacy.noise import GAUSSIAN, LAPLACE
from mmopt.request.domain_data_and_query_keys import (
    ENTRY_OPTIONS,
    REFUSED,
    DomainNode,
    TableOptions,
    read_domain,
    read_products,
    read_rules,
    read_vocabularies,
)
from mmopt.request.yaml_tree import (
    MAX_DEPTH,
    MAX_NODES,
    ListNode,
    Map,
    Scalar,
    YamlNode,
    YamlText,
    check_text,
    decode,
    fail,
    integer,
    mapping,
    number,
    one_of,
    parse_tree,
    read_bytes,
    read_choice,
    record,
    require,
    resolve,
    text,
    too_large,
)
from mmopt.strategies import Neighbours
from mmopt.strategies.baselines import is_baseline
from mmopt.workloads import (
    AnyMatrix,
    Domain,
    Identity,
    Plain,
    Workload,
    is_frame,
    label_of,
    listed,
    plain_value,
)

FILE_KEYS = "the keys of a workload file"


def node_of(value: object, place: str) -> YamlNode:
    """The node of a value.

    Parameters
    ----------
    value : a text, number, truth value, None or date; a list, tuple, range, array, series or index of values;
        a categorical, read as the list of its categories; a dictionary of values.
    place : its name in messages.

    Raises
    ------
    WorkloadError : any other value, a text with a control character, an integer beyond 64 bits, a key that
        is not a text or is there twice, or values nested too deep. TooLargeError : too many values.
    """
    return _Converter().node(value, place, 1)


def domain_node(value: object) -> YamlNode:
    """The node of the key ``domain``: a Domain, or a dictionary; an attribute may be a list of its values."""
    if isinstance(value, Domain):
        return DomainNode(_place("domain"), 1, value)
    node = node_of(value, "domain")
    if not isinstance(node, Map):
        return node
    entries = (
        (key, Map(form.where, form.count, ((Scalar(form.where, 1, "values", "values"), form),)))
        if isinstance(form, ListNode)
        else (key, form)
        for key, form in node.entries
    )
    return Map(node.where, node.count, tuple(entries))


def file_node(values: Mapping[str, object]) -> Map:
    """The node of a dictionary with the keys of a workload file."""
    root = _Converter().mapping(
        {key: value for key, value in values.items() if key != "domain"}, _place("the dictionary"), "", 1
    )
    if "domain" not in values:
        return root
    node = domain_node(values["domain"])
    key = Scalar(_place("domain"), 1, "domain", "domain")
    return Map(root.where, root.count + node.count, ((key, node), *root.entries))


def united(first: object, more: Mapping[str, object], what: str) -> dict[str, object]:
    """Arguments in a dictionary and by keyword, as one dictionary; WorkloadError for one given twice."""
    if first is None:
        return dict(more)
    if not isinstance(first, Mapping):
        raise WorkloadError(
            f"a {type(first).__name__} is given, expected a dictionary or keywords: {what}",
            hint="Workload.load(path) reads a file"
            if isinstance(first, str | os.PathLike) and what == FILE_KEYS
            else "",
        )
    for key in more:
        if key in first:
            raise WorkloadError(f"'{key}' is given twice, in the dictionary and by keyword")
    return {**first, **more}


def key_place(place: str, key: str) -> str:
    """The place of the value of a key."""
    return f"{place}.{key}".removeprefix(".") if key.isidentifier() else f"{place}[{key!r}]"


def _place(name: str) -> Location:
    """The location of a value in Python, whose place has this name."""
    return Location(name, 0, 0)


@dataclass
class _Converter:
    """Nodes from values, and the ``total`` of values so far."""

    total: int = 0

    def node(self, value: Any, place: str, depth: int) -> YamlNode:
        """The node of a value at this place, so many levels deep; errors as ``node_of``."""
        where = _place(place)
        with placed(where):
            self.total += 1
            if self.total > MAX_NODES:
                raise TooLargeError(
                    f"more than {MAX_NODES:,} values",
                    hint="use range, bins, prefix or all_range instead of long lists",
                )
            if isinstance(value, set | frozenset):
                raise WorkloadError("a set has no order", hint="write a list: cells and queries have one")
            items = listed(value, MAX_NODES)
            if (items is not None or isinstance(value, Mapping)) and depth > MAX_DEPTH:
                raise WorkloadError(f"values are nested deeper than {MAX_DEPTH} levels")
            if isinstance(value, Mapping):
                return self.mapping(value, where, place, depth)
            if items is None:
                return _scalar(plain_value(value), where)
            nodes = tuple(self.node(item, f"{place}[{i}]", depth + 1) for i, item in enumerate(items))
            return ListNode(where, 1 + sum(node.count for node in nodes), nodes)

    def mapping(self, value: Mapping[Any, Any], where: Location, place: str, depth: int) -> Map:
        """The node of a dictionary; its values have the places of their keys."""
        entries: dict[str, tuple[Scalar, YamlNode]] = {}
        for key, inside in value.items():
            with placed(where):
                word = _scalar(plain_value(key), where)
                if not word.text:
                    raise WorkloadError(f"a key must be a non-empty text, found {key!r}")
                if word.text in entries:
                    raise WorkloadError(
                        f"the key '{word.text}' appears twice", hint="rename or remove one of them"
                    )
            at = key_place(place, word.text)
            if word.text == "column" and place.startswith(("domain.", "domain[")):
                # In data frames a column may be named by a tuple: it is read by its text.
                inside = str(inside) if isinstance(inside, tuple) else inside
            entries[word.text] = (
                Scalar(_place(at), 1, word.text, word.value),
                self.node(inside, at, depth + 1),
            )
        return Map(where, 1 + sum(1 + node.count for _, node in entries.values()), tuple(entries.values()))


def _scalar(value: Plain, where: Location) -> Scalar:
    """The node of a text, number, truth value or None; WorkloadError for one that no file could hold."""
    if isinstance(value, str):
        check_text(value)
    elif isinstance(value, int) and not isinstance(value, bool):
        resolve(str(value))  # integers beyond 64 bits
    return Scalar(where, 1, "" if value is None else label_of(value), value)


_OF_A_PERSON = ("rows", "participation")
_NEIGHBOURS = (
    *("add-remove", "replace-one", "{rows: k}"),
    "{participation: {separation: b, at_most: k}}",
)
_KEYS = ("domain", "predicates", "workload", "normalise", "privacy", "unit", "neighbours", "data", "known")


@dataclass(frozen=True, repr=False)
class Request(Tabular):
    """The contents of a workload file.

    Parameters
    ----------
    workload : domain, queries, weights and targets.
    privacy : the privacy to spend, or None.
    neighbours : which tables are neighbours, or those of its unit; None where the file has neither: then they
        are those of the program.
    path : the file, as given; "<Python>" for a dictionary.
    text_hash : sha256 of the file's bytes, hex; the workload's hash for a dictionary.
    table : how a table is read; ``data_vector`` takes its fields as keyword arguments.
    totals : the answers that are public, by the labels of their queries, None standing for all rows.
    """

    workload: Workload
    privacy: Privacy | None
    neighbours: Neighbours | None
    path: str
    text_hash: str
    table: TableOptions = field(default_factory=TableOptions)
    totals: Mapping[str | int | None, float] = field(default_factory=dict)

    def __repr__(self) -> str:
        privacy = "no privacy" if self.privacy is None else f"{self.privacy}"
        return f"Request({self.path}: {self.workload!r}, {privacy})"

    @staticmethod
    def of(described: Mapping[str, object] | None = None, /, **keys: object) -> "Request":
        """The Request of a dictionary with the keys of a workload file; errors as ``mmopt.Workload.of``.

        >>> import mmopt
        >>> request = mmopt.Request.of(
        ...     domain={"age": {"bins": [0, 18, 65]}}, workload=[{"marginal": ["age"]}], privacy={"rho": 0.5}
        ... )
        >>> request.privacy
        Privacy(epsilon=None, delta=None, rho=0.5)
        """
        given = {key: value for key, value in keys.items() if value is not None}
        request = read_request(file_node(united(described, given, FILE_KEYS)), "<Python>", "")
        return replace(request, text_hash=request.workload.hash)


def load_request(path: str | os.PathLike[str]) -> Request:
    """Read a workload file.

    Raises
    ------
    WorkloadError : the file cannot be read, or is no workload; with file, line and column.
    PrivacyError : its privacy parameters are invalid.
    TooLargeError : its domain or its explicit predicates pass a limit.
    """
    file = os.fspath(path)
    data = read_bytes(file)
    return read_request(
        parse_tree(YamlText.of(decode(data, file), file)), file, hashlib.sha256(data).hexdigest()
    )


def parse_request(text: str, file: str = "<text>") -> Request:
    """Read the text of a workload file; ``file`` is the name that errors show. Raises as ``load_request``."""
    text_hash = hashlib.sha256(text.encode("utf-8", errors="surrogatepass")).hexdigest()
    return read_request(parse_tree(YamlText.of(text, file)), file, text_hash)


def read_request(node: YamlNode, file: str, text_hash: str) -> Request:
    """The Request in the root of a file; ``file`` and ``text_hash`` become its fields."""
    root = record(node, "a workload file", _KEYS, ("domain", "workload"))
    rules, table = root.read("data", read_rules, (REFUSED, TableOptions()))
    domain, cells = read_domain(root.by_key["domain"], rules)
    vocabularies = read_vocabularies(root.get("predicates"), domain, cells)
    node = root.by_key["workload"]
    products = read_products(node, domain, vocabularies)
    if (count := sum(product.m for product in products)) >= 2**62:
        too_large(node, f"the workload has {float(count):.3g} queries, more than fit into 64-bit numbers")
    with placed(node.where):
        workload = Workload.from_products(domain, products)
    if root.read("normalise", lambda rows: read_choice(rows, "normalise", ("rows",)), ""):
        with placed(node.where):
            workload = workload.normalised()
    neighbours = None
    if (statement := root.get("neighbours")) is not None:
        if (unit := root.get("unit")) is not None:
            there = unit.where.inside(column=True)
            fail(statement, f"neighbours and unit ({there}) both say what is protected", "keep one of them")
        neighbours = _neighbours(statement)
        with placed(statement.where):
            neighbours.over(workload)
    elif (statement := root.get("unit")) is not None:
        neighbours = _unit(statement)
        with placed(statement.where):
            neighbours.refuse_weight(table.weight, WorkloadError)
    privacy, totals = root.read("privacy", _privacy, None), _known(root.get("known"), workload)
    if neighbours is not None and (statement := root.get("known")) is not None:
        with placed(statement.where):
            neighbours.refuse_totals(totals, WorkloadError)
    return Request(workload, privacy, neighbours, file, text_hash, table, totals)


def _known(node: YamlNode | None, workload: Workload) -> dict[str | int | None, float]:
    """The key ``known``: public answers by label, and that of all rows under ``total``."""
    entries = () if node is None else mapping(node, "known").entries
    labels = workload.labels() if entries else []
    for key, value in entries:
        if key.text == "total":
            rows = number(value, key.text)
            require(rows >= 0 and rows.is_integer(), value, f"{rows:g} is not a number of rows")
        elif (count := labels.count(key.text)) != 1:
            words = "no query has" if count == 0 else f"{count} queries have"
            parts = sorted(key.text.lower().split(", "))
            near = [label for label in labels if sorted(label.lower().split(", ")) == parts]
            near = near or difflib.get_close_matches(key.text, ("total", *labels), n=1)
            ask = "only a query of the workload has one ('mmopt accuracy' lists them): add it to the workload"
            fail(key, f"{words} the label '{key.text}'", suggest(key.text, near) if near else ask)
    return {None if key.text == "total" else key.text: number(value, key.text) for key, value in entries}


def _privacy(node: YamlNode) -> Privacy | None:
    """The key ``privacy``."""
    fields = record(node, "privacy", ("epsilon", "delta", "rho"))
    given: dict[str, float] = {
        key.text: number(value, key.text, finite=False) for key, value in fields.entries
    }
    if fault := privacy_fault(given.get("epsilon"), given.get("delta"), given.get("rho")):
        place: YamlNode = fields.by_key.get(fault.field, node)
        raise PrivacyError(fault.message, where=place.where, hint=fault.hint)
    return Privacy(**given)


def _unit(node: YamlNode) -> Neighbours:
    """The key ``unit``: the neighbours that differ by some rows of one person."""
    fields = record(node, "unit", ("column", "rows"), ("rows",))
    column = fields.read("column", lambda name: text(name, "column of unit"), "")
    try:
        return Neighbours("rows", integer(fields.by_key["rows"], "rows"), column=column)
    except OptionError as error:
        fail(fields.by_key["rows"], error.message.replace("of neighbours", "of unit"), error.hint)


def _neighbours(node: YamlNode) -> Neighbours:
    """The key ``neighbours``."""
    value: Any
    if not isinstance(node, Map):
        value = read_choice(node, "neighbours", _NEIGHBOURS)
    else:
        neighbours = record(node, "neighbours", _OF_A_PERSON)
        kind = one_of(neighbours, "neighbours", _OF_A_PERSON)
        content = neighbours.by_key[kind]
        if kind == "rows":
            value = {kind: integer(content, kind)}
        else:
            keys = ("separation", "at_most")
            inner = record(content, kind, keys, keys)
            value = {kind: {key: integer(inner.by_key[key], key) for key in keys}}
    try:
        return Neighbours.of(value)
    except OptionError as error:
        fail(node, error.message, error.hint)


def read_attributes(attributes: object, more: Mapping[str, object]) -> Domain:
    """The domain of ``Domain.of``."""
    return read_domain(domain_node(united(attributes, more, "attributes")), REFUSED)[0]


def read_product(domain: Domain, blocks: object, more: Mapping[str, object]) -> Workload:
    """The queries of ``Domain.product``: options by their names, all other keywords are attributes."""
    options = {key: value for key, value in more.items() if key in ENTRY_OPTIONS}
    named = {key: value for key, value in more.items() if key not in options}
    names = [name for a in domain.attributes for name in (a.name, *a.levels)]
    for key in named:
        if key not in names:
            raise WorkloadError(
                f"product.{key}: the domain has no attribute '{key}'",
                hint=suggest(key, (*names, *ENTRY_OPTIONS)),
            )
    return read_entry(domain, "product", united(blocks, named, "a block by attribute"), options)


def read_entry(domain: Domain, form: str, value: Any, options: Mapping[str, object]) -> Workload:
    """The queries of one entry of a workload; an option that is None is left out.

    ``form`` is the key of its queries, such as "marginal", and ``value`` what stands there.
    """
    where = Location(form, 0, 0)
    given = {key: option for key, option in options.items() if option is not None}
    entry = _map(
        where, {form: node_of(value, form), **{k: node_of(v, key_place(form, k)) for k, v in given.items()}}
    )
    top = _map(
        where,
        {"domain": DomainNode(where, 1, domain), "workload": ListNode(where, entry.count + 1, (entry,))},
    )
    return read_request(top, form, "").workload


def _map(where: Location, values: Mapping[str, YamlNode]) -> Map:
    """A mapping whose keys have the places of their values."""
    entries = tuple((Scalar(node.where, 1, key, key), node) for key, node in values.items())
    return Map(where, 1 + sum(1 + node.count for node in values.values()), entries)


def default_program(workload: Workload, pure: bool = False) -> tuple[str, str]:
    """The program used when none is named, and the reason.

    pure : whether the noise is Laplace: epsilon without delta.
    """
    if pure:
        # Weights that follow targets are sought in many solves, so by the quick program.
        is_quick = workload.n > L1_CELLS or workload.has_all_targets
        return "p_identity" if is_quick else "l1_strategy", "epsilon without delta asks for Laplace noise"
    if workload.has_all_targets:
        return "fitness_for_use", "every query has an accuracy target"
    return "l2_strategy", "not every query has a target, so total error is minimised"


#: Cells up to which l1_strategy takes the place of p_identity: of 64 cells it takes some seconds.
L1_CELLS = 64

#: Cells up to which p_identity is the strategy for Laplace noise; above, strategies in factors, if any.
P_IDENTITY_CELLS = 256

#: Values of a single attribute up to which it is, but for a histogram: there no strategy is in factors.
P_IDENTITY_VALUES = 4096


def suits_p_identity(workload: Workload) -> bool:
    """Whether such a program is solved for Laplace noise when none is named; else a template is."""
    products = workload.products or ()
    is_in_factors = len(workload.domain.attributes) > 1 or all(
        isinstance(p.factors[0], Identity) for p in products
    )
    return not products or workload.n <= (P_IDENTITY_CELLS if is_in_factors else P_IDENTITY_VALUES)


def default_words(workload: Workload, privacy: Privacy | None) -> str:
    """In words, the program used when none is named, and the reason."""
    is_pure = privacy is not None and privacy.is_pure
    name, why = default_program(workload, is_pure)
    both = dict.fromkeys((default_program(workload, pure=True)[0], "p_identity"))
    laplace = " or ".join(both) if suits_p_identity(workload) else "the best template"
    if is_pure:
        return f"{laplace}: {why}"
    if privacy is None or not (GAUSSIAN.takes(privacy) and LAPLACE.takes(privacy)):
        return f"{name}: {why}"
    least = "privacy cost for the targets" if workload.has_all_targets else "predicted error"
    return f"{name} (Gaussian noise) or {laplace} (Laplace noise): the one of least {least}"


#: The types of values that ``as_workload`` takes.
WorkloadLike: TypeAlias = Workload | Request | Mapping[str, Any] | str | os.PathLike[str] | AnyMatrix

_TABLES = (".csv", ".gz", ".tsv", ".parquet", ".duckdb", ".ddb", ".sqlite", ".sqlite3", ".db")
_FIRST = "the workload comes first: solve(workload, program)"
_NONE = "a program that asks nothing of a workload is solved by solve(program=program)"

_HINTS = {
    "DataVector": "a workload says what is asked of data: domain.marginals(ways=1)",
    "Domain": "say what is asked of it: domain.marginals(ways=1), domain.product(age='prefix')",
    "Privacy": "a privacy goes to plan and release, with the workload",
    "NoneType": _NONE,
    "Program": f"{_FIRST}; {_NONE}",
    "Solution": "pass the workload that was solved: a solution knows it by its hash only",
}
_TAKEN = "taken are a Workload, a Request, a workload file, its dictionary, a matrix or data frame of queries"


def as_workload(value: object) -> Workload:
    """The workload that a value stands for.

    A Workload itself; that of a Request or of a workload file, normalised where the file says so, with any
    privacy; that of a dictionary with the keys of a workload file; and a matrix of queries, as
    ``Workload.from_matrix`` takes it: array, rows in lists, scipy sparse, data frame.

    Raises
    ------
    WorkloadError : anything else, with a hint; a file, a dictionary or a matrix that is no workload.

    >>> as_workload([[1, 0], [1, 1]])
    Workload(2 queries over 2 cells, matrix)
    >>> as_workload("l2_strategy")
    Traceback (most recent call last):
    ...
    mmopt.errors.WorkloadError: 'l2_strategy' is a program, not a workload
      the workload comes first: solve(workload, program)
    """
    if isinstance(value, Workload):
        return value
    if (request := as_request(value)) is not None:
        return request.workload
    kind = type(value).__name__
    if isinstance(value, list | tuple) and any(isinstance(item, Workload) for item in value):
        raise WorkloadError(f"a {kind} of workloads is not a Workload", hint="add them up: sum(workloads)")
    if kind in _HINTS:  # a DataVector is an array too
        raise WorkloadError(f"a {kind} is not a Workload", hint=_HINTS[kind])
    is_array = isinstance(value, list | tuple) or hasattr(value, "__array__") or scipy.sparse.issparse(value)
    if is_array or is_frame(value):
        return Workload.from_matrix(value)
    raise WorkloadError(f"a {kind} is not a Workload", hint=_TAKEN)


def as_request(value: object) -> Request | None:
    """The Request of a Request, a workload file of any name, or its dictionary; None for anything else.

    Errors as ``as_workload``.
    """
    if isinstance(value, Request):
        return value
    if isinstance(value, Mapping):
        return Request.of(value)
    return _of_path(value) if isinstance(value, str | os.PathLike) else None


def as_domain(value: object) -> object:
    """The domain of a Workload, a Request, a workload file or its dictionary; anything else as it is."""
    is_file = isinstance(value, str | os.PathLike) and Path(value).suffix.lower() in WORKLOAD_FILES
    return as_workload(value).domain if is_file or isinstance(value, Workload | Request | Mapping) else value


def refuse_workload(data: object) -> None:
    """Raise OptionError for a workload in the place of data: two arguments are in the wrong order."""
    what = ""
    if isinstance(data, str | os.PathLike) and Path(data).suffix.lower() in WORKLOAD_FILES:
        what = f"the workload file '{data}'"
    elif isinstance(data, Workload | Request | Domain):
        what = f"a {type(data).__name__}"
    elif isinstance(data, Mapping) and {"domain", "workload"} <= data.keys():
        what = "the dictionary of a workload file"
    if what:
        raise OptionError(
            f"{what} is given where data are expected",
            hint="the data come first: release(data, workload, privacy=…)",
        )


def _of_path(value: str | os.PathLike[str]) -> Request:
    """The Request of a file; for a program, a baseline or a table an error that says so."""
    path = Path(value)
    if not path.exists():
        if (programs_folder() / f"{path}.program").is_file() or path.suffix == ".program":
            raise WorkloadError(f"'{path}' is a program, not a workload", hint=_FIRST)
        if is_baseline(str(path)):
            raise WorkloadError(
                f"'{path}' is a baseline, not a workload",
                hint="write certify(workload, 'haar'), baseline('haar', workload)",
            )
    if path.suffix.lower() in (*_TABLES, ".npy"):
        raise WorkloadError(
            f"'{path}' does not look like a workload file",
            hint="a workload file is YAML; a matrix is read first: Workload.from_matrix(numpy.load(path))",
        )
    return load_request(value)
