"""The examples of the README and of docstrings do what stands beside them."""

import doctest
import importlib
import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from mmopt.driver import default_program
from mmopt.numerics.arrays import rounded
from mmopt.request import parse_request

PACKAGE = Path(__file__).resolve().parent.parent / "mmopt"
README = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.+?)^```$", README, re.MULTILINE | re.DOTALL)


def test_first_workload_is_read() -> None:
    (text,) = blocks("yaml")
    request = parse_request(text, "ages.yaml")
    assert request.workload.shape == (14 + 7 + 2, 14)
    assert default_program(request.workload)[0] == "l2_strategy"


def test_python_lines_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ages.yaml").write_text(blocks("yaml")[0], encoding="utf-8")
    names: dict[str, Any] = {"people": {"sex": ["Female", "Male", "Male"], "age": [17, 40, 90]}}
    first, shown, second = blocks("python")
    exec(first, names)
    assert len(names["r"]) == 8 + 4 and Path("answers", "answers.csv").exists()
    assert names["r"].manifest["privacy"]["epsilon"] == pytest.approx(1.0)
    assert len(shown.splitlines()) <= 10
    with redirect_stdout(StringIO()) as printed:
        exec(shown, names)
    assert [printed.getvalue()] == blocks("text") and Path("strategy.svg").exists()
    exec(second, names)
    solution = names["s"]
    assert rounded(solution.objective, 7, up=False) == "-5.289681"
    assert rounded(solution.bound, 7, up=True) == "-5.28968"
    assert "# -5.289681, -5.289680, below 1e-6, proved\n" in second
    assert solution.gap < 1e-6 and solution.gap_grade == "proved"


def test_the_site_begins_as_the_readme_does() -> None:
    front = (PACKAGE.parent / "examples" / "site" / "index.md").read_text(encoding="utf-8")
    begin = re.sub(r"<!-- \w+ -->\n", "", README[: README.index("**Read on**")])
    assert front.startswith(begin.replace("](examples/", "](../"))


def test_examples_of_docstrings(subtests: pytest.Subtests) -> None:
    found = [path for path in PACKAGE.rglob("*.py") if ">>> " in path.read_text(encoding="utf-8")]
    assert found
    for path in found:
        name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        with subtests.test(name):
            tried = doctest.testmod(importlib.import_module(name))
            assert tried.attempted > 0 and tried.failed == 0
