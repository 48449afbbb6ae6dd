"""A suite: a folder of programs and workloads, listed in its ``suite.yaml``.

    title: What the suite is for
    workloads:                      # by name: a workload file, or what would stand in one
      ages: ages.yaml
      ranges-6: {domain: {x: {range: [0, 6], width: 1}}, workload: [{product: {x: all_range}}]}
    instances:                      # each program with each of its workloads
      - {program: l2_strategy, workloads: [ages, ranges-6]}
      - {program: own.program, workloads: [ages], givens: {c: 2.0}, class: LP}
      - {program: l2_strategy_block, workloads: [ages, …], ladder: strategies}
      - {program: no_end.program, workloads: [ages], truth: unbounded}

A program is a shipped one, or a file beside ``suite.yaml``. ``class`` is what the table says of the
instances; where it is absent it is counted from the cones. Those of a ``ladder`` are of growing size: a
solver goes up until one takes too long. ``truth`` says why an instance has no solution, one of ``TRUTHS``.
Beside it stands ``optima.csv``, written by ``make.py --prove``: the proved optimum of each instance and the
hash of its file.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from mmopt import OptionError, Program, Workload
from mmopt.errors import suggest

__all__ = [
    "CLASSES",
    "TRUTHS",
    "Instance",
    "Optimum",
    "chosen_from",
    "class_of",
    "data_hash",
    "instances_in",
    "optima_in",
    "title_of",
]

TABLE, OPTIMA = "suite.yaml", "optima.csv"
LP, SOCP, BLOCK, LMI, EXPONENTIAL = CLASSES = (
    "LP",
    "SOCP",
    "one-block SDP",
    "many-LMI SDP",
    "exponential cone",
)
# Weakly: by less than any number, so that no ray proves it.
TRUTHS = ("infeasible", "weakly infeasible", "unbounded", "weakly unbounded")


@dataclass(frozen=True)
class Optimum:
    """lower <= optimum <= upper, proved for the data of the file with that hash.

    As decimals that are so rounded; empty where the proof did not succeed. row : all that the file says.
    """

    lower: str
    upper: str
    sha256: str
    row: Mapping[str, str]


@dataclass(frozen=True)
class Instance:
    """A program with a workload. stated, ladder, truth : what the table says; None where it says none."""

    program_name: str
    workload_name: str
    folder: Path
    source: Any
    givens: Mapping[str, Any] = field(default_factory=dict)
    stated: str | None = None
    ladder: str | None = None
    truth: str | None = None

    @property
    def name(self) -> str:
        """``program-workload``, also the name of its files."""
        return f"{Path(self.program_name).stem}-{self.workload_name}"

    @cached_property
    def program(self) -> Program:
        """Errors as ``Program.load``."""
        is_file = self.program_name.endswith(".program")
        return Program.load(self.folder / self.program_name if is_file else self.program_name)

    @cached_property
    def workload(self) -> Workload:
        """Errors as ``Workload.load``."""
        if isinstance(self.source, str):
            return Workload.load(self.folder / self.source)
        return Workload.of(self.source)


def class_of(cones: Any) -> str:
    """The class of a conic problem (``ConicProblem.cones``)."""
    if cones.exponential or cones.power:
        return EXPONENTIAL
    if cones.psd:
        return BLOCK if len(cones.psd) == 1 else LMI
    return SOCP if cones.second_order else LP


def data_hash(text: str) -> str:
    """SHA-256 of what a CBF file says, without its comments."""
    lines = [line.strip() for line in text.splitlines() if not line.startswith("#")]
    return hashlib.sha256("\n".join(line for line in lines if line).encode()).hexdigest()


def _table(folder: Path) -> Mapping[str, Any]:
    path = folder / TABLE
    try:
        found = YAML(typ="safe").load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise OptionError(
            f"'{path}' cannot be read: {error.strerror}",
            hint=f"a suite is a folder with a {TABLE}, which examples/benchmark/suite_table.py describes",
        ) from None
    except YAMLError as error:
        raise OptionError(f"'{path}' is no YAML: {' '.join(str(error).split())}") from None
    if not isinstance(found, dict) or not {"workloads", "instances"} <= set(found):
        raise OptionError(f"'{path}' needs the keys workloads and instances")
    return found


def title_of(folder: Path) -> str:
    """The title of a suite, or its folder's name."""
    return str(_table(folder).get("title", folder.name))


def instances_in(folder: Path, names: Sequence[str] | None = None) -> list[Instance]:
    """The instances of a suite in the table's order, or those named.

    Raises
    ------
    OptionError : no such table, a row that lacks something, or an unknown workload or instance.
    """
    table = _table(folder)
    workloads, found = table["workloads"], []
    for number, row in enumerate(table["instances"], 1):
        if not isinstance(row, dict) or not {"program", "workloads"} <= set(row):
            raise OptionError(
                f"row {number} of the instances in '{folder / TABLE}' needs a program and workloads"
            )
        for key, words in (("class", CLASSES), ("truth", TRUTHS)):
            if row.get(key) not in (None, *words):
                raise OptionError(f"'{row[key]}' is no {key}", hint=f"these are: {', '.join(words)}")
        stated = [row.get(key) for key in ("class", "ladder", "truth")]
        for name in row["workloads"]:
            if name not in workloads:
                raise OptionError(
                    f"row {number} of the instances in '{folder / TABLE}' has no workload '{name}'",
                    hint=suggest(str(name), workloads),
                )
            givens = dict(row.get("givens", {}))
            found.append(Instance(row["program"], name, folder, workloads[name], givens, *stated))
    return chosen_from(found, names)


def chosen_from(instances: Sequence[Instance], names: Sequence[str] | None) -> list[Instance]:
    """The instances named, or all; OptionError for a name that is none of theirs, or twice among them."""
    by_name = {each.name: each for each in instances}
    twice = next((each for each in instances if each is not by_name[each.name]), None)
    if twice is not None:
        table = by_name[twice.name].folder / TABLE
        raise OptionError(f"'{table}' has an instance twice: a program with a workload")
    for name in names or ():
        if name not in by_name:
            raise OptionError(f"there is no instance '{name}'", hint=suggest(name, by_name))
    return list(instances) if names is None else [by_name[name] for name in names]


def optima_in(folder: Path) -> dict[str, Optimum]:
    """The proved optima of a suite by instance; none where there is no such file."""
    path = folder / OPTIMA
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {row["instance"]: Optimum(row["lower"], row["upper"], row["sha256"], row) for row in rows}
