"""``mmopt report`` writes the same page each time, and none from what is forged."""

import contextlib
import dataclasses
import hashlib
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mmopt
import mmopt.comparison
from mmopt.mechanism.release_writing import MANIFEST_FILE, STRATEGY_FILE
from tests.cli.tasks_here import Here


def headings(path: Path) -> list[str]:
    return re.findall("<h2>(.*?)</h2>", path.read_text(encoding="utf-8"))


def test_a_saved_strategy_gives_the_same_page_each_time(run: Any, files: Path, saved: Path) -> None:
    (files / "page.html").write_text("what stood here", encoding="utf-8")
    for name in ("page.html", "again.html"):
        done = run("report", "total.yaml", "--strategy", saved, "--out", name)
        assert (done.status, done.out) == (0, "") and done.err.endswith(f"written: {name}\n")
    text = (files / "page.html").read_text(encoding="utf-8")
    assert text == (files / "again.html").read_text(encoding="utf-8")
    assert "<h1>total.yaml</h1>" in text and "Half widths of the intervals" in text
    assert mmopt.load_request("total.yaml").text_hash in text


def test_programs_and_solvers_compared(run: Any, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules[mmopt.comparison.Combination.__module__]
    monkeypatch.setattr(module, "Isolated", lambda verbose: contextlib.nullcontext(Here()))
    done = run(
        *("report", "targets.yaml", "--program", "fitness_for_use", "--out", "page.html"),
        *("--solvers", "clarabel,scs"),
    )
    assert (done.status, done.out) == (0, "")
    text = (files / "page.html").read_text(encoding="utf-8")
    assert headings(files / "page.html")[-3:] == ["How the gap closed", "Side by side", "Made with"]
    assert "clarabel" in text and "scs" in text


def test_a_release_unless_its_strategy_is_forged(
    run: Any, refused: Callable[..., str], files: Path, saved: Path
) -> None:
    run("release", "total.yaml", "people.csv", "--strategy", saved, "--out", "out", "--simulate", 1)
    done = run("report", "total.yaml", "--release", "out", "--out", "page.html")
    assert (done.status, done.out) == (0, ""), done
    assert headings(files / "page.html")[:2] == ["The release", "What is asked"]
    strategy, manifest = files / "out" / STRATEGY_FILE, files / "out" / MANIFEST_FILE
    before = hashlib.sha256(strategy.read_bytes()).hexdigest()
    dataclasses.replace(mmopt.Solution.load(strategy), objective=1.0).save(strategy)
    after = hashlib.sha256(strategy.read_bytes()).hexdigest()
    manifest.write_text(manifest.read_text(encoding="utf-8").replace(before, after), encoding="utf-8")
    message = refused("report", "total.yaml", "--release", "out", "--out", "other.html")
    assert message.startswith("error: 'out' contradicts itself: solution objective is ")
    assert " by its manifest, 1.0 by its strategy\n" in message
    assert not (files / "other.html").exists()
