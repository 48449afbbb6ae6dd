"""``mmopt templates``."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.some(1)
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_table_and_json(run: Any, files: Path, noise: str) -> None:
    done = run("templates", "total.yaml", "--noise", noise)
    assert (done.status, done.err.split()) == (0, ["identity", "product", "union", "marginals", "bound"])
    assert max(map(len, done.out.splitlines())) <= 80
    assert done.out.splitlines()[-1].split()[0] == "bound"
    found = json.loads(run("templates", "total.yaml", "--noise", noise, "--json").out)
    errors = [row["error"] for row in found["templates"]]
    assert errors == sorted(errors) and errors[0] >= found["bound"] > 0


@pytest.mark.some(2)
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("name", ["product", "union", "marginals"])
def test_saved_verified_and_released(run: Any, files: Path, noise: str, name: str) -> None:
    done = run("templates", "total.yaml", "--noise", noise, "--templates", name, "--out", "s.npz", "--json")
    assert done.status == 0 and done.err.endswith(f"saved: s.npz ({name})\n")
    assert "all 7 checks hold" in run("verify", "s.npz", "total.yaml").out
    done = run("release", "total.yaml", "people.csv", "--strategy", "s.npz", "--out", "out")
    assert done.status == 0, done
    assert done.err.startswith(f"strategy: from 's.npz' (template {name})\n")
    assert max(map(len, done.out.splitlines())) <= 80
    manifest = json.loads((files / "out" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["solution"]["template"] == name and "program" not in manifest
    pure = noise == "laplace"
    assert manifest["privacy"]["guarantee"] == ("pure epsilon" if pure else "(epsilon, delta)")
    assert manifest["noise"]["kind"] == ("discrete Laplace" if pure else "discrete Gaussian")
    assert sum(part["rows"] for part in manifest["strategy"]["parts"]) == manifest["strategy"]["rows"]
    with (files / "out" / "answers.csv").open(encoding="utf-8", newline="") as lines:
        found = {row["label"]: row for row in csv.DictReader(lines)}
    for label, count in {"sex=F": 500, "sex=M": 307, "age < 18": 300, "age < 65": 800}.items():
        error = abs(float(found[label]["estimate"]) - count)
        assert error < 30 * float(found[label]["standard_error"])


def test_saved_strategies_are_refused_elsewhere(run: Any, refused: Any, files: Path) -> None:
    assert run("templates", "total.yaml", "--templates", "product", "--out", "s.npz").status == 0
    message = refused("release", "targets.yaml", "people.csv", "--strategy", "s.npz")
    assert message.startswith("error: 's.npz' was solved for another workload: its hash is ")
    assert message.endswith("…\n  solve this one: mmopt templates targets.yaml --out FILE.npz")
    text = (files / "total.yaml").read_text(encoding="utf-8")
    (files / "pure.yaml").write_text(text.replace(", delta: 1.0e-6", ""), encoding="utf-8")
    assert "'pure.yaml' asks for pure epsilon (no delta), and 'template product' is for Gaussian noise" in (
        refused("release", "pure.yaml", "people.csv", "--strategy", "s.npz")
    )
    assert refused("verify", "s.npz", "total.yaml", "--program", "l2_strategy") == (
        "error: 'template product' is a strategy in factors, which is of no program"
    )
    assert "'no/s.npz'" in refused("templates", "total.yaml", "--out", "no/s.npz")


def test_refused(refused: Any, files: Path) -> None:
    assert refused("templates", "total.yaml", "--noise", "white").startswith(
        "error: --noise is 'white', expected laplace or gaussian"
    )
    assert "there is no template 'kron'" in refused("templates", "total.yaml", "--templates", "kron")
