"""Pages of the site that are written by hand: run, linked, listed. Sphinx runs in a slow test alone."""

import subprocess
import sys
from pathlib import Path

import pytest
from examples.scripts import EXAMPLES, script, scripts

SITE = EXAMPLES / "site"

# In a process of its own: Jupyter's client leaves event loops open.
RUN = """
import sys
from pathlib import Path
import nbformat
from run_notebooks import Page, PageError, run_pages
folder = Path(sys.argv[1])
page = Page("lessons/page", folder / "examples" / "site" / "page.md")
assert page.has_code
try:
    print([name for name, _ in run_pages([page], folder / "examples", folder, folder / "out")])
except PageError as error:
    sys.exit(str(error))
notebook = nbformat.read(folder / "out" / "lessons" / "page.ipynb", as_version=4)
print("".join(out.get("text", "") for out in notebook.cells[1].outputs))
"""


def ran(folder: Path, cell: str, tags: str = "") -> subprocess.CompletedProcess[str]:
    """A page with one cell, run: its name and what it printed, or the error."""
    for name in ("jupytext", "nbclient", "ipykernel"):
        pytest.importorskip(name)
    site = folder / "examples" / "site"
    site.mkdir(parents=True)
    text = f"# Page\n\n```{{code-cell}} python\n{tags}{cell}\n```\n"
    (site / "page.md").write_text(text, encoding="utf-8")
    command = [sys.executable, "-c", RUN, str(folder)]
    return subprocess.run(command, cwd=SITE, capture_output=True, text=True, check=False)


def test_files_and_commands_of_a_page_are_shown_as_a_reader_has_them() -> None:
    nbformat = pytest.importorskip("nbformat")
    as_typed = script("site/typed_cells.py").as_typed
    stream = nbformat.v4.new_output("stream", text="14 cells\n")
    error = nbformat.v4.new_output("error", ename="RuntimeError", evalue="exit status 2")
    for source, outputs, text in (
        ("%%writefile a.yaml\ndomain:\n", [stream], "The file `a.yaml`:\n\n````yaml\ndomain:\n````"),
        ("!mmopt check a.yaml", [stream], "````sh\nmmopt check a.yaml\n````\n\n````text\n14 cells\n````"),
        ("!ls a\n!ls b", [error], "````sh\nls a\nls b\n````\n\n````text\n(exit status 2)\n````"),
        ("!true", [], "````sh\ntrue\n````"),
    ):
        shown = as_typed(nbformat.v4.new_code_cell(source, outputs=outputs))
        assert (shown.cell_type, shown.source) == ("markdown", text)
    for cell in (
        nbformat.v4.new_code_cell("name = 1\n!ls {name}"),
        nbformat.v4.new_code_cell(""),
        nbformat.v4.new_markdown_cell("!"),
    ):
        assert as_typed(cell) is cell


@pytest.mark.slow
def test_a_page_is_run(tmp_path: Path) -> None:
    cell = "name = 'small'\n!echo {name} $name\n!ls; pwd | tail -c 5"
    assert ran(tmp_path, cell).stdout.strip() == "['lessons/page']\nsmall small\npage.md\nsite"


@pytest.mark.slow
def test_a_cell_that_fails_stops_the_page_unless_it_is_meant_to(tmp_path: Path) -> None:
    cell = "!ls nothing-here"
    done = ran(tmp_path, cell)
    assert done.returncode == 1 and "exit status 2" in done.stderr
    assert f"{tmp_path / 'examples' / 'site' / 'page.md'}: " in done.stderr
    assert ran(tmp_path / "meant", cell, tags=":tags: [raises-exception]\n").returncode == 0


def test_links_name_the_file_that_is_there(tmp_path: Path) -> None:
    for name in ("jupytext", "nbclient"):
        pytest.importorskip(name)
    for name in ("plain.md", "made.rst"):
        (tmp_path / name).write_text("", encoding="utf-8")
    text = "[a](plain.md) [b\nc](pages/code.md#top) ![d](made.md) [e](gone.md) [f](https://a.org/code.md)"
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "code.ipynb").write_text("", encoding="utf-8")
    assert scripts("site").site_pages.with_endings(text, tmp_path) == (
        "[a](plain.md) [b\nc](pages/code.ipynb#top) ![d](made.rst) [e](gone.md) [f](https://a.org/code.md)"
    )


def test_the_front_page_lists_what_is_there(tmp_path: Path) -> None:
    for name in ("jupytext", "latex2mathml", "nbclient", "sphinx"):
        pytest.importorskip(name)
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "one.ipynb").write_text("{}", encoding="utf-8")
    text = "# T\n\n```{toctree}\n:caption: C\n\npages/one\npages/gone\n```\n\n```{toctree}\nnotes/*\n```\n"
    filled = scripts("site").site_pages.filled_contents(text, tmp_path)
    assert filled == "# T\n\n```{toctree}\n:caption: C\n\npages/one\n```\n\n\n"


LESSON = """---
kernelspec: {name: python3}
---

# 4. Cones

**Assumes** lesson 1,
and patience.

**Ends in** a number.

```{code-cell} python
check("4.1", answer)
```

```{code-cell} python
check("4.2", answer)
```
"""


def test_lessons_are_listed_as_they_say_of_themselves(tmp_path: Path) -> None:
    for name in ("jupytext", "nbclient"):
        pytest.importorskip(name)
    site = scripts("site")
    (tmp_path / "lesson.md").write_text(LESSON, encoding="utf-8")
    lesson = site.run_notebooks.Page("lessons/04-cones", tmp_path / "lesson.md")
    for place, name, text in (
        ("list", "index", "- [4. Cones](lessons/04-cones.md): a number."),
        (
            "table",
            "pages/a",
            "| [4. Cones](../lessons/04-cones.md) | lesson 1, and patience. | a number. | 2 | 20 |",
        ),
    ):
        (tmp_path / "page.md").write_text(f"Before\n\n% lessons: {place}\n\nafter\n", encoding="utf-8")
        filled = site.lesson_list.with_lessons(site.run_notebooks.Page(name, tmp_path / "page.md"), [lesson])
        assert filled.startswith("Before\n\n") and filled.endswith(f"{text}\n\nafter\n")


def test_a_lesson_that_says_too_little_is_refused(tmp_path: Path) -> None:
    for name in ("jupytext", "nbclient"):
        pytest.importorskip(name)
    site = scripts("site")
    (tmp_path / "lesson.md").write_text(LESSON.replace("Assumes", "Needs"), encoding="utf-8")
    with pytest.raises(site.run_notebooks.PageError) as error:
        site.lesson_list.lesson(site.run_notebooks.Page("lessons/04-cones", tmp_path / "lesson.md"))
    assert str(error.value) == f"{tmp_path / 'lesson.md'}: a lesson says at its beginning **Assumes**"


@pytest.mark.slow
def test_some_pages_are_built(tmp_path: Path) -> None:
    for name in ("sphinx", "furo", "myst_nb", "latex2mathml"):
        pytest.importorskip(name)
    only = ["--only", "index", "--only", "programs/l2_strategy"]
    done = subprocess.run([sys.executable, str(SITE / "build.py"), str(tmp_path / "out"), *only], check=False)
    assert done.returncode == 0
    page = (tmp_path / "out" / "programs" / "l2_strategy.html").read_text(encoding="utf-8")
    assert "Why it is convex" in page and "<math" in page
    assert not script("site/link_check.py").check_links(tmp_path / "out").loaded
