"""What the shell is told to complete, and that bash does."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mmopt.cli.completion import baseline_words, listed, program_words, solver_words
from mmopt.language import program_names
from mmopt.solvers import KERNELS, SOLVERS
from mmopt.strategies.baselines import baseline_names


@pytest.mark.quick
def test_names_that_begin_so() -> None:
    assert program_words("") == sorted(program_names())
    assert program_words("gamma_") == ["gamma_2", "gamma_f"]
    assert set(solver_words("")) == {row.name for row in (*KERNELS, *SOLVERS)}
    assert {name.partition("(")[0] for name in baseline_names()} <= set(baseline_words(""))
    assert baseline_words("haa") == ["haar"]
    assert program_words("./own.program") == solver_words("own:solve") == []  # files are for the shell


def test_the_last_of_a_list() -> None:
    last = listed(program_words)
    assert last("gamma_") == ["gamma_2", "gamma_f"]
    assert last("gamma_f,gamma_") == ["gamma_f,gamma_2"]


def complete(words: list[str], folder: Path) -> list[str]:
    """What bash completes the last word to, by the function that --show-completion prints."""
    main = f"{sys.executable} -m mmopt"
    script = (
        f"cat > run <<'E'\n#!/bin/sh\nexec {main} \"$@\"\nE\nchmod +x run\n"
        'eval "$(_MMOPT_COMPLETE=source_bash ./run)"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
        "_mmopt_completion ./run; printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    done = subprocess.run(
        ["bash", "-c", script, "bash", *words], cwd=folder, capture_output=True, text=True, env=os.environ
    )
    assert done.returncode == 0 and not done.stderr, done
    return done.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["mmopt", "ver"], ["verify"]),
        (["mmopt", "solve", "a.yaml", "--program", "l2_strategy_d"], ["l2_strategy_dual"]),
        (["mmopt", "explain", "a_opt"], ["a_optimal_design"]),
        (["mmopt", "solve", "a.yaml", "--solver", "clar"], ["clarabel"]),
        (["mmopt", "compare", "a.yaml", "--baseline", "haa"], ["haar"]),
        (["mmopt", "solve", "a.ya"], []),  # none, so that bash completes files
    ],
)
def test_bash_completes(words: list[str], expected: list[str], tmp_path: Path) -> None:
    assert complete(words, tmp_path) == expected
