"""Build the documentation site: pages made from data, code run, Sphinx, then every link checked.

python examples/site/build.py OUT              everything: some minutes
python examples/site/build.py OUT --quick      lessons are shown without being run: three minutes on two cores
python examples/site/build.py OUT --only 'pages/two*'    these pages alone, while you write them

The build replaces OUT. It ends with status 1 if the code of a page fails, Sphinx warns, a link is broken, or
a page would load anything from elsewhere.
"""

from __future__ import annotations

import argparse
import fnmatch
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import monotonic

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parent


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path, help="folder of the site; the build replaces its contents")
    parser.add_argument("--quick", action="store_true", help="do not run the lessons")
    parser.add_argument(
        "--only", metavar="GLOB", action="append", help="build these pages alone, without checks"
    )
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="mmopt-site-") as scratch:
        return build(given.out, Path(scratch), given.quick, given.only)


def build(out: Path, scratch: Path, quick: bool, only: list[str] | None) -> int:
    """Build the site; the exit status."""
    from link_check import check_links
    from program_pages import write_program_pages
    from reference_pages import write_reference
    from run_notebooks import PageError
    from site_pages import site_pages, write_pages

    began = monotonic()

    def said(what: str) -> None:
        print(f"{monotonic() - began:6.1f} s  {what}", flush=True)

    if out.exists() and any(out.iterdir()) and not (out / "searchindex.js").exists():
        print(f"'{out}' has files that do not belong to a site: name another folder")
        return 2
    source = scratch / "source"
    source.mkdir()
    for folder in EXAMPLES.iterdir():  # pages may show pictures and files of other examples
        if folder.is_dir() and folder != HERE:
            (scratch / folder.name).symlink_to(folder)
    write_program_pages(source / "programs", lambda name: is_wanted(f"programs/{name}", only))
    said("pages of programs")
    if is_wanted("reference/", only):
        write_reference(source)
        said("pages of the reference")
    pages = [page for page in site_pages() if is_wanted(page.name, only)]
    try:
        for name, seconds in write_pages(pages, source, scratch, quick):
            said(f"{name} ran in {seconds:.1f} s")
    except PageError as error:
        print(error)
        return 1
    if status := run_sphinx(source, out, scratch, strict=only is None):
        return status
    said("Sphinx")
    if only is not None:
        return 0
    links = check_links(out)
    print("Links to elsewhere:", *links.elsewhere, sep="\n  ")
    for line in (*links.broken, *links.loaded):
        print(line)
    said(f"{links.pages} pages, {links.followed} links within the site, {len(links.broken)} of them broken")
    return 1 if links.broken or links.loaded else 0


def is_wanted(name: str, only: list[str] | None) -> bool:
    """Whether a page is among the requested ones."""
    return only is None or any(fnmatch.fnmatch(name, glob) for glob in only)


def run_sphinx(source: Path, out: Path, scratch: Path, strict: bool) -> int:
    """Make HTML of the pages; its exit status."""
    from program_pages import explanation_style
    from sphinx.cmd.build import main as sphinx

    import mmopt

    style = scratch / "explanation.css"
    style.write_text(explanation_style(mmopt.explain("l2_strategy")._repr_html_()), encoding="utf-8")
    shutil.rmtree(out, ignore_errors=True)
    words = ["-b", "html", "-c", str(HERE), "-d", str(scratch / "doctrees"), "-j", "2", "-q"]
    words += ["-D", f"html_static_path={HERE / 'site.css'},{style}"]
    # A part of the site names pages that it lacks.
    words += ["-W", "--keep-going"] if strict else ["-D", "suppress_warnings=myst.xref_missing,toc,ref"]
    return sphinx([*words, str(source), str(out)])


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.path.insert(0, str(HERE))
    sys.exit(main())
