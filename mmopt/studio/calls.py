"""What a page of the studio can ask for, as tasks: each is answered in plain data, in a process of its own.

A text is a program or a workload file, and is only read. Solvers and shipped programs are named from lists:
the names that Python takes besides, of modules and of paths, would run or read files.
"""

import dataclasses
import json
import math
import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

import mmopt
from mmopt.comparison.program_comparison import combinations
from mmopt.comparison.worker import WorkerTask, stop_word
from mmopt.driver.accepted_options_and_inputs import why_workload
from mmopt.driver.solve_and_tune import solve
from mmopt.driver.task_and_plan import Report
from mmopt.errors import Error, OptionError, TooLargeError
from mmopt.language import Program, check, program_names
from mmopt.language.atoms.table_of_atoms import ATOMS
from mmopt.language.syntax.program_sections import SECTIONS
from mmopt.language.typeset import Formula, Sentence
from mmopt.limits import ended_after
from mmopt.privacy import Privacy
from mmopt.privacy.noise import noise_for
from mmopt.proof import bound_of
from mmopt.report.explain import Explanation, explain
from mmopt.report.explain.explained_facts import NodeFacts
from mmopt.report.explain.explanation_html_and_mathml import LatexError, mathml
from mmopt.report.program_tables_and_forecasts import sizes_of
from mmopt.report.strategy_charts import entries, error_curves
from mmopt.request.workload_file_and_arguments import parse_request
from mmopt.results import Solution
from mmopt.results.solution_rows_and_json import finite
from mmopt.solvers import KERNELS, SOLVERS
from mmopt.workloads import Workload

TEXT_BYTES = 16_384
CELLS, QUERIES, ROWS = 64, 200, 128  # most cells; most queries and rows of a strategy that are shown
MULTIPLIERS = 24  # most sliders
SECONDS, CHECK_SECONDS = 60.0, 3.0
CHECK_MEMORY, WORK_MEMORY = 2**30, 2 * 2**30  # bytes above the start of a process
DELTA = 1e-6
EPSILONS = (0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0)
QUIZ = Path(__file__).with_name("quiz")
Json = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Call(WorkerTask):
    """Something that a page asks for; the fields that a page may send are ``SENT``, and their kinds."""

    time_limit: float = CHECK_SECONDS
    memory_limit: int | None = CHECK_MEMORY

    @abstractmethod
    def answer(self, report: Report) -> Json:
        """The answer, as plain data; errors are those of what is called."""

    def result(self, report: Report) -> Json:
        """The answer, or what is wrong with what was asked."""
        try:
            with ended_after(self.time_limit):
                return self.answer(report)
        except Error as error:
            return {"problem": problem_of(error), "stop": stop_word(error)}


@dataclass(frozen=True, kw_only=True)
class Lists(Call):
    """The names and texts that a page offers."""

    def answer(self, report: Report) -> Json:
        programs = map(Program.load, program_names())
        return {
            "version": mmopt.__version__,
            "programs": [
                {
                    "name": p.name,
                    "title": p.title,
                    "class": p.problem_class,
                    "formulation_of": p.formulation_of,
                    "text": p.text,
                }
                for p in programs
            ],
            "solvers": list(solver_names()),
            "atoms": sorted(ATOMS),
            "keywords": list(SECTIONS),
            "limits": {
                "text": TEXT_BYTES,
                "cells": CELLS,
                "multipliers": MULTIPLIERS,
                "seconds": SECONDS,
            },
            "quiz": [quiz_entry(path) for path in sorted(QUIZ.glob("*.program"))],
        }


@dataclass(frozen=True, kw_only=True)
class Check(Call):
    """The mistakes of a program, and where names and shapes fit its formulas and trees."""

    text: str

    def answer(self, report: Report) -> Json:
        try:
            program = Program.parse(sized(self.text), "program")
            explained = explain_alone(program)
        except Error as error:
            return {"problems": problems_of(error), "program": None, "asks": True}
        faults = [line.blamed for line in explained.lines if line.blamed is not None]
        problems = [
            {**place_of(f.where), "message": f.message, "hint": f.hint} for f in faults
        ]
        if not problems:
            try:
                check(program)
            except Error as error:
                problems = problems_of(error)
        problems.sort(key=lambda one: (one["line"], one["column"]))
        return {
            "problems": problems,
            "program": program_facts(explained, program.sense),
            "asks": bool(why_workload(program)),
        }


@dataclass(frozen=True, kw_only=True)
class Posed(Call):
    """Something about a program for a workload."""

    text: str
    workload: Mapping[str, Any]

    @property
    def needs_conic(self) -> bool:
        return True

    @cached_property
    def program(self) -> Program:
        """The program of the text."""
        return Program.parse(sized(self.text), "program")

    @cached_property
    def queries(self) -> Workload:
        """The workload, whether or not the program asks something of one."""
        return workload_of(**self.workload)


@dataclass(frozen=True, kw_only=True)
class Bound(Posed):
    """The bound at exactly these multipliers, by name, their entries in a row."""

    multipliers: Mapping[str, list[float]]

    def answer(self, report: Report) -> Json:
        bound = bound_of(self.program, self.queries, self.multipliers)
        return {"bound": finite(bound.bound), "grade": bound.grade or "", "why": bound.why}


@dataclass(frozen=True, kw_only=True)
class Solve(Posed):
    """A solution, with what is drawn of it."""

    solver: str | None = None
    seconds: float = SECONDS
    memory_limit: int | None = WORK_MEMORY

    def solution(self, report: Report) -> Solution:
        """The solution by the solver, of those listed."""
        if self.solver is not None and self.solver not in solver_names():
            raise OptionError("there is no such solver", hint=f"known: {', '.join(solver_names())}")
        return solve(
            self.queries, self.program, solver=self.solver, time_limit=self.seconds, progress=report
        )

    def answer(self, report: Report) -> Json:
        return {"solution": solution_facts(self.solution(report), self.queries, self.program)}


@dataclass(frozen=True, kw_only=True)
class Combinations(Posed):
    """The programs and solvers that a comparison takes in turn."""

    solvers: list[str] = field(default_factory=list)
    formulations: bool = False

    def answer(self, report: Report) -> Json:
        if unlisted := set(self.solvers) - set(solver_names()):
            raise OptionError(f"there is no solver '{unlisted.pop()}'", hint=", ".join(solver_names()))
        chosen = combinations([self.program], self.solvers or None, formulations=self.formulations)
        return {"chosen": [{"text": c.program.text, "solver": c.solver} for c in chosen]}


@dataclass(frozen=True, kw_only=True)
class Row(Solve):
    """A row of a comparison."""

    def answer(self, report: Report) -> Json:
        sizes = sizes_of(self.program, self.queries, solver=self.solver)
        began = time.perf_counter()
        row = {
            "program": self.program.name,
            "solver": self.solver or "",
            "variables": sum(s.variables for s in sizes),
            "cones": ", ".join(cone_words(s.cones) for s in sizes if s.cones),
        }
        try:
            solution = self.solution(report)
        except Error as error:
            return {"row": {**row, "stop": stop_word(error), "reason": error.message}}
        return {
            "row": {
                **row,
                "solver": solution.solver,
                "seconds": time.perf_counter() - began,
                "objective": finite(solution.objective),
                "bound": finite(solution.bound),
                "gap": finite(solution.gap),
                "bound_grade": solution.bound_grade or "",
                "violation": finite(solution.status.violation),
                "stop": solution.status.stop,
                "reason": "",
            }
        }


#: The calls by the names of their addresses. What a page sends is read into their fields.
CALLS: Mapping[str, type[Call]] = {
    "lists": Lists,
    "check": Check,
    "bound": Bound,
    "solve": Solve,
    "compare": Combinations,
}


def solver_names() -> tuple[str, ...]:
    """The kernels and the conic solvers that are installed: none that a caller's text could add."""
    return (*(k.name for k in KERNELS), *(row.name.lower() for row in SOLVERS if row.is_installed))


def sized(text: str) -> str:
    """A text, if it is not too long."""
    if len(text.encode("utf-8", errors="replace")) > TEXT_BYTES:
        raise TooLargeError(f"the text has more than {TEXT_BYTES:,} bytes")
    return text


def workload_of(
    kind: str = "prefix",
    cells: int = 8,
    weight: Mapping[str, float] | None = None,
    file: str = "",
) -> Workload:
    """The workload that a page chose: of some shape over so many cells, or the text of a workload file.

    weight : ``times`` the squared error of the ``query`` of this number. Each query may have variance 1.

    Raises
    ------
    WorkloadError : the text is no workload. OptionError : a number out of range. TooLargeError : as named.
    """
    if kind == "file":
        workload = parse_request(sized(file), "workload").workload
        if workload.n > CELLS or workload.m > CELLS * (CELLS + 1) // 2:
            raise TooLargeError(
                f"the workload has {workload.n:,} cells and {workload.m:,} queries",
                hint=f"here up to {CELLS} cells; the commands take more",
            )
        return workload
    if not 2 <= cells <= CELLS:
        raise OptionError(f"{cells} cells, expected 2 to {CELLS}")
    labels, matrix = SHAPES[kind](cells) if kind in SHAPES else ([], np.zeros((0, 0)))
    if not labels:
        raise OptionError("there is no such workload", hint=f"known: {', '.join(SHAPES)}, file")
    weights = np.ones(len(labels))
    if weight is not None:
        number, times = int(weight.get("query", 0)), float(weight.get("times", 1.0))
        if not (0 <= number < len(labels) and 1e-3 <= times <= 1e3):
            raise OptionError("a weight is of one of the queries, from 0.001 to 1,000 times")
        weights[number] = times
    import pandas
    return Workload.from_matrix(pandas.DataFrame(matrix, index=labels), np.ones(len(labels)), weights)
