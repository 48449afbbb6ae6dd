"""The queries of a workload file: products and marginals, made of blocks on the attributes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mmopt.errors import placed
from mmopt.request.block_keys import Vocabulary, find_attribute, read_block
from mmopt.request.yaml_nodes import (
    ListNode,
    Map,
    Scalar,
    YamlNode,
    fail,
    integer,
    items,
    mapping,
    number,
    one_of,
    positive,
    record,
    scalar,
    text,
    too_large,
)
from mmopt.workloads import Domain, Factor, Product, Wish
from mmopt.workloads.blocks.factor_blocks import identity, total

__all__ = ["ENTRY_OPTIONS", "MAX_PRODUCTS", "read_products"]

MAX_PRODUCTS = 50_000
"""Most products of one file, those of ``marginals`` and ``products`` written out."""

_FORMS = ("marginal", "marginals", "product", "products")
_KEYS = (*_FORMS, "name", "weight", "max_variance", "within", "confidence", "subworkload")

ENTRY_OPTIONS = tuple(key for key in _KEYS if key not in _FORMS)
"""What may stand beside the queries of an entry."""


@dataclass
class _EntryReader:
    domain: Domain
    vocabularies: dict[str, Vocabulary]
    products: list[Product] = field(default_factory=list)
    names: dict[str, YamlNode] = field(default_factory=dict)
    totals: list[Factor] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=dict)
    known: dict[str, Factor] = field(default_factory=dict)

    def entry(self, node: YamlNode) -> None:
        found = record(node, "a workload entry", _KEYS)
        form = one_of(found, "a workload entry", _FORMS)
        value = found.by_key[form]
        title = found.read("name", lambda name: text(name, "name"), "")
        if form in ("marginals", "products"):
            sets, block = self._every(value, form)
            for attributes in sets:
                suffix = ", ".join(attributes) or "total"
                own = (
                    self._identities(attributes)
                    if block is None
                    else {name: block[name] for name in attributes}
                )
                self._add(found, own, title and f"{title}: {suffix}")
        elif form == "marginal":
            self._add(found, self._identities(self._attributes(value, "marginal")), title)
        else:
            blocks = mapping(value, "product").entries
            own = {
                key.text: read_block(block, find_attribute(key, self.vocabularies)) for key, block in blocks
            }
            self._add(found, own, title)

    def _add(self, found: Map, factors: dict[str, Factor], name: str) -> None:
        if name:
            here = found.by_key["name"]
            if first := self.names.get(name):
                fail(
                    here,
                    f"the query name '{name}' stands twice, first in {first.where.inside()}",
                    "rename one of them, or leave the name out: unnamed queries may stand twice",
                )
            self.names[name] = here
        if len(self.products) == MAX_PRODUCTS:
            too_large(found, f"the workload has more than {MAX_PRODUCTS:,} products")
        no_weight, no_target = (
            "leave the entry out instead",
            "leave max_variance out for queries without a target",
        )
        with placed(found.where):
            product = Product(
                self._factors(factors),
                name=name or None,
                weight=found.read("weight", lambda node: positive(node, "weight", no_weight), 1.0),
                target=found.read(
                    "max_variance", lambda node: positive(node, "max_variance", no_target), math.inf
                ),
                within=_wish(found),
                subworkload=found.read("subworkload", lambda node: text(node, "subworkload"), None),
            )
        self.products.append(product)

    def _factors(self, factors: Mapping[str, Factor]) -> tuple[Factor, ...]:
        """One an attribute: those named, and totals, which all products share."""
        if not self.totals:
            known = {size: total(size) for size in self.domain.shape}
            self.totals += [known[size] for size in self.domain.shape]
            self.places |= {name: i for i, name in enumerate(self.domain.names)}
        found = list(self.totals)
        for name, factor in factors.items():
            found[self.places[name]] = factor
        return tuple(found)

    def _identities(self, attributes: tuple[str, ...]) -> dict[str, Factor]:
        for name in attributes:
            if name not in self.known:
                self.known[name] = identity(self.domain.attribute(name).size)
        return {name: self.known[name] for name in attributes}

    def _attributes(self, node: YamlNode, what: str) -> tuple[str, ...]:
        """A list of different attributes."""
        example = f"write {what}: [{', '.join(self.domain.names[:2])}]"
        empty = isinstance(node, ListNode) and not node.items
        seen: dict[str, Scalar] = {}
        for item in items(node, what, "for the number of all rows write product: {}" if empty else example):
            key = scalar(item, f"an attribute of {what}")
            find_attribute(key, self.vocabularies)
            if key.text in seen:
                fail(key, f"{what} names the attribute '{key.text}' twice")
            seen[key.text] = key
        return tuple(seen)

    def _every(self, node: YamlNode, form: str) -> tuple[list[tuple[str, ...]], dict[str, Factor] | None]:
        """All sets of given numbers of attributes; of products also the block of each attribute."""
        if form == "marginals":
            found = record(node, form, ("ways", "of"), required=("ways",))
        else:
            found = record(node, form, ("ways", "each", "of"), required=("ways", "each"))
        names = found.read("of", lambda of: self._attributes(of, "of"), self.domain.names)
        sets = self._ways(found, names)
        if (each := found.get("each")) is None:
            return sets, None
        shared: dict[Factor, Factor] = {}  # those that are equal are one, so that products are alike
        blocks = {name: read_block(each, self.vocabularies[name]) for name in names}
        return sets, {name: shared.setdefault(block, block) for name, block in blocks.items()}

    def _ways(self, found: Map, names: Sequence[str]) -> list[tuple[str, ...]]:
        """The sets of so many of these attributes as the key ``ways`` says."""
        ways = found.by_key["ways"]
        result: list[tuple[str, ...]] = []
        seen: set[int] = set()
        for item in items(ways, "ways") if isinstance(ways, ListNode) else (ways,):
            way = integer(item, "ways")
            if not 0 <= way <= len(names):
                fail(item, f"ways must be between 0 and {len(names)}, the number of attributes, found {way}")
            if way in seen:
                fail(item, f"ways names {way} twice")
            seen.add(way)
            if len(result) + math.comb(len(names), way) > MAX_PRODUCTS:
                count = math.comb(len(names), way)
                too_large(
                    item,
                    f"{way} ways of {len(names)} attributes are {count:,} products, the workload "
                    f"may have {MAX_PRODUCTS:,}",
                )
            result += itertools.combinations(names, way)
        return result


def _wish(found: Map) -> Wish | None:
    """The keys ``within`` and ``confidence``."""
    half_width = found.get("within")
    if half_width is None:
        if found.get("confidence") is not None:
            fail(
                found.key("confidence"), "confidence has no effect without within", "within: 50, for example"
            )
        return None
    width = positive(half_width, "within", "leave within out for queries without such a wish")
    confidence = found.get("confidence")
    if confidence is None:
        with placed(half_width.where):
            return Wish(width)
    with placed(confidence.where):
        return Wish(width, number(confidence, "confidence"))


def read_products(node: YamlNode, domain: Domain, vocabularies: dict[str, Vocabulary]) -> tuple[Product, ...]:
    """The products of a workload, in the order of the file."""
    reader = _EntryReader(domain, vocabularies)
    for entry in items(
        node, "workload", "write '- marginal: [attribute, …]' or '- product: {attribute: block}'"
    ):
        reader.entry(entry)
    return tuple(reader.products)
