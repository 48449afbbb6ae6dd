"""The keys ``domain``, ``data`` and ``workload`` of a file: attributes, groups, values outside; queries.

A block is a list of queries on one attribute. Products and marginals are made of blocks on the attributes.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType

import numpy as np

from mmopt.errors import placed, suggest
from mmopt.numerics.arrays import Ints
from mmopt.request.attribute_cells_and_block_words import (
    BLOCK_NUMBERS,
    BLOCK_WORDS,
    FORMS,
    RUN,
    CellWords,
    Levels,
    block_of,
    is_block_word,
    read_encoding,
)
from mmopt.request.yaml_tree import (
    ListNode,
    Map,
    Scalar,
    YamlNode,
    describe,
    fail,
    integer,
    items,
    mapping,
    number,
    one_of,
    positive,
    read_choice,
    record,
    require,
    scalar,
    text,
    too_large,
)
from mmopt.workloads import (
    AtLevel,
    Attribute,
    Domain,
    Factor,
    Product,
    Values,
    Wish,
    identity,
    predicates,
    reordered,
    total,
    union,
)

_KEYS = (*FORMS, "levels", "width", "zone", "column", "groups", "outside", "missing")
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


#: The rules for table values outside the domain and for missing ones, unless an attribute has its own.
Rules = Mapping[str, str]
REFUSED: Rules = MappingProxyType(dict.fromkeys(_RULE_KEYS, "refuse"))


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
    return {**REFUSED, **rules}, TableOptions(
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
    names = {key.text for key, _ in domain.entries}
    pairs = [_attribute(key, form, rules, names) for key, form in domain.entries]
    with placed(node.where):
        return Domain(tuple(attribute for attribute, _ in pairs)), {cells.name: cells for _, cells in pairs}


def _attribute(key: Scalar, node: YamlNode, rules: Rules, names: set[str]) -> tuple[Attribute, CellWords]:
    """The attribute declared under a key of ``domain``, and the words for its cells; names : as taken."""
    name = key.text
    what = f"attribute '{name}'"
    require(
        not isinstance(node, ListNode),
        node,
        f"{what} must be a mapping, found {describe(node)}",
        f"write '{name}: {{values: […]}}'",
    )
    form = record(node, what, _KEYS)
    declared, encoding, levels = read_encoding(form, name, names)
    added = _added_labels(form, CellWords(name, declared, encoding), levels)
    labels = (*declared, *added)
    cells = CellWords(name, labels, encoding)
    for label, place in _written_labels(form):
        require(
            not is_block_word(label),
            place,
            f"{what} has a value labelled '{label}', which is a word for a block of queries",
            f"give it another label: categories: {{{label.capitalize()}: [{label}], …}}",
        )
    columns = form.read(
        "column",
        lambda node: [
            text(one, f"column of {what}") for one in (node.items if isinstance(node, ListNode) else (node,))
        ],
        [name],
    )
    require(
        len(columns) in (1, len(levels) + 1),
        form.get("column") or form,
        f"{what} has {len(columns)} columns, expected one, or one for each level and for itself",
    )
    with placed(node.where):
        attribute = Attribute(
            name=name,
            labels=labels,
            column=columns[-1],
            above=tuple(columns[:-1]),
            encoding=encoding,
            groups=form.read("groups", lambda node: _groups(node, cells), {}),
            outside=_rule(form, "outside", rules["outside"], cells),
            missing=_rule(form, "missing", rules["missing"], cells),
            levels={level: (*texts, *added) for level, texts in levels.items()},
        )
    return attribute, cells


def _written_labels(form: Map) -> list[tuple[str, YamlNode]]:
    """The labels that stand in the file itself, each with its node; those of bins are computed."""
    values, categories = form.get("values"), form.get("categories")
    if isinstance(values, ListNode):
        return [(item.text, item) for item in values.items if isinstance(item, Scalar)]
    return [(key.text, key) for key, _ in categories.entries] if isinstance(categories, Map) else []


def _added_labels(form: Map, cells: CellWords, levels: Levels) -> tuple[str, ...]:
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
            *((label in texts, f"a value of level '{level}'") for level, texts in levels.items()),
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


#: Most numbers in memory for the blocks of one file, half a GiB: those of explicit predicates (predicates ×
#: cells of their attribute), of the ends of hierarchies' blocks, of orders.
MAX_ENTRIES = 2**26

BLOCK_FORMS = ("predicates", "union", "each", *BLOCK_NUMBERS, "reordered")


@dataclass
class QueryAllowance:
    """The numbers that the blocks of one file may still hold."""

    left: int = MAX_ENTRIES

    def take(self, node: YamlNode, rows: int, size: int, what: str = "explicit predicates") -> None:
        """Take an array of rows × size off before it is formed; TooLargeError at ``node`` for too many."""
        if rows * size > self.left:
            too_large(
                node,
                f"{what} take more than {MAX_ENTRIES:,} entries in this file, with {rows:,} × {size:,} here",
                "identity, prefix, all_range, width_range and haar take none",
            )
        self.left -= rows * size


@dataclass(frozen=True)
class Vocabulary:
    """The words for blocks of queries on an attribute or a level: for cells, groups, and ``named`` blocks.

    ``budget`` is common to all. ``attribute`` is the one of the level, ``level`` that as an attribute, with
    the set of each cell.
    """

    cells: CellWords
    groups: dict[str, tuple[int, ...]]
    budget: QueryAllowance
    attribute: str
    level: tuple[Attribute, Ints] | None = None
    named: dict[str, Factor] = field(default_factory=dict)

    def over_cells(self, block: Factor) -> Factor:
        """A block of these words, over the cells of the attribute."""
        return (
            block
            if self.level is None
            else total(len(self.level[1]))
            if block.kind == "total"
            else AtLevel(block, *self.level)
        )


def read_vocabularies(
    node: YamlNode | None, domain: Domain, cells: dict[str, CellWords]
) -> dict[str, Vocabulary]:
    """The key ``predicates``: named blocks by attribute; each may use those above it."""
    budget = QueryAllowance()
    result = {a.name: Vocabulary(cells[a.name], dict(a.groups), budget, a.name) for a in domain.attributes}
    result |= {
        name: Vocabulary(
            CellWords(name, level.labels, Values(level.labels[: level.size - a.size + a.declared])),
            {},
            budget,
            a.name,
            (level, sets),
        )
        for a in domain.attributes
        for name in a.levels
        for level, sets in [a.at_level(name)]
    }
    if node is not None:
        for key, blocks in mapping(node, "predicates").entries:
            words = find_attribute(key, result)
            for name, block in mapping(blocks, f"predicates of attribute '{key.text}'").entries:
                check_name(name, "list of predicates", words.cells, tuple(words.groups))
                words.named[name.text] = read_block(block, words)
    return result


def find_attribute(node: Scalar, vocabularies: dict[str, Vocabulary]) -> Vocabulary:
    """The vocabulary of the attribute with this name."""
    if node.text not in vocabularies:
        fail(node, f"the domain has no attribute '{node.text}'", suggest(node.text, vocabularies))
    return vocabularies[node.text]


def read_block(node: YamlNode, words: Vocabulary) -> Factor:
    """One block: a word, a group or value, a list of predicates, or a mapping of ``BLOCK_FORMS``."""
    what = f"the block of attribute '{words.cells.name}'"
    if isinstance(node, Scalar):
        if isinstance(node.value, str) and node.value in BLOCK_WORDS:
            return _closed(node, node.value, (), words)
        require(
            node.text not in BLOCK_NUMBERS,
            node,
            f"'{node.text}' needs a number",
            f"write {{{node.text}: 5}}, for instance",
        )
        if node.text in words.named:
            return words.named[node.text]
        require(
            node.value is not None,
            node,
            f"{what} is missing",
            f"write one of {', '.join(BLOCK_WORDS)}, a group or a list",
        )
        return _explicit(node, (node,), words, (*BLOCK_WORDS, *words.named))
    if isinstance(node, ListNode):
        return _explicit(node, items(node, what), words)
    assert isinstance(node, Map)
    form = one_of(record(node, what, (*BLOCK_FORMS, "order")), what, BLOCK_FORMS)
    value = node.by_key[form]
    if form == "reordered":
        return _reordered(node, words)
    if node.get("order") is not None:
        fail(node.key("order"), f"{what} has an order with {form}; order belongs to reordered: block")
    if form in BLOCK_NUMBERS:
        return _closed(value, form, (integer(value, form),), words)
    if form == "union":
        return union(*(read_block(part, words) for part in items(value, f"union in {what}")))
    if form == "each":
        return _each(value, words)
    return _explicit(value, items(value, f"predicates in {what}"), words)


def _closed(node: YamlNode, word: str, number: tuple[int, ...], words: Vocabulary) -> Factor:
    """The block of a word, made from the number of cells, and from a further number where it takes one."""
    if word == "hierarchy":
        words.budget.take(node, 4, words.cells.declared, "hierarchies")
    with placed(node.where):
        return block_of(word, number, words.cells)


def _reordered(node: Map, words: Vocabulary) -> Factor:
    """A block over the declared cells in the order that the file gives, each of them once."""
    order = node.get("order")
    name, declared = words.cells.name, words.cells.declared
    if order is None:
        fail(node, f"the block of attribute '{name}' is reordered and has no order", "add order: [value, …]")
    block = read_block(node.by_key["reordered"], words)
    cells = read_members(order, items(order, "order"), words.cells, words.groups, "order")
    if unordered := [words.cells.labels[cell] for cell in cells if cell >= declared]:
        fail(
            order,
            f"the order of attribute '{name}' has '{unordered[0]}', which is not one of the ordered values",
        )
    if len(cells) < declared:
        missing = words.cells.labels[min(set(range(declared)).difference(cells))]
        fail(order, f"the order of attribute '{name}' lacks '{missing}', expected every value once")
    words.budget.take(order, 2, words.cells.size, "orders")
    return reordered(block, (*cells, *range(declared, words.cells.size)))


def _explicit(
    node: YamlNode, nodes: tuple[YamlNode, ...], words: Vocabulary, others: tuple[str, ...] = ()
) -> Factor:
    """One predicate for each node; ``others`` are further words that are possible in its place."""
    words.budget.take(node, len(nodes), words.cells.size)
    chosen = [_predicate(item, words, others) for item in nodes]
    return _factor([cells for cells, _ in chosen], [label for _, label in chosen], words)


def _each(node: YamlNode, words: Vocabulary) -> Factor:
    """One predicate for each cell."""
    nodes = items(node, "each") if isinstance(node, ListNode) else (node,)
    cells = read_members(node, nodes, words.cells, words.groups, "each")
    words.budget.take(node, len(cells), words.cells.size)
    return _factor([(cell,) for cell in cells], [words.cells.labels[cell] for cell in cells], words)


def _factor(rows: list[tuple[int, ...]], labels: list[str], words: Vocabulary) -> Factor:
    """The block of predicates that count these cells, with their labels."""
    matrix = np.zeros((len(rows), words.cells.size))
    for row, cells in zip(matrix, rows, strict=True):
        row[list(cells)] = 1.0
    return predicates(matrix, labels)


def _predicate(node: YamlNode, words: Vocabulary, others: tuple[str, ...]) -> tuple[tuple[int, ...], str]:
    """The cells that a predicate counts, and its label."""
    require(
        not isinstance(node, Map),
        node,
        f"a predicate of attribute '{words.cells.name}' must be a value, a group or a list of them, "
        f"found {describe(node)}",
        "combine blocks with {union: [block, block]}",
    )
    nodes = node.items if isinstance(node, ListNode) else (node,)
    for item in nodes:
        if isinstance(item, Scalar) and (is_block_word(item.text) or item.text in words.named):
            fail(
                item,
                f"'{item.text}' is a block of queries, expected a predicate: a value, a group or a list of "
                "them",
                f"combine blocks with {{union: [{item.text}, …]}}",
            )
    cells = read_members(node, nodes, words.cells, words.groups, "a predicate", others)
    names = [item.text for item in nodes if isinstance(item, Scalar)]
    return cells, " or ".join(names if len(names) <= 4 else [*names[:3], f"{len(names) - 3} more"])


#: Most products of one file, ``marginals`` and ``products`` written out.
MAX_PRODUCTS = 50_000

_FORMS = ("marginal", "marginals", "product", "products")
_ENTRY_KEYS = (*_FORMS, "name", "weight", "max_variance", "within", "confidence", "subworkload")

#: The keys of an entry other than its queries.
ENTRY_OPTIONS = tuple(key for key in _ENTRY_KEYS if key not in _FORMS)


@dataclass
class _EntryReader:
    """The products of the entries read so far, and the names given in them."""

    domain: Domain
    vocabularies: dict[str, Vocabulary]
    products: list[Product] = field(default_factory=list)
    names: dict[str, YamlNode] = field(default_factory=dict)

    def entry(self, node: YamlNode) -> None:
        """Read an entry of the workload: one product, or all those of ``marginals`` and ``products``."""
        entry = record(node, "a workload entry", _ENTRY_KEYS)
        form = one_of(entry, "a workload entry", _FORMS)
        value = entry.by_key[form]
        title = entry.read("name", lambda name: text(name, "name"), "")
        if form in ("marginals", "products"):
            sets, block = self._every(value, form)
            for attributes in sets:
                suffix = ", ".join(attributes) or "total"
                self._add(entry, {name: block[name] for name in attributes}, title and f"{title}: {suffix}")
            return
        if form == "marginal":
            factors = {name: self._identities[name] for name in self._attributes(value, "marginal")}
        else:
            blocks = mapping(value, "product")
            words = self._apart([key for key, _ in blocks.entries], "product")
            factors = {name: w.over_cells(read_block(blocks.by_key[name], w)) for name, w in words.items()}
        self._add(entry, factors, title)

    def _add(self, entry: Map, factors: dict[str, Factor], name: str) -> None:
        """Add a product of these factors, by attribute or level, of totals else, with its entry's options."""
        if name:
            here = entry.by_key["name"]
            if first := self.names.get(name):
                fail(
                    here,
                    f"the query name '{name}' appears twice, first in {first.where.inside()}",
                    "rename one of them, or leave the name out: unnamed queries may repeat",
                )
            self.names[name] = here
        if len(self.products) == MAX_PRODUCTS:
            too_large(entry, f"the workload has more than {MAX_PRODUCTS:,} products")
        by_attribute = {self.vocabularies[name].attribute: factor for name, factor in factors.items()}
        with placed(entry.where):
            product = Product(
                tuple({**self._totals, **by_attribute}.values()),  # totals are shared by all products
                name=name or None,
                weight=entry.read(
                    "weight", lambda node: positive(node, "weight", "leave the entry out instead"), 1.0
                ),
                target=entry.read(
                    "max_variance",
                    lambda node: positive(
                        node, "max_variance", "leave max_variance out for queries without a target"
                    ),
                    math.inf,
                ),
                within=_wish(entry),
                subworkload=entry.read("subworkload", lambda node: text(node, "subworkload"), None),
            )
        self.products.append(product)

    @cached_property
    def _totals(self) -> dict[str, Factor]:
        """The total of each attribute; attributes of one size share it."""
        by_size = {size: total(size) for size in self.domain.shape}
        return {a.name: by_size[a.size] for a in self.domain.attributes}

    @cached_property
    def _identities(self) -> dict[str, Factor]:
        """The identity of each attribute, and of each level."""
        return {
            name: words.over_cells(identity(words.cells.size)) for name, words in self.vocabularies.items()
        }

    def _attributes(self, node: YamlNode, what: str) -> tuple[str, ...]:
        """A list of attributes and levels."""
        example = f"write {what}: [{', '.join(self.domain.names[:2])}]"
        empty = isinstance(node, ListNode) and not node.items
        listed = items(node, what, "for the number of all rows write product: {}" if empty else example)
        return tuple(self._apart([scalar(item, f"an attribute of {what}") for item in listed], what))

    def _apart(self, keys: Sequence[Scalar], what: str) -> dict[str, Vocabulary]:
        """The words of attributes or levels by their names, no two of which are of one attribute."""
        first: dict[str, tuple[Scalar, Vocabulary]] = {}
        for key in map(self._lowest, keys):
            words = find_attribute(key, self.vocabularies)
            earlier, _ = first.setdefault(words.attribute, (key, words))
            require(
                earlier is key,
                key,
                f"{what} names the attribute '{words.attribute}' twice",
                f"'{earlier.text}' and '{key.text}' are both of it: name the lower one, whose answers say "
                "the other too, or write an entry for each" * (earlier.text != key.text),
            )
        return {key.text: words for key, words in first.values()}

    def _lowest(self, key: Scalar) -> Scalar:
        """The last of levels of one attribute, named from above: county for ``[state.county]``."""
        names = key.text.split(".")
        for a in self.domain.attributes:
            if key.text not in self.vocabularies and names == [n for n in (*a.levels, a.name) if n in names]:
                return replace(key, text=names[-1])
        return key

    def _every(self, node: YamlNode, form: str) -> tuple[list[tuple[str, ...]], dict[str, Factor]]:
        """All sets of given numbers of attributes, and the block of each attribute."""
        needed = ("ways",) if form == "marginals" else ("ways", "each")
        options = record(node, form, (*needed, "of"), required=needed)
        names = options.read("of", lambda of: self._attributes(of, "of"), self.domain.names)
        sets = self._ways(options, names)
        if (each := options.get("each")) is None:
            return sets, self._identities
        shared: dict[Factor, Factor] = {}  # equal blocks are one object, so that products are alike
        words = [(name, self.vocabularies[name]) for name in names]
        blocks = {name: one.over_cells(read_block(each, one)) for name, one in words}
        return sets, {name: shared.setdefault(block, block) for name, block in blocks.items()}

    def _ways(self, options: Map, names: Sequence[str]) -> list[tuple[str, ...]]:
        """The sets of these attributes whose sizes the key ``ways`` lists."""
        ways = options.by_key["ways"]
        result: list[tuple[str, ...]] = []
        seen: set[int] = set()
        for item in items(ways, "ways") if isinstance(ways, ListNode) else (ways,):
            way = integer(item, "ways")
            require(
                0 <= way <= len(names),
                item,
                f"ways must be between 0 and {len(names)}, the number of attributes, found {way}",
            )
            require(way not in seen, item, f"ways names {way} twice")
            seen.add(way)
            if len(result) + (count := math.comb(len(names), way)) > MAX_PRODUCTS:
                too_large(
                    item,
                    f"{way} ways of {len(names)} attributes are {count:,} products, the workload "
                    f"may have {MAX_PRODUCTS:,}",
                )
            result += itertools.combinations(names, way)
        return result


def _wish(entry: Map) -> Wish | None:
    """The keys ``within`` and ``confidence``."""
    half_width, confidence = entry.get("within"), entry.get("confidence")
    if half_width is None:
        if confidence is not None:
            fail(
                entry.key("confidence"), "confidence has no effect without within", "within: 50, for example"
            )
        return None
    width = positive(half_width, "within", "leave within out for queries without such a target")
    with placed((confidence or half_width).where):
        return Wish(width) if confidence is None else Wish(width, number(confidence, "confidence"))


def read_products(node: YamlNode, domain: Domain, vocabularies: dict[str, Vocabulary]) -> tuple[Product, ...]:
    """The products of a workload, in the order of the file."""
    reader = _EntryReader(domain, vocabularies)
    for entry in items(
        node, "workload", "write '- marginal: [attribute, …]' or '- product: {attribute: block}'"
    ):
        reader.entry(entry)
    return tuple(reader.products)
