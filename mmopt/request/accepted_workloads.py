"""What is taken for a workload wherever one is expected, and what is said of anything else."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import scipy.sparse

from mmopt.errors import OptionError, WorkloadError
from mmopt.request.workload_file import Request, load_request
from mmopt.resources import programs_folder
from mmopt.strategies.baselines import is_baseline
from mmopt.workloads import Domain, Workload
from mmopt.workloads.blocks.matrix_blocks import AnyMatrix
from mmopt.workloads.frame_labels import is_frame

__all__ = ["WorkloadLike", "as_domain", "as_request", "as_workload", "refuse_workload"]

WorkloadLike: TypeAlias = Workload | Request | Mapping[str, Any] | str | os.PathLike[str] | AnyMatrix
"""What ``as_workload`` takes."""

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

    A Workload itself; that of a Request or of a workload file, normalised where it says so, whatever privacy
    it asks for; that of a dictionary with the keys of a workload file; and a matrix of queries, as
    ``Workload.from_matrix`` takes it: array, rows in lists, scipy sparse, data frame.

    Raises
    ------
    WorkloadError : anything else, with what to write; a file, a dictionary or a matrix that is no workload.

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
    """What a Request, a workload file of any name, or its dictionary asks for; None for anything else.

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
    """OptionError for a workload where data are expected: two arguments stand in the wrong order."""
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
