"""The builder of the site: links, formulas, pages made from data, and pages by hand: run, linked, listed.

Sphinx runs in a slow test alone.
"""

import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import parse_qs

import pytest

import mmopt.language
import mmopt.request
from mmopt import Program
from mmopt.language import ATOMS, program_names
from mmopt.language.syntax.parse_statements import KINDS
from mmopt.language.syntax.program_sections import SECTIONS
from tests.examples.scripts import EXAMPLES, script, scripts

for package in (
    "furo",
    "ipykernel",
    "jupytext",
    "matplotlib",
    "myst_nb",
    "nbclient",
    "sphinx",
):
    pytest.importorskip(package)  # mmopt[docs]

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
check_links = script("site/link_check.py").check_links
PAGE = '<html><head><link rel="stylesheet" href="a.css"></head><body><h1 id="top">T</h1>{}</body></html>'


def site_of(folder: Path, body: str, css: str = "p { color: red }") -> Path:
    (folder / "index.html").write_text(PAGE.format(body), encoding="utf-8")
    (folder / "other.html").write_text(PAGE.format('<p id="here">x</p>'), encoding="utf-8")
    (folder / "a.css").write_text(css, encoding="utf-8")
    return folder


def test_links_that_lead_somewhere(tmp_path: Path) -> None:
    body = '<a href="other.html#here">a</a><a href="#top">b</a><a href="https://example.org/x">c</a>'
    body += '<img src="data:image/png;base64,AA=="><a href="mailto:x@a.org">d</a><a href="other.html?q">e</a>'
    links = check_links(site_of(tmp_path, body))
    assert (links.broken, links.loaded, links.elsewhere) == ((), (), ("https://example.org/x",))
    assert (links.pages, links.followed) == (2, 5)  # two style sheets, three links


def test_a_broken_link_is_seen(tmp_path: Path, subtests: pytest.Subtests) -> None:
    (tmp_path / "outside.html").write_text("x", encoding="utf-8")
    folder = tmp_path / "site"
    folder.mkdir()
    for body, broken in (
        ('<a href="gone.html">a</a>', "gone.html (no such file)"),
        ('<a href="other.html#gone">a</a>', "other.html#gone (no such anchor)"),
        ('<a href="#gone">a</a>', "#gone (no such anchor)"),
        ('<img src="gone.png">', "gone.png (no such file)"),
        ('<a href="../outside.html">a</a>', "../outside.html (outside the site)"),
    ):
        with subtests.test(broken):
            assert check_links(site_of(folder, body)).broken == (f"index.html: {broken}",)


ELSEWHERE = "https://example.org/x"


def test_what_is_loaded_from_elsewhere_is_seen(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for body in (
        f'<script src="{ELSEWHERE}"></script>',
        f'<link rel="stylesheet" href="{ELSEWHERE}">',
        f'<link rel="preload icon" href="{ELSEWHERE}">',
        f'<img src="{ELSEWHERE}">',
        f'<img srcset="a.css 1x, {ELSEWHERE} 2x">',
        f'<iframe src="{ELSEWHERE}"></iframe>',
        f'<object data="{ELSEWHERE}"></object>',
        f'<svg><use xlink:href="{ELSEWHERE}"></use></svg>',
        f"<style>p {{ background: url('{ELSEWHERE}') }}</style>",
        f'<p style="background: url({ELSEWHERE})">x</p>',
    ):
        with subtests.test(body):
            assert check_links(site_of(tmp_path, body)).loaded == (f"index.html: loads {ELSEWHERE}",)
    for css, loaded, broken in (
        ("p { background: url(//example.org/x) }", ("a.css: loads //example.org/x",), ()),
        ("@import 'https://example.org/x';", ("a.css: loads https://example.org/x",), ()),
        ("/* url(https://example.org/x) */", (), ()),
        ("p { background: url(gone.png) }", (), ("a.css: gone.png (no such file)",)),
    ):
        with subtests.test(css):
            links = check_links(site_of(tmp_path, "", css))
            assert (links.loaded, links.broken) == (loaded, broken)


def test_punctuation_stays_beside_its_formula() -> None:
    from docutils import nodes

    line = nodes.paragraph("", "", nodes.math("", "a"), nodes.Text(", with "), nodes.math("", "b"))
    line += nodes.Text(" and"), nodes.math("", "c")
    script("site/mathml_formulas.py").join_punctuation(None, line, "")
    shown = '<inline classes="joined"><math>a</math>,</inline> with <math>b</math> and<math>c</math>'
    assert str(line) == f"<paragraph>{shown}</paragraph>"


def test_a_fraction_of_two_digits_is_one() -> None:
    from docutils import nodes

    for latex in (r"\frac12 w", r"\tfrac 1 2 w", r"\frac{1}{2} w"):
        shown = script("site/mathml_formulas.py")._formula(None, nodes.math("", latex), "inline")
        assert "<mn>1</mn>" in shown and "<mn>2</mn>" in shown, latex


def test_the_page_of_the_language_has_all_that_its_docstring_says() -> None:
    pages = script("site/docstring_pages.py")
    text = pages.docstring_page(mmopt.language, "Language", "mmopt", without=("Atoms",))
    for section in (*SECTIONS, "convex", "procedure"):
        assert f"``{section}``" in text
    assert "\nCurvature\n---" in text and "\nAtoms\n---" not in text and "syntax/" not in text
    with pytest.raises(ValueError) as error:
        pages.docstring_page(mmopt.language, "Language", "mmopt", without=("Gone",))
    assert str(error.value) == "the docstring of mmopt.language has no section 'Gone'"
    assert "Files here" not in pages.docstring_page(mmopt.request, "File", "yaml")


def test_the_glossary_has_the_words_of_a_program_and_of_a_result() -> None:
    text = (SITE / "pages" / "glossary.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.*?) \|", text.split("\n## Words of a program\n")[1], re.MULTILINE)
    words = {word for row in rows for word in re.findall(r"`(.*?)`", row)}
    assert not {*SECTIONS, *KINDS, "<=", ">=", "==", ">>", "<<"} - words


def test_two_columns_become_definitions() -> None:
    block = ["one, two   words that go", "           on", "three", "four       end"]
    defined = list(script("site/docstring_pages.py").definitions(block, 11))
    assert defined == ["``one``, ``two``, ``three``", "    words that go on", "", "``four``", "    end", ""]


def test_a_docstring_in_our_form_is_made_readable() -> None:
    lines = ["Solve.", "", "Parameters", "----------", "a, b : what", "    is meant.", "*c : more"]
    readable = ["Solve.", "", "", ".. rubric:: Parameters", ""]
    readable += ["", "``a``, ``b``", "    what", "    is meant.", "", "``*c``", "    more"]
    assert script("site/docstring_pages.py").readable(lines) == readable
    raises = ["Raises", "------", "AError : one or", "the other. mmopt.Error : as ``solve``."]
    readable = ["", ".. rubric:: Raises", "", "", "``AError``", "    one or", "    the other."]
    assert script("site/docstring_pages.py").readable(raises) == [
        *readable,
        "",
        "``mmopt.Error``",
        "    as ``solve``.",
    ]


def test_signatures_are_those_of_the_source() -> None:
    plain = script("site/docstring_pages.py").plain_signature
    words, returned = plain(mmopt.accuracy)
    assert returned == "Accuracy" and words.startswith("(workload: ") and words.endswith(")")
    assert not [word for word in ("numpy", "'", "<function", "<lambda", "->") if word in words]
    assert plain(mmopt.Release.save)[0].startswith("(folder: ")


def test_what_an_entry_says_of_an_atom(subtests: pytest.Subtests) -> None:
    pages = script("site/atom_pages.py")
    for name, shapes, kept in (
        ("exp", "a vector of length n → a vector of length n, ≥ 0", "convex → convex"),
        ("norm 2", "a vector of length n → a number, ≥ 0", "affine → convex; convex ≥ 0 → convex"),
        ("inv", "a psd matrix (n, n) → a psd matrix (n, n)", "concave ⪯ → convex ⪯"),
        ("sub", "a number and a number → a number", "convex and concave → convex"),
        ("pow", "", "concave ≥ 0 to the power -1 → convex"),
        ("rank", "a matrix (m, n) → a number, ≥ 0", ""),
    ):
        with subtests.test(name):
            assert shapes in "; ".join(f"{of} → {value}" for of, value in pages.shapes(ATOMS[name]))
            assert kept in "; ".join(f"{of} → {value}" for of, value in pages.kept(ATOMS[name]))


def test_the_entry_of_an_atom_has_a_solved_example() -> None:
    entry = "\n".join(script("site/atom_pages.py").atom_entry(ATOMS["norm 2"]))
    assert entry.startswith("(atom-norm-2)=\n### `norm(x)`\n")
    assert "```mmopt\nprogram example\n" in entry and "\nObjective 1, bound 1, gap " in entry


def test_the_page_of_a_program(tmp_path: Path) -> None:
    program = Program.load("l2_strategy")
    text = scripts("site").program_pages.program_page("l2_strategy", tmp_path)
    for words in (
        program.title,
        program.cite,
        program.text.rstrip(),
        "(l2_strategy_block.md)",
        "![The strategy",
    ):
        assert words in text
    for title in (
        "## The program\n",
        "## Why it is convex\n",
        "## What is proved\n",
        "## A small one, solved\n",
    ):
        assert title in text
    assert "objective    17.86617" in text and "bound        17.86617" in text and "<math" in text
    assert (tmp_path / "l2_strategy.svg").read_text(encoding="utf-8").startswith("<?xml")


def test_all_programs_are_listed_once() -> None:
    pages = scripts("site").program_pages
    text = pages.programs_index([Program.load(name) for name in program_names()], lambda name: True)
    assert all(text.count(f"\n| [`{name}`]({name}.md) |") == 1 for name in program_names())
    assert all(f"\n{name} <{name}>\n" in text for name in program_names())


def test_colours_lose_nothing_of_a_program(subtests: pytest.Subtests) -> None:
    from pygments.token import Error

    lexer = script("site/program_lexer.py").ProgramLexer()
    for name in program_names():
        with subtests.test(name):
            text = Program.load(name).text.strip() + "\n"
            tokens = list(lexer.get_tokens(text))
            assert "".join(word for _, word in tokens) == text
            assert not [word for kind, word in tokens if kind in Error]


def ran(folder: Path, cell: str, tags: str = "") -> subprocess.CompletedProcess[str]:
    """A page with one cell, run: its name and what it printed, or the error."""
    site = folder / "examples" / "site"
    site.mkdir(parents=True)
    text = f"# Page\n\n```{{code-cell}} python\n{tags}{cell}\n```\n"
    (site / "page.md").write_text(text, encoding="utf-8")
    command = [sys.executable, "-c", RUN, str(folder)]
    return subprocess.run(command, cwd=SITE, capture_output=True, text=True, check=False)


def test_files_and_commands_of_a_page_are_shown_as_a_reader_has_them() -> None:
    import nbformat

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
    for name in ("plain.md", "made.rst"):
        (tmp_path / name).write_text("", encoding="utf-8")
    text = "[a](plain.md) [b\nc](pages/code.md#top) ![d](made.md) [e](gone.md) [f](https://a.org/code.md)"
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "code.ipynb").write_text("", encoding="utf-8")
    assert scripts("site").site_pages.with_endings(text, tmp_path) == (
        "[a](plain.md) [b\nc](pages/code.ipynb#top) ![d](made.rst) [e](gone.md) [f](https://a.org/code.md)"
    )


def test_the_front_page_lists_what_is_there(tmp_path: Path) -> None:
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
    site = scripts("site")
    (tmp_path / "lesson.md").write_text(LESSON.replace("Assumes", "Needs"), encoding="utf-8")
    with pytest.raises(site.run_notebooks.PageError) as error:
        site.lesson_list.lesson(site.run_notebooks.Page("lessons/04-cones", tmp_path / "lesson.md"))
    assert str(error.value) == f"{tmp_path / 'lesson.md'}: a lesson says at its beginning **Assumes**"


CODE = """
import mmopt
BODY = "program {}\\nchoose\\n    x: scalar >= 0\\nminimize\\n    {}\\n"

def make(name, objective):
    return mmopt.Program.parse(BODY.format(name, objective))

s = mmopt.solve(None, make("one", "x & y".replace("& y", "+ 1")))
mmopt.solve(w, "l2_strategy"), make(s.program, "x")
"""


def test_a_page_links_its_programs_to_the_studio() -> None:
    """The texts are computed without a solve; what a solve would say is no text."""
    import nbformat

    links = scripts("site").studio_links
    file = "%%writefile two.program\nprogram two\nchoose\n    x: scalar >= 0\nminimize\n    x\n"
    made = list(links.programs_of([CODE, file, "%%writefile a.yaml\ndomain:\n", "!mmopt check a.yaml"]))
    assert [[program.name for program in programs] for programs in made] == [
        ["one", "l2_strategy"],
        ["two"],
        [],
        [],
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code in (CODE, CODE)])
    links.add_links(notebook)
    assert [cell.cell_type for cell in notebook.cells] == ["code", "markdown", "code"]  # each program once
    text, shipped = re.findall(r"\]\(http://127\.0\.0\.1:8347/#([^)\s]*)\)", notebook.cells[1].source)
    assert parse_qs(text) == {"text": [made[0][0].text], "tab": ["program"]} and "x + 1" in made[0][0].text
    assert shipped == "program=l2_strategy&queries=prefix&cells=16"
    assert "(start `mmopt studio` first)" in notebook.cells[1].source


def test_every_lesson_with_a_program_links_it() -> None:
    site = scripts("site")
    for page in site.site_pages.site_pages():
        if page.name.startswith("lessons/"):
            cells = site.run_notebooks.read_page(page).cells
            made = list(site.studio_links.programs_of([c.source for c in cells if c.cell_type == "code"]))
            assert sum(map(len, made)), page.name


def test_cards_of_the_gallery(tmp_path: Path) -> None:
    import nbformat

    gallery = scripts("site").gallery
    picture = nbformat.v4.new_output("display_data", {"image/svg+xml": "<svg/>"})
    printed = nbformat.v4.new_output("stream", text="a \x1b[2m<\x1b[0m b\n")
    cells = [
        nbformat.v4.new_markdown_cell(f"# Gallery\n\n{gallery.CARDS}\n\n## One, two\n\nWords."),
        nbformat.v4.new_code_cell("1", outputs=[printed, picture]),
        nbformat.v4.new_markdown_cell("## Three"),
        nbformat.v4.new_code_cell("2", outputs=[printed]),
    ]
    file = tmp_path / "gallery.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), file)
    gallery.fill_cards(file)
    text = nbformat.read(file, as_version=4).cells[0].source
    assert "[![One, two](gallery-one-two.svg) One, two](#one-two)" in text
    assert '<a href="#three"><span class="printed">a &lt; b</span> Three</a>' in text
    assert (tmp_path / "gallery-one-two.svg").read_text(encoding="utf-8") == "<svg/>"


def test_each_picture_of_the_gallery_has_ten_lines_or_fewer() -> None:
    sections = (SITE / "pages" / "gallery.md").read_text(encoding="utf-8").split("\n## ")[1:]
    assert len(sections) >= 10
    for section in sections:
        (code,) = re.findall(r"```\{code-cell\} python\n(.*?)```", section, re.DOTALL)
        assert code.startswith("import mmopt") and len(code.strip().splitlines()) <= 10, section


@pytest.mark.slow
def test_some_pages_are_built(tmp_path: Path) -> None:
    only = ["--only", "index", "--only", "programs/l2_strategy"]
    done = subprocess.run([sys.executable, str(SITE / "build.py"), str(tmp_path / "out"), *only], check=False)
    assert done.returncode == 0
    page = (tmp_path / "out" / "programs" / "l2_strategy.html").read_text(encoding="utf-8")
    assert "Why it is convex" in page and "<math" in page
    assert not script("site/link_check.py").check_links(tmp_path / "out").loaded
