"""Apply each wrong edit of the table to a copy of the package, one by one, and see a test fail for it.

    python tests/mutants/run.py [--slow | --quick] [--only WORD ...] [--every N] [--jobs N] [--list]

The tests that a row names have to pass on the copy as it is; with the edit one of them has to fail. Without
an option they are those of the default run; with --slow the slow ones are tried on what these leave. A row
that survives makes the exit status 1. With --quick the quick tests take the place of those that a row names,
and half of the rows have to be killed.

Each trial is a process of its own, forked from one that has loaded numpy, cvxpy and pytest but not mmopt.
"""

from __future__ import annotations

import argparse
import ast
import compileall
import itertools
import json
import multiprocessing
import os
import py_compile
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from types import CodeType

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))

from mutants.table import MUTANTS, Mutant

ROOT = Path(__file__).parent.parent.parent
COPIED = ("mmopt", "programs", "tests", "examples", "pyproject.toml", "README.md", "CONTRIBUTING.md")
LIMIT = 240  # seconds for the tests of one row: twice the longest module, on a machine that is busy
LOADED = ("cvxpy", "scipy.stats", "pytest", "opendp.prelude", "ibis", "duckdb", "ruamel.yaml", "typer")
MARKS = {
    "default": "not slow and not nightly and not engines and not browser",
    "slow": "slow and not nightly",
    "quick": "quick and not slow and not nightly",
}
SEED = "20261123"  # that of everybody's default run
KILLED, PASSED, NOTHING = 1, 0, 5  # exit statuses of pytest


def copied(folder: Path) -> Path:
    """A copy of what tests need, compiled so that an edit is noticed by its text, not by its time."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.npz"))
        else:
            shutil.copy(source, folder / name)
    mode = py_compile.PycInvalidationMode.CHECKED_HASH
    compileall.compile_dir(folder / "mmopt", quiet=1, invalidation_mode=mode)
    return folder


class Calls:
    """A plugin that notes which functions of the package each test calls."""

    def __init__(self, tree: str) -> None:
        self.tree = tree + os.sep
        self.of: dict[str, list[str]] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        codes: set[CodeType] = set()
        sys.setprofile(lambda frame, event, _: codes.add(frame.f_code) if event == "call" else None)
        try:
            return (yield)
        finally:
            sys.setprofile(None)
            within = (code for code in codes if code.co_filename.startswith(self.tree))
            names = {f"{code.co_filename.removeprefix(self.tree)} {code.co_name}" for code in within}
            self.of[item.nodeid] = sorted(names)


class Named:
    """A plugin that keeps of a test the named cases only, after marks are drawn among all of them."""

    def __init__(self, nodes: Sequence[str]) -> None:
        self.cases = {f"tests/{node}" for node in nodes if "[" in node}
        self.tests = {case.partition("[")[0] for case in self.cases}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        others = [item for item in items if item.nodeid.partition("[")[0] not in self.tests]
        items[:] = [*others, *(item for item in items if item.nodeid in self.cases)]


def _session(tree: str, nodes: Sequence[str], marks: str, printed: str, calls: str | None, jobs: int) -> None:
    """The tests on a tree, whose package they import, in this process; the exit status is that of pytest."""
    os.setsid()  # whoever ends this ends what it started, too
    with open(printed, "w", encoding="utf-8") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    os.chdir(tree)
    # One seed, so that what kills a row today does tomorrow; nothing of the pytest that may run this.
    for name in [name for name in os.environ if name.startswith("PYTEST")]:
        del os.environ[name]
    os.environ |= {"PYTHONPATH": tree, "MMOPT_SEED": SEED, "OMP_NUM_THREADS": "1"}
    sys.path.insert(0, tree)
    plugin = Calls(tree)
    options = ["-x", "-q", "-p", "no:cacheprovider", "--no-header", "--hypothesis-seed=0", "-m", marks]
    options += ["-n", str(jobs), "--dist", "worksteal"] if jobs > 1 else []
    tests = dict.fromkeys(f"tests/{node.partition('[')[0]}" for node in nodes)
    status = pytest.main([*options, *tests], [plugin if calls else Named(nodes)])
    if calls:
        Path(calls).write_text(json.dumps(plugin.of), encoding="utf-8")
    os._exit(status)


class Trees:
    """Copies of the package, one for each job, and the process from which trials are forked."""

    def __init__(self, folder: Path, jobs: int) -> None:
        self.free: SimpleQueue[Path] = SimpleQueue()
        for number in range(jobs):
            self.free.put(copied(folder / str(number)))
        self.processes = multiprocessing.get_context("forkserver")
        self.processes.set_forkserver_preload(list(LOADED))

    @contextmanager
    def one(self) -> Iterator[Path]:
        tree = self.free.get()
        try:
            yield tree
        finally:
            self.free.put(tree)

    def tests(
        self,
        tree: Path,
        nodes: Sequence[str],
        marks: str,
        limit: float | None = None,
        calls: Path | None = None,
        jobs: int = 1,
    ) -> tuple[int | None, str]:
        """The exit status of the tests (None: not ended within the limit), and what was printed."""
        printed = tree / "printed.txt"
        arguments = (str(tree), tuple(nodes), marks, str(printed), str(calls) if calls else None, jobs)
        process = self.processes.Process(target=_session, args=arguments)
        process.start()
        process.join(limit)
        status = process.exitcode
        if status is None:
            assert process.pid is not None
            os.killpg(process.pid, signal.SIGKILL)
            process.join()
        return status, printed.read_text(encoding="utf-8")


def edited(text: str, mutant: Mutant) -> str:
    """The text with the edit; ValueError where the old text is not there exactly once, in the file or in the
    functions of that name.
    """
    places = [match.start() for match in re.finditer(re.escape(mutant.old), text)]
    if len(places) != 1 and mutant.file.endswith(".py"):
        places = [place for place in places if any(a <= place < b for a, b in spans(text, mutant.function))]
    if len(places) != 1:
        raise ValueError(f"{mutant}: its old text is there {len(places)} times")
    return text[: places[0]] + mutant.new + text[places[0] + len(mutant.old) :]


def spans(text: str, function: str) -> Iterator[tuple[int, int]]:
    """Where the functions of this name (``Class.name`` for one of a class) begin and end in a file."""
    starts = list(itertools.accumulate(map(len, text.splitlines(keepends=True)), initial=0))
    *owner, name = function.split(".")
    for top in ast.walk(ast.parse(text)):
        if not owner or (isinstance(top, ast.ClassDef) and top.name == owner[0]):
            for node in ast.iter_child_nodes(top):
                if isinstance(node, ast.FunctionDef) and node.name == name:
                    yield starts[node.lineno - 1], starts[node.end_lineno or node.lineno]


def tried(trees: Trees, tree: Path, mutant: Mutant, nodes: Sequence[str], marks: str) -> str:
    """The outcome of a row: "killed", with the mark of tests beyond the default run, or why it is not."""
    if not nodes:
        return "NOT CALLED"
    path = tree / mutant.file
    before = path.read_text(encoding="utf-8")
    try:
        path.write_text(edited(before, mutant), encoding="utf-8")
        status, printed = trees.tests(tree, nodes, marks, LIMIT)
    except ValueError as error:
        return str(error)
    finally:
        path.write_text(before, encoding="utf-8")
    if status == KILLED:
        return "killed slow" if marks == MARKS["slow"] else "killed"
    if status == PASSED:
        return "SURVIVED"
    if status == NOTHING:
        return "NONE DRAWN"  # of its tests, in this run
    if status is None:
        return f"NOT ENDED within {LIMIT} s"
    return f"NOT RUN\n{printed[-3000:]}"


def calling(calls: dict[str, list[str]], mutant: Mutant) -> list[str]:
    """The tests that call the function of a row, those in files that it names first; all tests for a table or
    a program, which functions read.
    """
    called = f"{mutant.file} {mutant.function.rpartition('.')[2]}"
    defined = f"def {mutant.function.rpartition('.')[2]}("
    is_function = mutant.file.endswith(".py") and defined in (ROOT / mutant.file).read_text(encoding="utf-8")
    nodes = [node for node, names in calls.items() if not is_function or called in names]
    files = {node.partition("::")[0] for node in mutant.tests}
    return sorted(
        (node.removeprefix("tests/") for node in nodes), key=lambda node: node.partition("::")[0] not in files
    )


def run(mutants: Sequence[Mutant], jobs: int = 1, kind: str = "default") -> list[Mutant]:
    """Try the rows and print a line for each; those that are not killed.

    kind : "default"; "slow", which goes on with slow tests where the default ones kill nothing; or "quick".
    """
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        trees, record = Trees(Path(folder), jobs), Path(folder) / "calls.json"
        named = sorted({node for mutant in mutants for node in mutant.tests})
        with trees.one() as tree:
            if kind == "quick":
                status, printed = trees.tests(tree, (), MARKS[kind], calls=record)
            else:
                status, printed = trees.tests(tree, named, MARKS["default"], jobs=jobs)
        if status not in (PASSED, NOTHING):
            print(f"the tests do not pass on what is not edited\n{printed[-4000:]}")
            return list(mutants)
        print(f"{time.monotonic() - started:5.1f}s  the tests pass on what is not edited", flush=True)
        calls = json.loads(record.read_text(encoding="utf-8")) if kind == "quick" else {}

        def one(mutant: Mutant) -> tuple[str, float]:
            with trees.one() as tree:
                started = time.monotonic()
                nodes = calling(calls, mutant) if kind == "quick" else mutant.tests
                seen = tried(trees, tree, mutant, nodes, MARKS["quick" if kind == "quick" else "default"])
                if kind == "slow" and not seen.startswith("killed"):
                    seen = tried(trees, tree, mutant, nodes, MARKS["slow"])
                    if seen == "killed slow" and trees.tests(tree, nodes, MARKS["slow"], LIMIT)[0] != PASSED:
                        seen = "NOT PASSED by what is not edited"
                return seen, time.monotonic() - started

        results: list[tuple[Mutant, str]] = []
        with ThreadPoolExecutor(jobs) as pool:
            for mutant, (seen, seconds) in zip(mutants, pool.map(one, mutants), strict=True):
                results.append((mutant, seen))
                print(f"{seconds:5.1f}s  {seen:11s}  {mutant}", flush=True)
    by_slow = sum(seen == "killed slow" for _, seen in results)
    left = [mutant for mutant, seen in results if not seen.startswith("killed")]
    print(f"killed {len(results) - len(left)} of {len(results)}, {by_slow} by slow tests alone")
    return left


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[], help="rows whose file, function or text has a word")
    parser.add_argument("--every", type=int, default=1, help="of these each so many-th")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--list", action="store_true", help="print the rows and run nothing")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--slow", action="store_const", dest="kind", const="slow", help="slow tests, too")
    which.add_argument(
        "--quick", action="store_const", dest="kind", const="quick", help="by `pytest -m quick`"
    )
    asked = parser.parse_args()
    chosen = [m for m in MUTANTS if not asked.only or any(word in m.words for word in asked.only)]
    chosen = chosen[:: asked.every]
    if asked.list or not chosen:
        print("\n".join(map(str, chosen)) or "no row has these words")
        return not chosen
    left = run(chosen, asked.jobs, asked.kind or "default")
    return 2 * len(left) > len(chosen) if asked.kind == "quick" else bool(left)


if __name__ == "__main__":
    sys.exit(main())
