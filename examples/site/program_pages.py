"""A page for each shipped program, and their list: all of it from the program files and from a solve.

A page has what ``mmopt.explain`` says, the file itself, and a small workload solved while the site is built.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from studio_links import try_it

from mmopt.language import Program, program_names
from mmopt.report.chart_parts import save
from mmopt.results import Solution

__all__ = ["explanation_style", "instance_code", "program_page", "programs_index", "write_program_pages"]

CLASSES = {
    "convex": "Convex programs",
    "rank": "Programs with a rank constraint",
    "smooth": "Smooth programs, searched from several starts",
    "procedure": "Procedures, whose steps solve other programs",
    "closed form": "Closed forms",
}
CELLS = 8
CELLS_OF_A_HEURISTIC = 4  # a rank heuristic takes minutes with more


def write_program_pages(folder: Path, is_wanted: Callable[[str], bool] = lambda name: True) -> None:
    """Write ``index.md`` and a page for each program whose name is wanted, by two processes."""
    folder.mkdir(parents=True, exist_ok=True)
    programs = [Program.load(name) for name in program_names()]
    (folder / "index.md").write_text(programs_index(programs, is_wanted), encoding="utf-8")
    os.environ["OMP_NUM_THREADS"] = "1"
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        wanted = [p.name for p in programs if is_wanted(p.name)]
        for _ in pool.map(_write, wanted, [folder] * len(wanted)):
            pass


def _write(name: str, folder: Path) -> None:
    (folder / f"{name}.md").write_text(program_page(name, folder), encoding="utf-8")


def programs_index(programs: list[Program], is_wanted: Callable[[str], bool]) -> str:
    """All programs, by class; of one problem its other forms below it."""
    from mmopt.report.program_tables_and_forecasts import place

    lines = [
        "# The programs",
        "",
        "Each is a text file of the folder `programs/`. *Bound*: whether the program proves a bound of its "
        "own, takes that of another, or has one derived from its lines.",
        "",
    ]
    names = {p.name for p in programs}
    for problem_class, title in CLASSES.items():
        lines += [f"## {title}", "", "| program | what it finds | source | bound |", "|---|---|---|---|"]
        chosen = [p for p in programs if p.problem_class == problem_class]
        for p in sorted(chosen, key=lambda p: (p.formulation_of or p.name, bool(p.formulation_of), p.name)):
            known = p.formulation_of in names
            title = f"{p.title}; another form of {_link(p.formulation_of)}" if known else p.title
            bound = (
                "its own"
                if p.certificate
                else _link(p.bound)
                if p.bound
                else "derived" * (problem_class == "convex")
            )
            lines.append(f"| {_link(p.name)} | {title} | {place(p)} | {bound or '-'} |")
        lines.append("")
    contents = [f"{p.name} <{p.name}>" for p in programs if is_wanted(p.name)]
    return "\n".join([*lines, "```{toctree}", ":hidden:", "", *contents, "```", ""])


def program_page(name: str, folder: Path) -> str:
    """The page of a program; its picture is written into the folder."""
    import mmopt

    program = Program.load(name)
    sections = fragments(mmopt.explain(program)._repr_html_())
    _, about = next(sections)
    lines = [f"# {program.title or name}", "", *_facts(program), "", _raw(_prose(about))]
    for title, inner in sections:
        lines += ["", f"## {title}", "", _raw(inner)]
        if title == "The program":
            lines += ["", f"## The file `{name}.program`", "", "```mmopt", program.text.rstrip(), "```"]
            lines += ["", try_it([program])]
    return "\n".join([*lines, "", *_solved(program, folder), ""])


def fragments(html: str) -> Iterator[tuple[str, str]]:
    """Title and content of each section of an explanation."""
    for section in re.findall(r"<section>(.*?)</section>", html, re.DOTALL):
        heading = re.match(r"\s*<h\d[^>]*>(.*?)</h\d>", section, re.DOTALL)
        assert heading is not None, "a section without a heading"
        title = re.sub(r"<[^>]+>", "", heading[1])
        yield title.replace("&#x27;", "'").replace("&quot;", '"'), section[heading.end() :].strip()


def explanation_style(html: str) -> str:
    """The style sheet that an explanation carries."""
    return "\n".join(re.findall(r"<style>(.*?)</style>", html, re.DOTALL))


def _raw(html: str) -> str:
    return f'```{{raw}} html\n<div class="mmopt-explain">\n{html}\n</div>\n```'


def _prose(html: str) -> str:
    """The text after the table of facts, which the page has with links."""
    return re.sub(r"^<table.*?</table>", "", html, count=1, flags=re.DOTALL).strip()


def _link(name: str) -> str:
    return f"[`{name}`]({name}.md)"


def _facts(program: Program) -> list[str]:
    from mmopt.language import shipped
    from mmopt.language.check.sections_after_constraints import solved_programs
    from mmopt.report import takers
    from mmopt.solvers import SOLVERS

    others = [p for p in map(Program.load, program_names()) if program.name != p.name]
    base = program.formulation_of or program.name
    alike = [p.name for p in others if base in (p.name, p.formulation_of)]
    who = takers(shipped(program.name))
    taking = ", ".join(row.name for row in SOLVERS if not who.lacking(row))
    conic = "none needed" if who.cones is None else taking
    kernels = ", ".join(who.kernels)
    rows = {
        "program": f"`{program.name}`",
        "source": program.cite,
        "class": program.problem_class,
        "other forms of the same problem": ", ".join(map(_link, alike)),
        "solves in its steps": ", ".join(map(_link, dict.fromkeys(solved_programs(program.steps)))),
        "solved in the steps of": ", ".join(
            _link(p.name) for p in others if program.name in solved_programs(p.steps)
        ),
        "bound of": _link(program.bound) if program.bound else "",
        "kernel": kernels,
        "conic solvers that take it": conic,
    }
    return ["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows.items() if value)]


def instance_code(program: Program) -> str:
    """Lines of Python that solve a small workload: the counts of the first cell, the first two, and so on."""
    n = CELLS_OF_A_HEURISTIC if program.problem_class == "rank" else CELLS
    return (
        "import numpy as np\nimport mmopt\n\n"
        f"# The counts of the first cell, of the first two, ...: each is wished for with variance 10.\n"
        f"w = mmopt.Workload.from_matrix(np.tri({n}), targets=np.full({n}, 10.0))\n"
        f's = mmopt.solve(w, "{program.name}")\n'
    )


def _solved(program: Program, folder: Path) -> list[str]:
    code = instance_code(program)
    names: dict[str, object] = {}
    exec(code, names)
    s = names["s"]
    assert isinstance(s, Solution)
    words = re.sub(r"(?m)^seconds .*\n?", "", str(s)).rstrip()
    lines = ["## A small one, solved", "", "```python", code + "print(s)", "```", "", "```text", words, "```"]
    if not s.has_strategy:
        return lines
    picture = folder / f"{program.name}.svg"
    save(picture, lambda: s.plot("strategy"))
    alt = f"The strategy: each row a query that is measured, each column a cell ({program.name})"
    return [
        *lines,
        "",
        "The strategy: each row a query that is measured, each column a cell.",
        "",
        f"![{alt}]({picture.name})",
    ]
