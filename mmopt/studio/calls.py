"""Calls of a page of the studio, as tasks: each is answered in plain data, in a process of its own.

A text is a program or a workload file, and is only read. Solvers and shipped programs are named from lists:
the names that Python takes besides, of modules and of paths, would run or read files.
"""

import math
import time
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, ClassVar
from xml.etree import ElementTree

import numpy as np

from mmopt import __version__
from mmopt.comparison.program_comparison import combinations
from mmopt.comparison.worker import WorkerTask, stop_word
from mmopt.compiler import Cone
from mmopt.driver.accepted_options_and_inputs import why_workload
from mmopt.driver.solve_and_tune import solve
from mmopt.driver.task_and_plan import Report
from mmopt.errors import (
    Error,
    Location,
    OptionError,
    ProgramError,
    SolverError,
    TooLargeError,
    UnsuitableError,
)
from mmopt.language import (
    ATOMS,
    SECTIONS,
    Formula,
    Program,
    Sentence,
    Survey,
    program_names,
    survey,
)
from mmopt.limits import deadline
from mmopt.privacy import Privacy
from mmopt.privacy.noise import noise_for
from mmopt.proof import bound_of, dual_function
from mmopt.report.charts import entries, error_curves
from mmopt.report.explain import solved_lines
from mmopt.report.explain.explained_facts import (
    NodeFacts,
    about_words,
    bound_facts,
    line_facts,
    repair_words,
    statements,
)
from mmopt.report.explain.explanation_html_and_mathml import LatexError, mathml
from mmopt.report.explain.places_in_the_text import Places
from mmopt.report.program_tables_and_forecasts import sizes_of
from mmopt.request.workload_file_and_arguments import parse_request
from mmopt.results import Solution
from mmopt.results.solution_rows_and_json import finite
from mmopt.solvers import KERNELS, SOLVERS
from mmopt.workloads import (
    Domain,
    Explicit,
    Workload,
)

TEXT_BYTES = 16_384
CELLS, QUERIES, ROWS = 64, 200, 128  # most cells; most queries and rows of a strategy that are shown
MULTIPLIERS = 24  # most sliders
ROUNDED = 1e-9  # relative: multipliers that are moved by less count as those that were set
SECONDS, CHECK_SECONDS = 60.0, 5.0  # time limits; the process is killed at ``hard_limit`` of them
CHECK_MEMORY, WORK_MEMORY = 2**30, 2 * 2**30  # bytes above the start of a process
BESIDE = "identity", "workload"  # baselines whose errors are shown
DELTA = 1e-6
EPSILONS = (0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0)
SYMMETRIC = "psd", "symmetric"  # kinds of multipliers whose entries are tied in pairs
LEVELS = 7, 14  # the last easy and the last middling program of the quiz
QUIZ, TEXTBOOK = (Path(__file__).with_name(folder) for folder in ("quiz", "textbook"))
Json = dict[str, Any]
Kinds = Mapping[str, type | tuple[type, ...]]
#: The names and kinds of what makes a workload, and a weight in it.
WORKLOAD: Kinds = {"kind": str, "cells": int, "weight": (dict, type(None)), "file": str}
WEIGHT: Kinds = {"query": (int, float), "times": (int, float)}


@dataclass(frozen=True, kw_only=True)
class PageCall(WorkerTask):
    """Something that a page asks for."""

    time_limit: float = CHECK_SECONDS
    memory_limit: int | None = CHECK_MEMORY

    @abstractmethod
    def answer(self, report: Report) -> Json:
        """The answer, as plain data; errors are those of what is called."""

    def result(self, report: Report) -> Json:
        """The answer, or what is wrong with what was asked."""
        try:
            with deadline(self.time_limit):
                return self.answer(report)
        except Error as error:
            return {"problem": problem_of(error), "stop": stop_word(error)}


@dataclass(frozen=True, kw_only=True)
class Offers(PageCall):
    """The names and texts that a page offers."""

    def answer(self, report: Report) -> Json:
        return {
            "version": __version__,
            "programs": [
                {"name": p.name, "title": p.title, "text": p.text, "group": group}
                for group, programs in (
                    ("Shipped programs", map(Program.load, program_names())),
                    ("From textbooks", map(program_of, sorted(TEXTBOOK.glob("*.program")))),
                )
                for p in programs
            ],
            "solvers": list(solver_names()),
            "atoms": sorted(ATOMS),
            "words": [[a.text.format(*"xyz"), a.about] for a in ATOMS.values()],
            "keywords": list(SECTIONS),
            "limits": {
                "cells": CELLS,
                "multipliers": MULTIPLIERS,
                "seconds": SECONDS,
                "text": TEXT_BYTES,
            },
            "quiz": [quiz_entry(path) for path in sorted(QUIZ.glob("*.program"))],
        }


@dataclass(frozen=True, kw_only=True)
class TextCheck(PageCall):
    """The mistakes of a program, and where names and shapes fit its formulas and trees."""

    text: str

    def answer(self, report: Report) -> Json:
        try:
            program = Program.parse(sized(self.text), "program")
            surveyed = survey(program)
        except ProgramError as error:
            problems = [problem_of(one) for one in (error, *error.others)]
            return {"problems": problems, "program": None, "asks": True}
        faults = [line.fault for line in surveyed.lines if line.fault is not None]
        return {
            "problems": [problem_of(fault) for fault in faults],
            "program": program_facts(surveyed),
            "asks": bool(why_workload(program)),
        }


@dataclass(frozen=True, kw_only=True)
class Posed(PageCall):
    """Something about a program for a workload."""

    text: str
    workload: Mapping[str, Any]

    @cached_property
    def program(self) -> Program:
        """The program of the text."""
        return Program.parse(sized(self.text), "program")

    @cached_property
    def queries(self) -> Workload:
        """The workload; the default one, whatever was set, where the program asks nothing of it."""
        if not why_workload(self.program):
            return workload_of()
        if wrong := unlike(self.workload, WORKLOAD) or unlike(self.workload.get("weight") or {}, WEIGHT):
            raise OptionError(f"a workload has no part '{wrong[0]}'")
        return workload_of(**self.workload)


@dataclass(frozen=True, kw_only=True)
class Bound(Posed):
    """The bound at exactly these multipliers, by name, their entries in a row."""

    multipliers: Mapping[str, Any]
    point: Mapping[str, Any] | None = None

    @property
    def needs_conic(self) -> bool:
        return True

    def answer(self, report: Report) -> Json:
        bound = bound_of(self.program, self.queries, self.multipliers, point=self.point)
        kept = {name: np.ravel(value) for name, value in bound.multipliers.items()}
        facts: Json = {
            "bound": finite(bound.bound),
            "grade": bound.grade or "",
            "why": bound.why,
            "is_moved": any(
                not np.allclose(
                    kept[name], np.ravel(value), rtol=ROUNDED, atol=ROUNDED * np.abs(value).max(initial=0)
                )
                for name, value in self.multipliers.items()
                if name in kept
            ),
        }
        if {line.name for line in self.program.constraints} == kept.keys():
            with suppress(UnsuitableError, SolverError):
                dual = dual_function(self.program, self.queries, bound.multipliers)
                facts["dual"] = {"value": finite(dual)}  # None where it is infinite
        return facts


@dataclass(frozen=True, kw_only=True)
class Solve(Posed):
    """A solution, with what is drawn of it."""

    has_points: ClassVar[bool] = True
    solver: str | None = None
    seconds: float = SECONDS
    memory_limit: int | None = WORK_MEMORY

    def __post_init__(self) -> None:
        object.__setattr__(self, "time_limit", min(max(0.1, self.seconds), SECONDS))

    @property
    def needs_conic(self) -> bool:
        return True

    def solution(self, report: Report) -> Solution:
        """The solution by the solver, of those listed."""
        solver = listed(self.solver)
        return solve(self.queries, self.program, solver=solver, time_limit=self.time_limit, progress=report)

    def answer(self, report: Report) -> Json:
        return {"solution": solution_facts(self.solution(report), self.queries, self.program)}


@dataclass(frozen=True, kw_only=True)
class Combinations(Posed):
    """The programs and solvers that a comparison takes in turn."""

    solvers: list[str] = field(default_factory=list)
    formulations: bool = False
    seconds: float = SECONDS

    def answer(self, report: Report) -> Json:
        solvers = [listed(name) for name in self.solvers]
        chosen = combinations([self.program], solvers or None, formulations=self.formulations)
        return {
            "chosen": [{"name": c.program.name, "text": c.program.text, "solver": c.solver} for c in chosen]
        }


@dataclass(frozen=True, kw_only=True)
class Row(Solve):
    """A row of a comparison."""

    def answer(self, report: Report) -> Json:
        sizes = sizes_of(self.program, self.queries, solver=listed(self.solver))
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
                "value": finite(solution.value),
                "bound": finite(solution.bound),
                "gap": finite(solution.gap),
                "violation": finite(solution.status.violation),
                "stop": solution.status.stop,
                "reason": "",
            }
        }


#: The calls by the names of their addresses. What a page sends is read into their fields.
CALLS: Mapping[str, type[PageCall]] = {
    "lists": Offers,
    "check": TextCheck,
    "bound": Bound,
    "solve": Solve,
    "compare": Combinations,
}


def solver_names() -> tuple[str, ...]:
    """The kernels and the conic solvers that are installed: none that a caller's text could add."""
    return (*(k.name for k in KERNELS), *(row.name.lower() for row in SOLVERS if row.is_installed))


def listed(solver: Any) -> Any:
    """A solver of those listed, or None; other names would be imported."""
    if solver is not None and solver not in solver_names():
        raise OptionError("there is no such solver", hint=f"known: {', '.join(solver_names())}")
    return solver


def unlike(sent: Mapping[str, Any], kinds: Kinds) -> list[str]:
    """The names of what was sent that are unknown, or whose values are of another kind."""
    return [name[:40] for name, value in sent.items() if not isinstance(value, kinds.get(name, ()))]


def sized(text: str) -> str:
    """A text, if it is not too long."""
    if len(text.encode("utf-8", errors="replace")) > TEXT_BYTES:
        raise TooLargeError(f"the text has more than {TEXT_BYTES:,} bytes")
    return text


def workload_of(
    kind: str = "prefix",
    cells: int = 8,
    weight: Mapping[str, Any] | None = None,
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
    if kind not in SHAPES:
        raise OptionError(f"there is no workload '{kind}'", hint=f"known: {', '.join(SHAPES)}, file")
    if not 2 <= cells <= CELLS:
        raise OptionError(f"{cells} cells, expected 2 to {CELLS}")
    workload = SHAPES[kind](cells)
    weights = np.ones(workload.m)
    if weight is not None:
        number, times = weight.get("query", -1), weight.get("times", 0)
        if number not in range(workload.m):
            raise OptionError(f"'Give query': {number + 1}, expected a whole number from 1 to {workload.m}")
        if not 1e-3 <= times <= 1e3:
            raise OptionError(f"'a weight of': {times}, expected 0.001 to 1,000; empty counts as 0")
        weights[int(number)] = times
    block = Explicit.read(workload.queries, np.ones(workload.m), weights, workload.labels())
    return Workload(workload.domain, (block,))


def of_one(block: str, cells: int) -> Workload:
    """The queries of a block over cells in a row."""
    return Domain.of(cell=list(range(1, cells + 1))).product(cell=block)


def two_tables(cells: int) -> Workload:
    """The counts by row and by column of a table that is nearly square, of at most so many cells."""
    rows = math.isqrt(cells)
    domain = Domain.of(row=list(range(1, rows + 1)), column=list(range(1, cells // rows + 1)))
    return domain.marginal("row") + domain.marginal("column")


SHAPES: Mapping[str, Callable[[int], Workload]] = {
    "prefix": partial(of_one, "prefix"),
    "ranges": partial(of_one, "all_range"),
    "tables": two_tables,
}


# -- facts as plain data


def program_of(path: Path) -> Program:
    """The program of a file beside this one."""
    return Program.parse(path.read_text(encoding="utf-8"), path.name)


def quiz_entry(path: Path) -> Json:
    """A program of the quiz: easy, middling or hard by its number."""
    program = program_of(path)
    level = 1 + (int(path.name[:2]) > LEVELS[0]) + (int(path.name[:2]) > LEVELS[1])
    return {"level": level, "text": program.text, "question": program.about}


def problem_of(error: Error) -> Json:
    """A mistake, its place (line 0 where there is none), and what to do about it."""
    where = error.where or Location("", 0, 0)
    place = {name: getattr(where, name) for name in ("file", "line", "column", "width")}
    return {**place, "message": error.message, "hint": error.in_python or error.hint}


def math_of(formula: Formula) -> list[Any]:
    """A formula in MathML: tag, attributes, then texts and parts of the same form."""
    try:
        return tree_of(ElementTree.fromstring(mathml(formula.latex)))
    except (LatexError, ElementTree.ParseError):
        return ["math", {}, ["mtext", {}, formula.plain]]


def tree_of(element: ElementTree.Element) -> list[Any]:
    """An element as its tag, its attributes, and its texts and parts in order."""
    parts = [one for part in element for one in (tree_of(part), part.tail)]
    return [element.tag, dict(element.attrib), *(one for one in (element.text, *parts) if one)]


def sentence_of(sentence: Sentence) -> list[Any]:
    """A sentence: texts, and formulas in MathML."""
    return [part if isinstance(part, str) else math_of(part) for part in sentence]


def node_of(node: NodeFacts) -> Json:
    """A node of a tree with all below it."""
    where = node.where
    return {
        **{name: getattr(node, name) for name in ("shape", "sign", "curvature", "order", "rule", "blamed")},
        "formula": math_of(node.formula),
        "short": math_of(node.short),
        "plain": node.short.plain,
        "place": None if where is None else [where.line, where.column, where.width],
        "same": node.same,
        "parts": [node_of(part) for part in node.parts],
    }


def program_facts(surveyed: Survey) -> Json:
    """A program typeset, with the trees of its lines, its prose and its proof."""
    checked, program = surveyed.checked, surveyed.checked.written
    bound, places = bound_facts(checked), Places(program)
    return {
        "name": program.name,
        "title": program.title,
        "cite": program.cite,
        "class": program.problem_class,
        "sense": program.sense,
        "about": sentence_of(about_words(checked)),
        "statements": [
            {"label": s.label, "formula": math_of(s.formula), "words": sentence_of(s.words)}
            for s in statements(checked)
        ],
        "lines": [
            {
                "name": line.name,
                "formula": math_of(line.formula),
                "wanted": line.wanted,
                "sides": [node_of(side) for side in line.sides],
                "left_out": line.left_out,
                "blamed": surveyed_line.fault and problem_of(surveyed_line.fault),
            }
            for surveyed_line in surveyed.lines
            for line in (line_facts(checked, surveyed_line, places),)
        ],
        "repair": [sentence_of(words) for words in repair_words(program)],
        "bound": {
            "formula": None if bound.formula is None else math_of(bound.formula),
            "sentences": [sentence_of(words) for words in bound.sentences],
            "proof": sentence_of(bound.proof),
            "is_claim": bound.is_claim,
        },
    }


@cache
def noise_scales(norm: int) -> list[Json]:
    """Standard deviations of noise per unit of sensitivity, at each epsilon of the slider."""
    deviation = noise_for(norm).continuous.deviation
    delta = 0.0 if norm == 1 else DELTA
    return [
        {"epsilon": e, "delta": delta, "scale": deviation(Privacy(epsilon=e, delta=delta or None))}
        for e in EPSILONS
    ]


def cone_words(cones: Iterable[Cone]) -> str:
    """The cones of a problem by their kinds: ``psd 2, nonnegative 16``."""
    counts = sum((Counter({cone.kind: cone.count}) for cone in cones), Counter[str]())
    return ", ".join(f"{count} {kind}" for kind, count in counts.items())


def numbers_of(value: Any) -> list[Any]:
    """The entries of an array, row by row."""
    return [finite(float(entry)) for entry in np.asarray(value).ravel()]


def solution_facts(solution: Solution, workload: Workload, program: Program) -> Json:
    """Figures, strategy, errors and multipliers of a solution."""
    facts: Json = {
        "program": solution.program,
        "sense": solution.sense,
        "objective": finite(solution.objective),
        "bound": finite(solution.bound),
        "gap": finite(solution.gap),
        "bound_grade": solution.bound_grade or "",
        "rests": [f"{label}: {text}" for label, text in solution.rows()],
        "warnings": list(solution.warnings),
        "matrix": None,
        "queries": [],
        "more": 0,
        "epsilons": noise_scales(solution.strategy.norm),
        "has_certificate": program.certificate is not None or bool(program.bound),
        "bounded_by": program.bound,
        "multipliers": multiplier_facts(solution, program),
        "variables": {name: np.asarray(value).tolist() for name, value in solution.variables.items()},
    }
    solved = solved_lines(program, workload, solution)
    facts["legend"] = solved.legend
    facts["lines"] = [
        {name: value for name, value in asdict(line).items() if name != "total"} for line in solved.lines
    ]
    if solution.has_strategy:
        rows = entries(solution.strategy)[:ROWS]
        errors = error_curves(solution.strategy, workload, solution.program)
        shown: dict[str, Any] = {name: errors[name] for name in BESIDE if name in errors}
        shown["error"] = next(iter(errors.values()))
        labels = workload.labels()
        cells = [", ".join(workload.domain.cell(at)) for at in range(workload.n)]
        facts["matrix"] = {"rows": [numbers_of(row) for row in rows], "columns": cells}
        facts["queries"] = [
            {"label": label, **{name: finite(float(e[at])) for name, e in shown.items()}}
            for at, label in enumerate(labels[:QUERIES])
        ]
        facts["more"] = max(0, len(labels) - QUERIES)
    return facts


def multiplier_facts(solution: Solution, program: Program) -> list[Json]:
    """The multipliers that the bound is made of: those of a certificate; without one those of all lines,
    of inequalities 0 or above.

    None where another program's solution has them; by ``bound l2_strategy`` every solution has its own.
    """
    values = solution.multipliers
    if program.bound:
        values = {"sensitivity": solution.error_multipliers} if program.bound == "l2_strategy" else {}
    judge = Program.load(program.bound) if program.bound else program
    lines = {
        c.name: (c.relation.op in ("<=", ">="), c.relation.op in ("<<", ">>")) for c in program.constraints
    }
    kinds = {m.key: (bool(m.declaration.sign), m.declaration.kind in SYMMETRIC) for m in judge.multipliers}
    return [
        {
            "name": name,
            "shape": np.shape(values[name]),
            "values": numbers_of(values[name]),
            "lower": 0 if is_signed else None,
            "symmetric": is_symmetric,
        }
        for name, (is_signed, is_symmetric) in (kinds or lines).items()
        if name in values
    ]
