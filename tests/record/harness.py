"""Runs a case of the golden record, masks its figures, and lays it beside what was recorded.

A record is the printed text of a case, a line with figures followed by ``¦`` and these in order. Words are
compared as they follow each other, however the lines are broken; figures by the tolerance of the case's kind,
whole numbers exactly. What depends on the machine or the day (:data:`VOLATILE`) is ``~`` and is not compared.
"""

import csv
import os
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

import cvxpy  # noqa: F401 - loaded before any case
from command_line import called  # what main() runs, without its watch over Ctrl-C
from tolerances import RECORD, RECORD_ZERO

from mmopt.language import program_names, shipped

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent

NOISY = ("estimate", "low", "high")  # columns of answers.csv that the noise makes
LONGEST = 50  # lines of answers.csv

Step = str | Callable[[], str]

NUMBER = re.compile(r"(?<![A-Za-z_0-9.])-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![A-Za-z_0-9])")

# Each keeps what its groups find.
VOLATILE = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        r'("(?:gap|error_gap|violation|iterations|compile|solve|total|seconds|time|raw|bias|rounding_loss|hash'
        r'|sha256|workload|mmopt|opendp|numpy|python|solver_version|memory|elapsed|cpu|bits)": ).*?(,?)$',
        r"()(?<![\w.-])[0-9a-f]{16,64}\b(…?)",
        r"(\bsolver +[a-z]\w+ )\d[\w.]*()",
        r"()\b\d+( iterations\b)",
        r"(\bfeasible); off by [-+.\de]+()",
        r"()\b\d+( pairs\b)",
        r"(\b(?:off by|before repair|gap|slack|seconds|spread|residual(?: of)?) )[^a-z\n]*?\d[-+.\de]*()",
        r"^((?:error )?gap +).*?( +\([a-z]+\))?$",
        r"^(seconds +).*()$",
        r"^(released +).*()$",
        r'("(?:history|points)": \[)[^\]]*(\])',
        r"()≈? *\b\d[\d.,]* (?:s|ms|KiB|MiB|GiB|days|hours|minutes)\b()",
    )
)
RUN = re.compile(r"([─=-])\1{3,}")  # a rule is as long as the numbers below it are wide


@dataclass(frozen=True)
class Case:
    """Steps taken in a folder of their own that holds the inputs; ``kind`` is a row of ``RECORD``.

    A step is a command line (``cat FILE`` prints a file, the answers of a release without what the noise
    makes of them) or a function that gives a text; ``also`` is one more thing that is not compared;
    ``marks`` are those of pytest.
    """

    name: str
    kind: str
    steps: tuple[Step, ...]
    also: str = ""
    marks: tuple[str, ...] = ()


def performed(case: Case, inputs: Mapping[str, str]) -> str:
    """The text of all steps, in the current folder."""
    for name in program_names():  # what a process loads once is loaded before, as cvxpy is
        shipped(name)
    for name, text in inputs.items():
        Path(name).write_text(text, encoding="utf-8")
    Path("examples").symlink_to(ROOT / "examples")
    Path("saved").symlink_to(HERE / "saved")
    text = "\n".join(_step(step) for step in case.steps)
    text = text.replace(os.getcwd(), "HERE").replace(str(ROOT), "ROOT")
    for pattern in VOLATILE:
        text = pattern.sub(r"\1~\2", text)
    return re.sub(case.also, r"\1~", text, flags=re.MULTILINE) if case.also else text


def _step(step: Step) -> str:
    if callable(step):
        return f">>> {step.__name__}\n{step()}\n"
    if step.startswith("cat "):
        text = Path(step.removeprefix("cat ")).read_text(encoding="utf-8")
        if step.endswith("answers.csv"):
            rows = [row | dict.fromkeys(NOISY, "~") for row in csv.DictReader(text.splitlines()[:LONGEST])]
            text = "".join(" ; ".join(row.values()) + "\n" for row in rows)
        return f"$ {step}\n{text}"
    done = called(*shlex.split(step))
    return f"$ mmopt {step}\nstatus {done.exit_code}\n{done.stdout}--\n{done.stderr}"


def recorded(text: str) -> str:
    """The text as it is kept: masked lines, each with its figures beside it."""
    lines = []
    for line in text.splitlines():
        figures = NUMBER.findall(line)
        masked = NUMBER.sub("#", RUN.sub(r"\1", line)).rstrip()
        lines.append(f"{masked} ¦ {' '.join(figures)}" if figures else masked)
    return "\n".join(lines) + "\n"


def difference(old: str, new: str, kind: str) -> str:
    """The first line that differs, as recorded and as it is now; empty if there is none."""
    parts = [[_parts(line) for line in text.splitlines()] for text in (old, new)]
    for what, same in ((0, str.__eq__), (1, lambda a, b: agree(a, b, RECORD[kind]))):
        one, two = ([(item, line) for line in lines for item in line[what]] for lines in parts)
        for a, b in zip_longest(one, two, fillvalue=("", ([], [], "(nothing)"))):
            if not same(a[0], b[0]):
                return f"'{a[0]}' was recorded, '{b[0]}' is here now\nold: {a[1][2]}\nnew: {b[1][2]}"
    return ""


def _parts(line: str) -> tuple[list[str], list[str], str]:
    # How far a point is off is masked where it is said; where it is off by nothing, nothing is said.
    # The bars of a tree are as many as its lines, which numbers make longer or shorter.
    words, _, figures = line.replace("feasible~", "feasible").replace("│", " ").partition(" ¦ ")
    return words.split(), figures.split(), line


def agree(one: str, two: str, tolerance: float) -> bool:
    """Are two printed numbers the same, up to the tolerance and to a step of the last digit printed?"""
    if one == two:
        return True
    steps = [_step_of_last_digit(text) for text in (one, two)]
    if one.lstrip("-").isdigit() and two.lstrip("-").isdigit():
        return False
    a, b = float(one), float(two)
    return abs(a - b) <= RECORD_ZERO + max(steps) + tolerance * max(abs(a), abs(b))


def _step_of_last_digit(text: str) -> float:
    """Zero of a whole number, and of a short one: ``0.95`` is a setting, as is ``1e-06``."""
    mantissa, _, exponent = text.lower().partition("e")
    digits = len(mantissa.lstrip("-0.").replace(".", ""))
    if digits < 2 or (not exponent and (digits < 3 or "." not in mantissa)):
        return 0.0
    places = len(mantissa.partition(".")[2])
    return 10.0 ** (int(exponent or 0) - places)


def checked(case: Case, inputs: Mapping[str, str], record: bool) -> str:
    """Faults of a case; with ``record``, it is written down again if there are any."""
    kept = HERE / "kept" / f"{case.name}.txt"
    new = recorded(performed(case, inputs))
    old = kept.read_text(encoding="utf-8") if kept.exists() else ""
    wrong = difference(old, new, case.kind)
    if wrong and record:
        kept.parent.mkdir(exist_ok=True)
        kept.write_text(new, encoding="utf-8")
        return ""
    return wrong and f"{case.name}: {wrong}\nIf it is meant: pytest tests/record --record -m '', and say why."
