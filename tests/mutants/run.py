"""Apply each wrong edit of the table to a copy of the package, one by one, and see a test fail for it.

    python tests/mutants/run.py [--only WORD ...] [--jobs N] [--list] [--quick]

The tests named in a row have to pass on the copy as it is; with the edit one of them has to fail. A row whose
old text is not found exactly once, whose tests cannot be collected, or that survives makes the exit status 1.

With --quick the tests marked so take the place of those that the rows name, first in the files that a row
names, then all; at least half of the rows have to be killed.
"""

from __future__ import annotations

import argparse
import compileall
import os
import py_compile
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

sys.path.insert(0, str(Path(__file__).parent.parent))

from mutants.table import MUTANTS, Mutant

ROOT = Path(__file__).parent.parent.parent
COPIED = ("mmopt", "programs", "tests", "examples", "pyproject.toml", "README.md", "CONTRIBUTING.md")
LIMIT = 120  # seconds for the tests of one row
NOTHING = 5  # the exit status of a pytest that finds no test


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


def pytest(
    tree: Path, nodes: Sequence[str], limit: float | None = None, *, quick: bool = False
) -> subprocess.CompletedProcess[str]:
    """The tests on a tree; they import the package of that tree."""
    # One seed, so that what kills a row today does tomorrow; nothing of the pytest that may run this.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    fixed = {"MMOPT_SEED": "1", "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    environment = {**kept, **fixed, "PYTHONPATH": str(tree)}
    own = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
        "--no-header",
        "--hypothesis-seed=0",
    ]
    return subprocess.run(
        [*own, *(("-m", "quick") if quick else ()), *(f"tests/{node}" for node in nodes)],
        cwd=tree,
        env=environment,
        capture_output=True,
        text=True,
        timeout=limit,
        check=False,
    )


def edited(text: str, mutant: Mutant) -> str:
    """The text with the edit; ValueError where the old text is not there exactly once."""
    if text.count(mutant.old) != 1:
        raise ValueError(f"{mutant}: its old text is found {text.count(mutant.old)} times")
    return text.replace(mutant.old, mutant.new)


def tried(tree: Path, mutant: Mutant, *, quick: bool = False) -> tuple[bool, str]:
    """Whether the row is killed, and what was seen."""
    files = sorted({node.partition("::")[0] for node in mutant.tests})
    path = tree / mutant.file
    before = path.read_text(encoding="utf-8")
    try:
        path.write_text(edited(before, mutant), encoding="utf-8")
        done = pytest(tree, files if quick else mutant.tests, LIMIT, quick=quick)
        if quick and done.returncode in (0, NOTHING):
            done = pytest(tree, (), LIMIT, quick=True)
    except ValueError as error:
        return False, str(error)
    except subprocess.TimeoutExpired:
        return False, f"NOT ENDED within {LIMIT} s"
    finally:
        path.write_text(before, encoding="utf-8")
    if done.returncode == 1:
        return True, "killed"
    if done.returncode == 0:
        return False, "SURVIVED"
    return False, f"NOT RUN\n{done.stdout[-2000:]}{done.stderr[-1000:]}"


def run(mutants: Sequence[Mutant], jobs: int = 1, *, quick: bool = False) -> int:
    """Try the rows, print a line for each; the number of those that are not killed."""
    left = 0
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        trees: SimpleQueue[Path] = SimpleQueue()
        for number in range(jobs):
            trees.put(copied(Path(folder) / str(number)))
        tree, started = trees.get(), time.monotonic()
        named = sorted({node for mutant in mutants for node in mutant.tests})
        done = pytest(tree, () if quick else named, quick=quick)
        trees.put(tree)
        if done.returncode:
            seen = f"{done.stdout[-4000:]}{done.stderr[-1000:]}"
            print(f"the tests do not pass on what is not edited\n{seen}")
            return len(mutants)
        print(f"{time.monotonic() - started:5.1f}s  the tests pass on what is not edited", flush=True)

        def one(mutant: Mutant) -> tuple[Mutant, bool, str, float]:
            tree, started = trees.get(), time.monotonic()
            try:
                return (mutant, *tried(tree, mutant, quick=quick), time.monotonic() - started)
            finally:
                trees.put(tree)

        with ThreadPoolExecutor(jobs) as pool:
            for mutant, is_killed, seen, seconds in pool.map(one, mutants):
                left += not is_killed
                print(f"{seconds:5.1f}s  {seen:8s}  {mutant}", flush=True)
    print(f"killed {len(mutants) - left} of {len(mutants)}{' by the quick tests' * quick}")
    return left


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[], help="rows whose file, function or text has a word")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--list", action="store_true", help="print the rows and run nothing")
    parser.add_argument("--quick", action="store_true", help="how many rows `pytest -m quick` kills")
    asked = parser.parse_args()
    chosen = [m for m in MUTANTS if not asked.only or any(word in m.words for word in asked.only)]
    if asked.list or not chosen:
        print("\n".join(map(str, chosen)) or "no row has these words")
        return not chosen
    left = run(chosen, asked.jobs, quick=asked.quick)
    return 2 * left > len(chosen) if asked.quick else left > 0


if __name__ == "__main__":
    sys.exit(main())
