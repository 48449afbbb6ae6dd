"""Pages with code: run before Sphinx reads them, an error stops the build.

A page is MyST markdown. One with ``{code-cell}`` becomes a notebook, is run in a folder of its own that
looks like ``examples/`` of a checkout, and keeps what it printed and drew.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

import jupytext
import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from typed_cells import as_typed

__all__ = ["Page", "PageError", "read_page", "run_pages"]

CODE = "{code-cell}"
CELL_SECONDS = 240
PROCESSES = 2
# What runs first in each kernel. A command of the shell that fails stops the page; its output is plain. An
# error that is meant is shown without the places in files of the machine that built the site.
STARTUP = """
def _system(command, shell=get_ipython()):
    import subprocess
    done = subprocess.run(["bash", "-c", shell.var_expand(command, depth=1)], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    print(done.stdout, end="")
    if done.returncode:
        raise RuntimeError(f"exit status {done.returncode}")

get_ipython().system = _system
get_ipython().run_line_magic("xmode", "Minimal")
"""


class PageError(Exception):
    """A page whose code does not run."""


@dataclass(frozen=True)
class Page:
    """``name`` is its path in the site without an ending, ``file`` where it is written."""

    name: str
    file: Path

    @property
    def text(self) -> str:
        return self.file.read_text(encoding="utf-8")

    @property
    def has_code(self) -> bool:
        return any(line.startswith(("```" + CODE, "~~~" + CODE)) for line in self.text.splitlines())


def read_page(page: Page) -> nbformat.NotebookNode:
    """A page as a notebook that any Jupyter opens."""
    notebook = jupytext.reads(page.text, fmt="md:myst")
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook.metadata["language_info"] = {"name": "python", "pygments_lexer": "ipython3"}
    return notebook


def run_pages(pages: Iterable[Page], examples: Path, scratch: Path, out: Path) -> Iterator[tuple[str, float]]:
    """Run pages, two at a time; each is written to ``out`` as ``name.ipynb``. Their names and seconds.

    Raises
    ------
    PageError : a cell that fails, with the page and what Python said.
    """
    environment = kernel_environment(scratch)

    def run(page: Page) -> tuple[str, float]:
        folder = scratch / "runs" / page.name.replace("/", "-")
        shutil.copytree(examples, folder, ignore=shutil.ignore_patterns("__pycache__"))
        began = monotonic()
        notebook = read_page(page)
        inside = (folder / page.file.relative_to(examples)).parent
        client = NotebookClient(
            notebook,
            timeout=CELL_SECONDS,
            kernel_name="python3",
            resources={"metadata": {"path": str(inside)}},
            extra_arguments=["--log-level=ERROR"],
        )
        try:
            client.execute(env=environment)
        except CellExecutionError as error:
            raise PageError(f"{page.file}: {error}") from None
        if page.name.startswith("pages/"):
            notebook.cells = [as_typed(cell) for cell in notebook.cells]
        target = out / f"{page.name}.ipynb"
        target.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, target)
        return page.name, monotonic() - began

    # Long ones first, so that the processes end together.
    longest_first = sorted(pages, key=lambda page: page.text.count(CODE), reverse=True)
    with ThreadPoolExecutor(PROCESSES) as pool:
        yield from pool.map(run, longest_first)


def kernel_environment(scratch: Path) -> dict[str, str]:
    """The environment of the kernels: this very package, also as the command ``mmopt``, in plain text."""
    profile = scratch / "ipython" / "profile_default" / "startup"
    profile.mkdir(parents=True)
    (profile / "system.py").write_text(STARTUP, encoding="utf-8")
    commands = scratch / "bin"
    commands.mkdir()
    for name, words in {"mmopt": "-m mmopt", "python": ""}.items():
        file = commands / name
        file.write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n', encoding="utf-8")
        file.chmod(0o755)
    return {
        **os.environ,
        "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
        "IPYTHONDIR": str(scratch / "ipython"),
        "COLUMNS": "84",
        "NO_COLOR": "1",
        "OMP_NUM_THREADS": "1",
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    }
