"""How Sphinx builds the site. ``build.py`` calls it, and makes what it reads."""

from __future__ import annotations

from docstring_pages import plain_signature, readable
from program_lexer import ProgramLexer
from sphinx.application import Sphinx

project = "mmopt"
author = "The mmopt developers"
copyright = author
html_title = "mmopt"

extensions = ["myst_nb", "sphinx.ext.autodoc", "mathml_formulas"]
exclude_patterns = ["downloads/*"]

# -- pages: they were run before
nb_execution_mode = "off"
nb_merge_streams = True
myst_enable_extensions = ["dollarmath", "amsmath", "deflist", "colon_fence", "attrs_inline", "fieldlist"]
myst_heading_anchors = 4
suppress_warnings = [
    "mystnb.unknown_mime_type",  # of the displays of a data frame only HTML and text are shown
    "config.cache",  # a list of functions in a setting cannot be kept, and nothing is
]

# -- docstrings
autodoc_member_order = "bysource"
autodoc_class_signature = "separated"
python_maximum_signature_line_length = 60
add_module_names = False

# -- looks: furo, light and dark; nothing comes from elsewhere
html_theme = "furo"
html_css_files = ["explanation.css", "site.css"]  # build.py says where they are
html_math_renderer = "mathml"
html_show_sphinx = False
html_copy_source = False
html_show_copyright = False
pygments_style = "default"  # its comments and numbers can be read on the grey of a block
pygments_dark_style = "github-dark"


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.add_lexer("mmopt", ProgramLexer)
    app.connect("autodoc-process-docstring", rewrite)
    app.connect("autodoc-process-signature", sign)


def rewrite(app: Sphinx, what: str, name: str, thing: object, options: object, lines: list[str]) -> None:
    """A docstring, in place."""
    lines[:] = readable(lines)


def sign(
    app: Sphinx, what: str, name: str, thing: object, options: object, signature: str, returned: str
) -> tuple[str, str] | None:
    """A signature as the source has it; None leaves what autodoc made of it."""
    return plain_signature(thing) if what in ("function", "method") and callable(thing) else None
