"""The keys ``domain`` and ``data`` of a workload file: attributes, groups, values outside."""

from dataclasses import dataclass

from mmopt.errors import placed, suggest
from mmopt.request.attribute_cells_and_block_words import FORMS, RUN, CellWords, is_block_word, read_encoding
from mmopt.request.yaml_tree import (
    ListNode,
    Map,
    Scalar,
    YamlNode,
    describe,
    fail,
    items,
    mapping,
    read_choice,
    record,
    require,
    scalar,
    text,
)
from mmopt.workloads import Attribute, Domain

_KEYS = (*FORMS, "width", "zone", "column", "groups", "outside", "missing")
_RULES = ("refuse", "drop")
_RULE_KEYS = ("outside", "missing")
_TABLE_KEYS = ("table", "weight", "delimiter", "null", "spelling")
SPELLING_RULES = (
    "exact",
    "loose",
    "decimal comma",
    "thousands commas",
    "thousands apostrophes",
    "DD.MM.YYYY",
    "DD/MM/YYYY",
    "MM/DD/YYYY",
)
_RIVALS = (
    ("exact", "loose"),
    ("decimal comma", "thousands commas"),
    ("decimal comma", "thousands apostrophes"),
    ("DD/MM/YYYY", "MM/DD/YYYY"),
)

_DELIMITER_HINT = "for example '~', or the word tab; a quote cannot be one"


@dataclass(frozen=True)
class Rules:
    """The rules for table values outside the domain and for missing ones, unless an attribute has its own."""

    outside: str = "refuse"
    missing: str = "refuse"


@dataclass(frozen=True)
class DomainNode(YamlNode):
    """A domain that was built in Python."""

    domain: Domain


def is_delimiter(given: str) -> bool:
    """Whether fields of a text file can be split at it."""
    return len(given) == 1 and given not in '"\r\n\0' and not "\ud800" <= given <= "\udfff"


def spelling_problem(spelling: object) -> str:
    """The mistake in a spelling, rules with ", " between, in words; "" where there is none."""
    rules = spelling.split(", ") if isinstance(spelling, str) else [""]
    if not {*rules} <= {*SPELLING_RULES}:
        return (
            f"spelling is {spelling!r}, not one of {', '.join(SPELLING_RULES)}, or several with ', ' between"
        )
    both = next((pair for pair in _RIVALS if {*pair} <= {*rules}), None)
    return f"spelling is both '{both[0]}' and '{both[1]}', of which one holds" if both else ""


@dataclass(frozen=True)
class TableOptions:
    """How a table is read, where its file leaves it open: arguments of ``data_vector`` by their names.

    ``table`` of a database; ``weight``, the column with the number of rows of a line; ``delimiter`` of a text
    file. None where the workload file has none. ``null``, the words for a missing value, and ``spelling``,
    rules with ", " between.
    """

    table: str | None = None
    weight: str | None = None
    delimiter: str | None = None
    null: tuple[str, ...] = ()
    spelling: str = "exact"


def read_rules(node: YamlNode) -> tuple[Rules, TableOptions]:
    """The key ``data``: the rules of the whole table, and the options of reading it."""
    data = record(node, "data", (*_RULE_KEYS, *_TABLE_KEYS))
    rules = {
        key: read_choice(value, key, _RULES) for key in _RULE_KEYS if (value := data.get(key)) is not None
    }
    options = {
        key: text(value, f"{key} of data")
        for key in ("table", "weight")
        if (value := data.get(key)) is not None
    }
    return Rules(**rules), TableOptions(
        **options,
        delimiter=data.read("delimiter", _delimiter, None),
        null=data.read(
            "null",
            lambda node: tuple(
                # As it is written: a text, a number, or ``null`` itself.
                (
                    word if isinstance(word, Scalar) else scalar(word, "each word under null of data")
                ).text.strip()
                for word in items(node, "null of data")
            ),
            (),
        ),
        spelling=data.read("spelling", _spelling, "exact"),
    )


def _spelling(node: YamlNode) -> str:
    """A rule of spelling, or a list of them, as rules with ", " between."""
    nodes = items(node, "spelling") if isinstance(node, ListNode) else (node,)
    spelling = ", ".join(read_choice(one, "spelling", SPELLING_RULES) for one in nodes)
    require(not (problem := spelling_problem(spelling)), node, problem)
    return spelling


def _delimiter(node: YamlNode) -> str:
    """One character, or the word tab, since texts of the file have no control characters."""
    given = node.value if isinstance(node, Scalar) else None
    if given == "tab":
        return "\t"
    if not isinstance(given, str) or not is_delimiter(given):
        described = f"'{given}'" if isinstance(given, str) else describe(node)
        fail(node, f"delimiter of data must be one character in quotes, found {described}", _DELIMITER_HINT)
    return given


def read_domain(node: YamlNode, rules: Rules) -> tuple[Domain, dict[str, CellWords]]:
    """The key ``domain``: the attributes in the order of the file, and the words for their cells."""
    if isinstance(node, DomainNode):
        return node.domain, {a.name: CellWords(a.name, a.labels, a.encoding) for a in node.domain.attributes}
    domain = mapping(node, "domain")
    require(
        domain.entries,
        node,
        "domain is empty, expected at least one attribute",
        "write 'sex: {values: [Female, Male]}'",
    )
    pairs = [_attribute(key, form, rules) for key, form in domain.entries]
    with placed(node.where):
        return Domain(tuple(attribute for attribute, _ in pairs)), {cells.name: cells for _, cells in pairs}


def _attribute(key: Scalar, node: YamlNode, rules: Rules) -> tuple[Attribute, CellWords]:
    """The attribute declared under a key of ``domain``, and the words for its cells."""
    name = key.text
    what = f"attribute '{name}'"
    require(
        not isinstance(node, ListNode),
        node,
        f"{what} must be a mapping, found {describe(node)}",
        f"write '{name}: {{values: […]}}'",
    )
    form = record(node, what, _KEYS)
    declared, encoding = read_encoding(form, name)
    labels = (*declared, *_added_labels(form, CellWords(name, declared, encoding)))
    cells = CellWords(name, labels, encoding)
    for label, place in _written_labels(form):
        require(
            not is_block_word(label),
            place,
            f"{what} has a value labelled '{label}', which is a word for a block of queries",
            f"give it another label: categories: {{{label.capitalize()}: [{label}], …}}",
        )
    with placed(node.where):
        attribute = Attribute(
            name=name,
            labels=labels,
            column=form.read("column", lambda node: text(node, f"column of {what}"), name),
            encoding=encoding,
            groups=form.read("groups", lambda node: _groups(node, cells), {}),
            outside=_rule(form, "outside", rules.outside, cells),
            missing=_rule(form, "missing", rules.missing, cells),
        )
    return attribute, cells


def _written_labels(form: Map) -> list[tuple[str, YamlNode]]:
    """The labels that stand in the file itself, each with its node; those of bins are computed."""
    values, categories = form.get("values"), form.get("categories")
    if isinstance(values, ListNode):
        return [(item.text, item) for item in values.items if isinstance(item, Scalar)]
    return [(key.text, key) for key, _ in categories.entries] if isinstance(categories, Map) else []


def _added_labels(form: Map, cells: CellWords) -> tuple[str, ...]:
    """The labels of the cells that ``outside: {cell: …}`` and ``missing: {cell: …}`` add."""
    added = []
    for key in ("outside", "missing"):
        node = form.get(key)
        if not isinstance(node, Map):
            continue
        what = f"{key} of attribute '{cells.name}'"
        cell = record(node, what, ("cell",), ("cell",)).by_key["cell"]
        label = text(cell, f"the label that {what} adds")
        if (cell_number := cells.find_one(cell)) is not None:
            fail(
                cell,
                f"{what} adds the cell '{label}', which is there already",
                f"write {key}: {cells.labels[cell_number]} to count them there, or choose another label",
            )
        for has_meaning, meaning in (
            (label in _RULES, "a rule"),
            (is_block_word(label), "a block of queries"),
            (RUN.fullmatch(label), "a run of integers"),
        ):
            require(
                not has_meaning,
                cell,
                f"{what} adds the cell '{label}', which reads as {meaning}",
                "choose another label",
            )
        added.append(label)
    return tuple(dict.fromkeys(added))


def _rule(form: Map, key: str, default: str, cells: CellWords) -> str:
    """The rule for rows that are ``key``, "outside" or "missing": "refuse", "drop", or a label.

    The label is that of the cell in which they are counted, a declared one or one added by {cell: label}.
    ``default`` is the rule where the attribute's ``form`` has none.
    """
    node = form.get(key)
    if node is None:
        choice = default
    elif isinstance(node, Scalar) and node.value in _RULES:
        choice = str(node.value)
    elif isinstance(node, Map) and (added := node.get("cell")) is not None:
        return text(added, "cell")
    elif (cell := cells.find_one(node)) is not None:
        return cells.labels[cell]
    else:
        shown = f"'{node.text}'" if isinstance(node, Scalar) and node.value is not None else describe(node)
        near = suggest(node.text, (*_RULES, *cells.labels[:1000])) if isinstance(node, Scalar) else ""
        if not near.startswith("did"):
            word = node.value if isinstance(node, Scalar) else None
            near = f"for a cell of its own write {key}: {{cell: {word}}}" if isinstance(word, str) else ""
        fail(node, f"{key} must be refuse, drop or a value of attribute '{cells.name}', found {shown}", near)
    require(
        choice not in cells.by_label,
        form if node is None else node,
        f"{key}: {choice} is a rule and also a label of attribute '{cells.name}'",
        "give the label another spelling with categories: {label: [value, …]}",
    )
    return choice


def _groups(node: YamlNode, cells: CellWords) -> dict[str, tuple[int, ...]]:
    """The cells of each named group of an attribute."""
    result: dict[str, tuple[int, ...]] = {}
    for key, members in mapping(node, f"groups of attribute '{cells.name}'").entries:
        check_name(key, "group", cells, ())
        nodes = members.items if isinstance(members, ListNode) else (members,)
        result[key.text] = read_members(members, nodes, cells, {}, f"group '{key.text}'")
    return result


def check_name(key: Scalar, kind: str, cells: CellWords, groups: tuple[str, ...]) -> None:
    """Refuse a name for a group or a list of predicates that already has a meaning for this attribute.

    ``kind`` says in messages what is named; ``groups`` are names of groups that exist already.
    """
    name = key.text
    require(name not in groups, key, f"'{name}' already names a group of attribute '{cells.name}'")
    for has_meaning, meaning in (
        (is_block_word(name), "is a word for a block of queries"),
        (name in cells.by_label, f"is a value of attribute '{cells.name}'"),
        (RUN.fullmatch(name), "reads as a run of integers"),
    ):
        require(not has_meaning, key, f"a {kind} cannot be called '{name}', which {meaning}")


def read_members(
    node: YamlNode,
    nodes: tuple[YamlNode, ...],
    cells: CellWords,
    groups: dict[str, tuple[int, ...]],
    what: str,
    others: tuple[str, ...] = (),
) -> tuple[int, ...]:
    """The cells of a list of labels, values, runs and groups, in the order of the file.

    Parameters
    ----------
    node, nodes : the list, and what is in it. groups : the cells of each group that the list may name.
    what : its name in messages. others : further words that are possible in its place, for suggestions.
    """
    noun = "block, group or value" if others else "group or value" if groups else "value"
    require(
        nodes,
        node,
        f"{what} of attribute '{cells.name}' is empty: it would count no row",
        "name at least one value, or leave it out",
    )
    members: dict[int, None] = {}  # as a set that keeps the order
    for item in nodes:
        group = groups.get(item.text) if isinstance(item, Scalar) else None
        for cell in cells.find(item, (*others, *groups), noun) if group is None else group:
            require(
                cell not in members,
                item,
                f"{what} of attribute '{cells.name}' holds '{cells.labels[cell]}' twice",
            )
            members[cell] = None
    return tuple(members)
