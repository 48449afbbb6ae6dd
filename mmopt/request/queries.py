"""The key ``workload`` of a workload file: products and marginals with weights and targets."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field

from mmopt.errors import placed
from mmopt.request.blocks import Vocabulary, find_attribute, read_block
from mmopt.request.fields import integer, items, mapping, one_of, positive, record, scalar, text
from mmopt.request.nodes import ListNode, Map, Node, Scalar, fail, too_large
from mmopt.workloads import Domain, Factor, Product
from mmopt.workloads.blocks.factor import identity, total

__all__ = ["MAX_PRODUCTS", "read_products"]

MAX_PRODUCTS = 50_000
"""Most products of one file, those of ``marginals`` written out."""

_FORMS = ("marginal", "marginals", "product")
_KEYS = (*_FORMS, "name", "weight", "max_variance", "subworkload")


@dataclass
class _Reader:
    domain: Domain
    vocabularies: dict[str, Vocabulary]
    products: list[Product] = field(default_factory=list)
    names: dict[str, Node] = field(default_factory=dict)

    def entry(self, node: Node) -> None:
        found = record(node, "a workload entry", _KEYS)
        form = one_of(found, "a workload entry", _FORMS)
        value = found.by_key[form]
        name = found.get("name")
        title = None if name is None else text(name, "name")
        if form == "marginals":
            for attributes in self._marginals(value):
                suffix = ", ".join(attributes) or "total"
                self._add(found, self._marginal(attributes), None if title is None else f"{title}: {suffix}")
        elif form == "marginal":
            self._add(found, self._marginal(self._attributes(value, "marginal")), title)
        else:
            self._add(found, self._product(value), title)

    def _add(self, found: Map, factors: dict[str, Factor], name: str | None) -> None:
        if name is not None:
            here = found.by_key["name"]
            if first := self.names.get(name):
                fail(
                    here,
                    f"the query name '{name}' stands twice, first in line {first.where.line}",
                    "rename one of them, or leave the name out: unnamed queries may stand twice",
                )
            self.names[name] = here
        if len(self.products) == MAX_PRODUCTS:
            too_large(found, f"the workload has more than {MAX_PRODUCTS:,} products")
        weight, target, part = (found.get(key) for key in ("weight", "max_variance", "subworkload"))
        no_target = "leave max_variance out for queries without a target"
        with placed(found.where):
            product = Product(
                tuple(factors.get(a.name, total(a.size)) for a in self.domain.attributes),
                name=name,
                weight=1.0 if weight is None else positive(weight, "weight", "leave the entry out instead"),
                target=math.inf if target is None else positive(target, "max_variance", no_target),
                subworkload=None if part is None else text(part, "subworkload"),
            )
        self.products.append(product)

    def _product(self, node: Node) -> dict[str, Factor]:
        blocks = mapping(node, "product").entries
        return {key.text: read_block(block, find_attribute(key, self.vocabularies)) for key, block in blocks}

    def _marginal(self, attributes: tuple[str, ...]) -> dict[str, Factor]:
        return {name: identity(self.domain.attribute(name).size) for name in attributes}

    def _attributes(self, node: Node, what: str) -> tuple[str, ...]:
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

    def _marginals(self, node: Node) -> list[tuple[str, ...]]:
        """All marginals of given numbers of attributes."""
        found = record(node, "marginals", ("ways", "of"), required=("ways",))
        of = found.get("of")
        names = self.domain.names if of is None else self._attributes(of, "of")
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


def read_products(node: Node, domain: Domain, vocabularies: dict[str, Vocabulary]) -> tuple[Product, ...]:
    """The products of a workload, in the order of the file."""
    reader = _Reader(domain, vocabularies)
    for entry in items(
        node, "workload", "write '- marginal: [attribute, …]' or '- product: {attribute: block}'"
    ):
        reader.entry(entry)
    return tuple(reader.products)
