"""``mmopt templates``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_table_and_json(run: Any, files: Path, noise: str) -> None:
    done = run("templates", "total.yaml", "--noise", noise)
    assert (done.status, done.err.split()) == (0, ["identity", "product", "union", "marginals", "bound"])
    assert max(map(len, done.out.splitlines())) <= 80
    assert done.out.splitlines()[-1].split()[0] == "bound"
    found = json.loads(run("templates", "total.yaml", "--noise", noise, "--json").out)
    errors = [row["error"] for row in found["templates"]]
    assert errors == sorted(errors) and errors[0] >= found["bound"] > 0


def test_refused(refused: Any, files: Path) -> None:
    assert refused("templates", "total.yaml", "--noise", "white").startswith(
        "error: --noise is 'white', expected laplace or gaussian"
    )
    assert "there is no template 'kron'" in refused("templates", "total.yaml", "--templates", "kron")
