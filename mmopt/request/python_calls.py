"""What ``Domain.of``, ``Domain.product`` and their like are called with, read as in a workload file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mmopt.errors import Location, WorkloadError, suggest
from mmopt.request.domain_keys import DomainNode, Rules, read_domain
from mmopt.request.python_values import domain_node, node_of, path, united
from mmopt.request.query_keys import ENTRY_OPTIONS
from mmopt.request.workload_file import read_request
from mmopt.request.yaml_nodes import ListNode, Map, Scalar, YamlNode
from mmopt.workloads import Domain, Workload

__all__ = ["read_attributes", "read_entry", "read_product"]


def read_attributes(attributes: object, more: Mapping[str, object]) -> Domain:
    """The domain of ``Domain.of``."""
    return read_domain(domain_node(united(attributes, more, "attributes")), Rules())[0]


def read_product(domain: Domain, blocks: object, more: Mapping[str, object]) -> Workload:
    """The queries of ``Domain.product``: options by their names, all other keywords are attributes."""
    options = {key: value for key, value in more.items() if key in ENTRY_OPTIONS}
    named = {key: value for key, value in more.items() if key not in options}
    for key in named:
        if key not in domain.names:
            hint = suggest(key, (*domain.names, *ENTRY_OPTIONS))
            raise WorkloadError(f"product.{key}: the domain has no attribute '{key}'", hint=hint)
    return read_entry(domain, "product", united(blocks, named, "a block by attribute"), options)


def read_entry(domain: Domain, form: str, value: Any, options: Mapping[str, object]) -> Workload:
    """The queries of one entry of a workload; an option that is None is none."""
    where = Location(form, 0, 0)
    given = {key: option for key, option in options.items() if option is not None}
    entry = _map(
        where, {form: node_of(value, form), **{k: node_of(v, path(form, k)) for k, v in given.items()}}
    )
    workload = ListNode(where, entry.count + 1, (entry,))
    top = _map(where, {"domain": DomainNode(where, 1, domain), "workload": workload})
    return read_request(top, form, "").workload


def _map(where: Location, values: Mapping[str, YamlNode]) -> Map:
    """A mapping whose keys stand where their values do."""
    entries = tuple((Scalar(node.where, 1, key, key), node) for key, node in values.items())
    return Map(where, 1 + sum(1 + node.count for node in values.values()), entries)
