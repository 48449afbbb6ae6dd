"""``mmopt templates`` lists the templates that take a workload, and its strategies are saved and released.

Guards comparison/ranked_places.py and the refusals of driver/templates/templates_and_bound.py.

Guards strategies_and_reports.py.
"""

import csv
import json
import math
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.some(1)
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_table_and_json(run: Any, files: Path, noise: str) -> None:
    done = run("templates", "total.yaml", "--noise", noise)
    known = ["identity", "product", "union", "marginals", *["sectorwise"] * (noise == "gaussian")]
    assert (done.status, done.err.split()) == (0, [*known, "bound"])
    assert max(map(len, done.out.splitlines())) <= 80
    assert done.out.splitlines()[-1].split()[0] == "bound"
    some = ("--templates", "identity,product")
    found = json.loads(run("templates", "total.yaml", "--noise", noise, *some, "--json").out)
    errors = [row["rmse"] for row in found["templates"]]
    assert errors == sorted(errors) and {row["noise"].lower() for row in found["templates"]} == {noise}
    assert min(row["error"] for row in found["templates"]) >= found["bound"] > 0


def test_both_noises_in_one_list_by_default(run: Any, files: Path) -> None:
    done = run("templates", "total.yaml", "--templates", "identity,product", "--out", "s.npz", "--json")
    assert done.err.splitlines() == [
        "identity, Gaussian noise",
        "product, Gaussian noise",
        "bound",
        "identity, Laplace noise",
        "product, Laplace noise",
        f"saved: s.npz ({json.loads(done.out)['templates'][0]['template']})",
    ]
    found = json.loads(done.out)
    rows = found["templates"]
    assert [row["rmse"] for row in rows] == sorted(row["rmse"] for row in rows)
    assert sorted((row["noise"], row["template"]) for row in rows) == [
        (noise, name) for noise in ("Gaussian", "Laplace") for name in ("identity", "product")
    ]
    assert found["privacy"] == {"epsilon": 1.0, "delta": 1e-06, "neighbours": "add-remove"}
    # What is saved is the first, and is released with the error that was shown.
    assert rows[0]["noise"] == "Laplace" != rows[-1]["noise"]
    done = run("release", "total.yaml", "people.csv", "--strategy", "s.npz", "--json")
    released = json.loads(done.out)
    assert released["noise"]["kind"] == "discrete Laplace"
    with (files / "release" / "answers.csv").open(encoding="utf-8", newline="") as lines:
        errors = [float(row["standard_error"]) for row in csv.DictReader(lines)]
    assert math.sqrt(sum(e * e for e in errors) / len(errors)) == pytest.approx(rows[0]["rmse"])


def test_a_template_for_one_noise_is_skipped_for_the_other(run: Any, refused: Any, files: Path) -> None:
    done = run("templates", "total.yaml", "--templates", "sectorwise", "--json")
    assert done.err.splitlines() == ["sectorwise, Gaussian noise", "bound"]
    first, second = json.loads(done.out)["templates"]
    assert (first["noise"], first["reason"]) == ("Gaussian", "") and first["rmse"] > 0
    assert (second["noise"], second["reason"]) == ("Laplace", "it is for Gaussian noise")
    done = run("templates", "total.yaml", "--templates", "sectorwise,identity", "--noise", "laplace")
    assert done.err.split() == ["identity", "bound"]
    assert "it is for Gaussian noise" in " ".join(done.out.split())
    assert refused("templates", "total.yaml", "--templates", "sectorwise", "--noise", "laplace") == (
        "error: the template 'sectorwise' has no strategy for Laplace noise: it is for Gaussian noise\n"
        "  leave out --noise, or name other templates"
    )


def test_the_files_privacy_chooses_the_noise(run: Any, files: Path) -> None:
    text = (files / "total.yaml").read_text(encoding="utf-8")
    for privacy, noises in (
        ("privacy: {epsilon: 1.0}", {"Laplace"}),
        ("privacy: {rho: 0.1}", {"Gaussian"}),
        ("", {"Gaussian"}),
    ):
        (files / "other.yaml").write_text(text[: text.index("privacy")] + privacy, encoding="utf-8")
        done = run("templates", "other.yaml", "--templates", "identity", "--json")
        assert {row["noise"] for row in json.loads(done.out)["templates"]} == noises
    done = run("templates", "other.yaml", "--templates", "identity")
    assert "Best first" not in done.out and "total error" in done.out
    (files / "pure.yaml").write_text(text.replace(", delta: 1.0e-6", ""), encoding="utf-8")
    done = run("templates", "pure.yaml", "--noise", "gaussian", "--templates", "identity")
    assert "Gaussian noise does not satisfy pure epsilon: it needs a delta" in " ".join(done.out.split())


@pytest.mark.some(1)
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
    options = ("--templates", "product", "--noise", "gaussian", "--out", "s.npz")
    assert run("templates", "total.yaml", *options).status == 0
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
