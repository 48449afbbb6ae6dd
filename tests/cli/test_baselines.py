"""``mmopt baselines``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mmopt.strategies.baselines import CATALOGUE, baseline_names


def test_catalogue(run: Any) -> None:
    done = run("baselines")
    assert (done.status, done.err) == (0, "")
    assert max(map(len, done.out.splitlines())) <= 80
    listed = json.loads(run("baselines", "--json").out)
    assert [row["name"] for row in listed] == [row.name for row in CATALOGUE]
    (tree,) = json.loads(run("baselines", "--baseline", "hierarchy", "--json").out)
    assert tree["norms"] == [1] and [p["name"] for p in tree["parameters"]] == ["branching", "root"]
    assert tree["parameters"][0] == {
        "name": "branching",
        "type": "int",
        "default": None,
        "about": "parts of each block; None: that of HB",
    }


def test_costs(run: Any, files: Path) -> None:
    done = run("baselines", "total.yaml")
    assert (done.status, done.err.splitlines()) == (0, [f"baseline: {name}" for name in baseline_names()])
    assert max(map(len, done.out.splitlines())) <= 80
    lines = done.out.splitlines()
    assert [line.split() for line in lines if line.startswith("identity")] == [
        ["identity", "6", "1", "30", "1.89737"]
    ] * 2
    assert "hierarchical               branching 2, 3, no total" in lines
    assert any(line.startswith("greedy_h                   does not apply: it splits one") for line in lines)


def test_json(run: Any, files: Path) -> None:
    chosen = ("--baseline", "workload", "--baseline", "hierarchical(branching=3)", "--baseline", "greedy_h")
    own, tree, greedy = json.loads(run("baselines", "total.yaml", *chosen, "--json").out)
    # 2 queries by sex, 3 up to an age with weight 2: (1 + 3)² · 8 and (1 + 3) · 8.
    assert [cost["error"] for cost in own["costs"]] == pytest.approx([128.0, 32.0])
    assert [cost["rmse"] for cost in own["costs"]] == pytest.approx([4.0, 2.0])
    assert (tree["name"], tree["detail"]) == ("hierarchical(branching=3)", "branching 3, 3")
    assert greedy["costs"] == [] and greedy["reason"] == "it splits one attribute, the workload has 2"


def test_refused(refused: Any, files: Path) -> None:
    message = refused("baselines", "total.yaml", "--baseline", "wavlet")
    assert message == "error: there is no baseline 'wavlet'\n  did you mean 'wavelet'?"
    assert refused("baselines", "nowhere.yaml").startswith("error: ")
