"""Workloads as callers pass them, and the program solved when none is named.

Arguments of ``Domain.of``, ``Domain.product`` and their like are read as in a workload file. Every function
with a workload accepts the same values, and refuses others with a hint.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import scipy.sparse

from mmopt.errors import Location, OptionError, WorkloadError, suggest
from mmopt.privacy import Privacy
from mmopt.privacy.table_of_noises import GAUSSIAN, LAPLACE
from mmopt.request.domain_keys import DomainNode, Rules, read_domain
from mmopt.request.python_values import domain_node, node_of, path, united
from mmopt.request.query_keys import ENTRY_OPTIONS
from mmopt.request.workload_file import Request, load_request, read_request
from mmopt.request.yaml_nodes import ListNode, Map, Scalar, YamlNode
from mmopt.resources import programs_folder
from mmopt.strategies.baselines import is_baseline
from mmopt.workloads import Domain, Workload
from mmopt.workloads.arrays_and_frames import is_frame
from mmopt.workloads.blocks.matrix_blocks import AnyMatrix


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
    """The queries of one entry of a workload; an option that is None is left out."""
    where = Location(form, 0, 0)
    given = {key: option for key, option in options.items() if option is not None}
    entry = _map(
        where, {form: node_of(value, form), **{k: node_of(v, path(form, k)) for k, v in given.items()}}
    )
    workload = ListNode(where, entry.count + 1, (entry,))
    top = _map(where, {"domain": DomainNode(where, 1, domain), "workload": workload})
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
        return "p_identity", "epsilon without delta asks for Laplace noise"
    if workload.has_all_targets:
        return "fitness_for_use", "every query has a target (max_variance)"
    return "l2_strategy", "not every query has a target, so total error is what can be least"


def default_words(workload: Workload, privacy: Privacy | None) -> str:
    """In words, the program used when none is named, and the reason."""
    name, why = default_program(workload, privacy is not None and privacy.is_pure)
    if privacy is None or not (GAUSSIAN.takes(privacy) and LAPLACE.takes(privacy)):
        return f"{name}: {why}"
    least = "privacy cost for the targets" if workload.has_all_targets else "predicted error"
    return f"{name} (Gaussian noise) or p_identity (Laplace noise): the one of least {least}"


WorkloadLike: TypeAlias = Workload | Request | Mapping[str, Any] | str | os.PathLike[str] | AnyMatrix
"""The types of values that ``as_workload`` takes."""

_YAML = (".yaml", ".yml")
_TABLES = (".csv", ".gz", ".tsv", ".parquet", ".duckdb", ".ddb", ".sqlite", ".sqlite3", ".db")
_FIRST = "the workload stands first: solve(workload, program)"
_NONE = "a program that asks nothing of a workload is solved by solve(program=program)"
_BASELINE = "write certify(workload, 'haar'), baseline('haar', workload)"
_SOLVED = "pass the workload that was solved: a solution knows it by its hash only"
_HINTS = {
    "DataVector": "a workload says what is asked of data: domain.marginals(ways=1)",
    "Domain": "say what is asked of it: domain.marginals(ways=1), domain.product(age='prefix')",
    "FactoredSolution": _SOLVED,
    "Privacy": "a privacy goes to plan and release, beside the workload",
    "NoneType": _NONE,
    "Program": f"{_FIRST}; {_NONE}",
    "Solution": _SOLVED,
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
    mmopt.errors.WorkloadError: 'l2_strategy' is a program, no workload
      the workload stands first: solve(workload, program)
    """
    if isinstance(value, Workload):
        return value
    request = as_request(value)
    if request is not None:
        return request.workload
    kind = type(value).__name__
    if isinstance(value, list | tuple) and any(isinstance(item, Workload) for item in value):
        raise WorkloadError(f"a {kind} of workloads is no Workload", hint="add them up: sum(workloads)")
    if kind in _HINTS:  # a DataVector is an array too
        raise WorkloadError(f"a {kind} is no Workload", hint=_HINTS[kind])
    is_array = isinstance(value, list | tuple) or hasattr(value, "__array__") or scipy.sparse.issparse(value)
    if is_array or is_frame(value):
        return Workload.from_matrix(value)
    raise WorkloadError(f"a {kind} is no Workload", hint=_TAKEN)


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
    is_file = isinstance(value, str | os.PathLike) and Path(value).suffix.lower() in _YAML
    is_described = is_file or isinstance(value, Workload | Request | Mapping)
    return as_workload(value).domain if is_described else value


def refuse_workload(data: object) -> None:
    """Raise OptionError for a workload in the place of data: two arguments are in the wrong order."""
    what = ""
    if isinstance(data, str | os.PathLike) and Path(data).suffix.lower() in _YAML:
        what = f"the workload file '{data}'"
    elif isinstance(data, Workload | Request | Domain):
        what = f"a {type(data).__name__}"
    elif isinstance(data, Mapping) and {"domain", "workload"} <= data.keys():
        what = "the dictionary of a workload file"
    if what:
        hint = "the data stand first: release(data, workload, privacy=…)"
        raise OptionError(f"{what} is given where data are expected", hint=hint)


def _of_path(value: str | os.PathLike[str]) -> Request:
    path = Path(value)
    if not path.exists():
        if (programs_folder() / f"{path}.program").is_file() or path.suffix == ".program":
            raise WorkloadError(f"'{path}' is a program, no workload", hint=_FIRST)
        if is_baseline(str(path)):
            raise WorkloadError(f"'{path}' is a baseline, no workload", hint=_BASELINE)
    if path.suffix.lower() in (*_TABLES, ".npy"):
        raise WorkloadError(
            f"'{path}' is no workload file by its name",
            hint="a workload file is YAML; a matrix is read first: Workload.from_matrix(numpy.load(path))",
        )
    return load_request(value)
