"""``mmopt baselines`` prints every baseline with its cost under both noises, or says why there is none.

Guards strategies_and_reports.py.
"""

import json
import math
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
    names = baseline_names()
    begun = [f"baseline: {name} ({number} of {len(names)})" for number, name in enumerate(names, 1)]
    assert (done.status, done.err.splitlines()) == (0, begun)
    assert max(map(len, done.out.splitlines())) <= 80
    lines = done.out.splitlines()
    title = "Best first, by the root mean square of the standard errors, at epsilon = 1, delta = 1e-06"
    assert title in " ".join(done.out.split())
    rows = [line.split() for line in lines if line.split()[1:2] in (["Laplace"], ["Gaussian"])]
    # The mean variance per query is 18 / 5 at unit noise; Laplace noise of scale 1 has variance 1.8413.
    assert rows[0] == ["identity", "Laplace", "2.575", "1"]
    assert [float(row[2]) for row in rows] == sorted(float(row[2]) for row in rows)
    assert len(rows) > len(baseline_names()) and {row[1] for row in rows} == {"Laplace", "Gaussian"}
    assert "hierarchical               branching 2, 3, no total" in lines
    assert any(line.startswith("greedy_h                   does not apply: it splits one") for line in lines)


def test_without_privacy_noise_by_noise(run: Any, files: Path) -> None:
    text = (files / "total.yaml").read_text(encoding="utf-8")
    (files / "none.yaml").write_text(text[: text.index("privacy")], encoding="utf-8")
    lines = run("baselines", "none.yaml").out.splitlines()
    assert [line.split() for line in lines if line.startswith("identity")] == [
        ["identity", "6", "1", "30", "1.89737"]
    ] * 2
    heads = [at for at, line in enumerate(lines) if line.endswith("(of variance 1 per unit of sensitivity)")]
    assert len(heads) == 2
    for head in heads:
        rows = [line.split() for line in lines[head + 3 : head + 9]]
        assert [float(row[3]) for row in rows] == sorted(float(row[3]) for row in rows)
    (both,) = json.loads(run("baselines", "none.yaml", "--baseline", "identity", "--json").out)
    assert [(cost["rank"], cost["rmse"]) for cost in both["costs"]] == [(1, pytest.approx(1.89737, 1e-5))] * 2


def test_a_noise_that_the_privacy_does_not_allow(run: Any, files: Path) -> None:
    text = (files / "total.yaml").read_text(encoding="utf-8")
    for privacy, noise, reason in (
        ("epsilon: 1.0", "Gaussian", "Gaussian noise does not satisfy pure epsilon: it needs a delta"),
        ("rho: 0.1", "Laplace", "Laplace noise is calibrated for epsilon, and rho is stated"),
    ):
        (files / "other.yaml").write_text(
            text.replace("epsilon: 1.0, delta: 1.0e-6", privacy), encoding="utf-8"
        )
        done = run("baselines", "other.yaml", "--baseline", "identity")
        assert f"Not ranked:\n  {noise} noise: {reason}\n" in done.out
        (one,) = json.loads(run("baselines", "other.yaml", "--baseline", "identity", "--json").out)
        ranks = {cost["noise"]: (cost["rank"], cost["not_ranked"]) for cost in one["costs"]}
        other = {"Gaussian": "Laplace", "Laplace": "Gaussian"}[noise]
        assert ranks == {noise: (None, reason), other: (1, "")}


def test_json(run: Any, files: Path) -> None:
    chosen = ("--baseline", "workload", "--baseline", "hierarchical(branching=3)", "--baseline", "greedy_h")
    own, tree, greedy = json.loads(run("baselines", "total.yaml", *chosen, "--json").out)
    # 2 queries by sex, 3 up to an age with weight 2: (1 + 3)² · 8 and (1 + 3) · 8.
    assert [cost["error"] for cost in own["costs"]] == pytest.approx([128.0, 32.0])
    assert [cost["unit_rmse"] for cost in own["costs"]] == pytest.approx([4.0, 2.0])
    # Laplace noise of scale 4 on integers.
    assert own["costs"][0]["rmse"] == pytest.approx(0.5**0.5 / math.sinh(1 / 8))
    assert [cost["noise"] for cost in own["costs"]] == ["Laplace", "Gaussian"]
    assert (tree["name"], tree["detail"]) == ("hierarchical(branching=3)", "branching 3, 3")
    assert greedy["costs"] == [] and greedy["reason"] == "it splits one attribute, the workload has 2"
