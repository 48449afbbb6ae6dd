"""Run the code of each lesson of a folder in order, as a notebook does: ``python lesson_runner.py FOLDER``.

A line that begins with ``!`` is a shell command; a cell that begins with ``%%writefile NAME`` is that file.
The last cell is an expression, objective, bound, gap.
"""

import ast
import math
import os
import re
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

WRITE = "%%writefile "


def cells(text: str) -> list[str]:
    """The code cells of a lesson."""
    return re.findall(r"^```\{code-cell\} python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def run(file: Path) -> Any:
    """Run all cells and ask for the display of each one's value; the value of the last one."""
    names: dict[str, Any] = {"__name__": "__main__"}
    value = None
    for number, cell in enumerate(cells(file.read_text(encoding="utf-8"))):
        if cell.startswith(WRITE):
            name, _, text = cell.removeprefix(WRITE).partition("\n")
            Path(name).write_text(text, encoding="utf-8")
            continue
        lines = [line for line in cell.splitlines() if not line.startswith(":")]  # options of the cell
        for command in (line[1:] for line in lines if line.startswith("!")):
            subprocess.run(command, shell=True, check=True)
        tree = ast.parse("\n".join(line for line in lines if not line.startswith("!")))
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, f"{file.name}, cell {number}", "exec"), names)
        value = (
            eval(compile(ast.Expression(last.value), f"{file.name}, cell {number}", "eval"), names)
            if last
            else None
        )
        for form in ("_repr_html_", "_repr_latex_", "__repr__"):
            if hasattr(value, form):
                getattr(value, form)()
    return value


if __name__ == "__main__":
    os.chdir(sys.argv[1])
    sys.path.insert(0, sys.argv[1])
    for lesson in sorted(Path().glob("[0-9][0-9]-*.md")):
        try:
            objective, bound, gap = run(lesson)
            assert math.isfinite(objective) and math.isfinite(bound) and 0 <= gap < 0.01
            sys.stderr.write(f"{lesson.stem} ran\n")
        except Exception:  # noqa: BLE001 - it is told, and the next one runs
            sys.stderr.write(f"{lesson.stem}:\n{traceback.format_exc()[-3000:]}\n")
