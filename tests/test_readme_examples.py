"""The README's first workload and its Python lines do what stands beside them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from mmopt.driver import default_program
from mmopt.numerics.outward import rounded
from mmopt.request import parse_request

README = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.+?)^```$", README, re.MULTILINE | re.DOTALL)


def test_first_workload_is_read() -> None:
    (text,) = blocks("yaml")
    request = parse_request(text, "ages.yaml")
    assert request.workload.shape == (14 + 7 + 2, 14)
    assert default_program(request.workload)[0] == "l2_strategy"


def test_python_lines_run() -> None:
    names: dict[str, Any] = {}
    first, second, third = blocks("python")
    exec(first, names)
    solution = names["s"]
    assert rounded(solution.objective, 6, up=True) == "45.6654"
    assert rounded(solution.bound, 6, up=False) == "45.6653"
    assert "# 45.6654, 45.6653, below 1e-6\n" in first
    assert solution.gap < 1e-6
    exec(second.replace("mmopt.solve(w, p)", "own = mmopt.solve(w, p)"), names)
    assert names["own"].objective == pytest.approx(solution.objective, rel=1e-6)
    exec(third.replace("mmopt.certify", "gap = mmopt.certify"), names)
    assert names["gap"] == pytest.approx(1.978, abs=5e-4)
