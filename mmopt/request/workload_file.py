"""A workload file as a whole: what is asked, of which domain, under which privacy."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from typing import cast, get_args

from mmopt.errors import PrivacyError, placed
from mmopt.privacy.privacy_parameters import Neighbours, Privacy, privacy_fault
from mmopt.request.domain_keys import Rules, TableOptions, read_domain, read_rules
from mmopt.request.query_keys import read_products, read_vocabularies
from mmopt.request.yaml_nodes import YamlNode, number, read_choice, record, too_large
from mmopt.request.yaml_text import YamlText, decode, read_bytes
from mmopt.request.yaml_tree import parse_tree
from mmopt.workloads import Workload

__all__ = ["Neighbours", "Privacy", "Request", "TableOptions", "load_request", "parse_request"]

_KEYS = ("domain", "predicates", "workload", "normalise", "privacy", "neighbours", "data")


@dataclass(frozen=True)
class Request:
    """The contents of a workload file.

    Parameters
    ----------
    workload : domain, queries, weights and targets.
    privacy : what is asked for, or None.
    neighbours : which data sets are neighbours.
    path : the file, as given.
    text_hash : sha256 of the file's bytes, hex.
    table : how a table is read; ``data_vector`` takes its fields as keyword arguments.
    """

    workload: Workload
    privacy: Privacy | None
    neighbours: Neighbours
    path: str
    text_hash: str
    table: TableOptions = field(default_factory=TableOptions)


def load_request(path: str | os.PathLike[str]) -> Request:
    """Read a workload file.

    Raises
    ------
    WorkloadError : the file cannot be read, or does not say what is asked; with file, line and column.
    PrivacyError : its privacy parameters are invalid.
    TooLargeError : its domain or its explicit predicates pass a limit.
    """
    file = os.fspath(path)
    data = read_bytes(file)
    return _read(decode(data, file), file, hashlib.sha256(data).hexdigest())


def parse_request(text: str, file: str = "<text>") -> Request:
    """Read the text of a workload file; ``file`` is the name that errors show. Raises as ``load_request``."""
    return _read(text, file, hashlib.sha256(text.encode("utf-8", errors="surrogatepass")).hexdigest())


def _read(content: str, file: str, text_hash: str) -> Request:
    root = record(parse_tree(YamlText.of(content, file)), "a workload file", _KEYS, ("domain", "workload"))
    rules, table = root.read("data", read_rules, (Rules(), TableOptions()))
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
    neighbours: Neighbours = root.read("neighbours", _neighbours, "add-remove")
    return Request(workload, root.read("privacy", _privacy, None), neighbours, file, text_hash, table)


def _privacy(node: YamlNode) -> Privacy | None:
    found = record(node, "privacy", ("epsilon", "delta", "rho"))
    given: dict[str, float] = {
        key.text: number(value, key.text, finite=False) for key, value in found.entries
    }
    fault = privacy_fault(given.get("epsilon"), given.get("delta"), given.get("rho"))
    if fault is not None:
        place: YamlNode = found.by_key.get(fault.field, node)
        raise PrivacyError(fault.message, where=place.where, hint=fault.hint)
    return Privacy(**given)


def _neighbours(node: YamlNode) -> Neighbours:
    return cast(Neighbours, read_choice(node, "neighbours", get_args(Neighbours)))
