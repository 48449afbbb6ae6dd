"""The pages that are written by hand: which there are, and how each gets to where Sphinx reads."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import nbformat
from gallery import fill_cards
from lesson_list import with_lessons
from run_notebooks import Page, read_page, run_pages
from studio_links import add_links

__all__ = ["filled_contents", "site_pages", "with_endings", "write_pages"]

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parent
FOLDERS = {"pages": HERE / "pages", "notes": HERE / "notes", "lessons": EXAMPLES / "lessons"}
LESSONS = "lessons/"
_LINK = re.compile(r"\]\(([^)\s#:]+)\.md(#[^)\s]*)?\)")


def site_pages() -> list[Page]:
    """The front page, pages, notes and lessons, in the order of their names."""
    pages = [Page("index", HERE / "index.md")]
    for folder, files in FOLDERS.items():
        chosen = sorted(file for file in files.glob("*.md") if file.stem != "README")
        pages += [Page(f"{folder}/{file.stem}", file) for file in chosen]
    return pages


def write_pages(
    pages: Sequence[Page], source: Path, scratch: Path, quick: bool
) -> Iterator[tuple[str, float]]:
    """Write the pages, and run those with code (``quick``: but not lessons); names and seconds of these.

    Raises
    ------
    PageError : a cell that fails.
    """
    for folder, files in FOLDERS.items():
        (source / folder).mkdir(exist_ok=True)
        for file in files.glob("*.*"):
            if file.suffix not in (".md", ".py"):
                shutil.copy(file, source / folder)
    run = [page for page in pages if page.has_code and not (quick and page.name.startswith(LESSONS))]
    lessons = [page for page in site_pages() if page.name.startswith(LESSONS)]
    for page in pages:
        if not page.has_code:
            (source / f"{page.name}.md").write_text(with_lessons(page, lessons), encoding="utf-8")
        elif page not in run:
            nbformat.write(read_page(page), source / f"{page.name}.ipynb")
    yield from run_pages(run, EXAMPLES, scratch, source)
    if (gallery := source / "pages" / "gallery.ipynb").exists():
        fill_cards(gallery)
    for page in lessons:
        if (file := source / f"{page.name}.ipynb").exists():
            notebook = nbformat.read(file, as_version=4)
            add_links(notebook)
            nbformat.write(notebook, file)
    _offer_downloads([page for page in pages if page.name.startswith(LESSONS) and page.has_code], source)
    for file in (*source.rglob("*.md"), *source.rglob("*.ipynb")):
        _follow_links(file)
    front = source / "index.md"
    if front.exists():
        front.write_text(filled_contents(front.read_text(encoding="utf-8"), source), encoding="utf-8")


def with_endings(text: str, folder: Path) -> str:
    """Markdown with links to ``.md``: to the file of that name that is there, if its ending is another."""

    def there(link: re.Match[str]) -> str:
        # In the repository a page is a folder deeper than on the site, as seen from the lessons.
        stem, anchor = link[1].removeprefix("../") if "../../lessons/" in link[1] else link[1], link[2] or ""
        endings = [end for end in (".md", ".ipynb", ".rst") if (folder / f"{stem}{end}").exists()]
        return f"]({stem}{endings[0]}{anchor})" if endings else link[0]

    return _LINK.sub(there, text)


def _follow_links(file: Path) -> None:
    """Mend the links of a page that Sphinx reads, in place. A page with code became a notebook."""
    if file.suffix == ".md":
        text = file.read_text(encoding="utf-8")
        file.write_text(with_endings(text, file.parent), encoding="utf-8")
        return
    notebook = nbformat.read(file, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = with_endings(cell.source, file.parent)
    nbformat.write(notebook, file)


def filled_contents(text: str, source: Path) -> str:
    """The front page, its lists of contents without what is not there, and without lists that are left empty.

    A page that no list names, as one that is misspelt there, is a warning of Sphinx, and so an error.
    """

    def entries(block: re.Match[str]) -> str:
        lines = block[0].split("\n")
        left = [line for line in lines if not line[:1].isalnum() or next(source.glob(f"{line}.*"), None)]
        return "\n".join(left) if any(line[:1].isalnum() for line in left) else ""

    return re.sub(r"```\{toctree\}.*?\n```", entries, text, flags=re.DOTALL)


def _offer_downloads(lessons: Sequence[Page], source: Path) -> None:
    """Put each lesson as a notebook, and all with their checker, where they can be had; say so in each."""
    offered = source / "downloads" / "lessons"
    offered.mkdir(parents=True)
    for lesson in lessons:
        file = source / f"{lesson.name}.ipynb"
        shutil.copy(file, offered)
        notebook = nbformat.read(file, as_version=4)
        first = next(cell for cell in notebook.cells if cell.cell_type == "markdown")
        heading, _, rest = first.source.lstrip().partition("\n")
        words = (
            f"{{download}}`This lesson as a notebook <../downloads/lessons/{file.name}>`; "
            "{download}`all lessons, with what checks their exercises <../downloads/lessons.zip>`."
        )
        first.source = f"{heading}\n\n{words}\n{rest}"
        nbformat.write(notebook, file)
    for script in FOLDERS["lessons"].glob("*.py"):
        shutil.copy(script, offered)
    shutil.make_archive(str(offered), "zip", offered.parent, offered.name)
