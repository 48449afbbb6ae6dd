"""Impossible requests are refused before any work, in full; no result is printed and no file written.

``refusals.txt`` has each command with its message; ``…`` stands for the rest of a line.
"""

import contextlib
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from mmopt import comparison_process
from mmopt.comparison import Isolated

ROWS = Path(__file__).with_name("refusals.txt").read_text(encoding="utf-8").removeprefix("$ ").split("\n$ ")


def test_every_refusal(
    files: Path,
    saved: Path,
    refused: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
    subtests: pytest.Subtests,
) -> None:
    monkeypatch.setattr(Isolated, "follow", None)  # nothing is solved
    monkeypatch.setattr(comparison_process, "Worker", lambda verbose: contextlib.nullcontext())
    shutil.copy(saved, files / "saved.npz")
    total = (files / "total.yaml").read_text(encoding="utf-8")
    for name, text in {
        "open.yaml": total.split("privacy:")[0],
        "own.yaml": f"normalise: rows\n{total}",
        "parts.yaml": total.replace("[sex]", "[sex]\n    subworkload: sexes", 1),
        "three.yaml": "domain: {a: {range: [0, 3], width: 1}}\nworkload: [{product: {a: prefix}}]\n",
        "short.csv": "sex,height\nF,1\n",
        "people.xlsx": "sex,age\n",
        "broken.npz": "no archive",
        "text.csv": "a,b\n1,2\n",
        "text.npy": "no array",
        "empty.csv": "\n",
    }.items():
        (files / name).write_text(text, encoding="utf-8")
    (files / "there").mkdir()
    (files / "link.yaml").symlink_to("nowhere.yaml")
    for row in ROWS:
        command, message = row.rstrip().split("\n", 1)
        with subtests.test(command):
            if "qoco" in command:
                pytest.importorskip("qoco")
            found = refused(*shlex.split(command)).split("\n")
            for said, line in zip(found, message.split("\n"), strict=True):
                assert said == line or (line[-1:] == "…" and said.startswith(line[:-1]))
