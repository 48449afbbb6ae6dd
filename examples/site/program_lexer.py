"""Colours for programs of the language: sections, kinds, atoms, numbers, texts and comments.

Its words are those of the package: sections, kinds of a declaration, names of atoms.
"""

from __future__ import annotations

from typing import Any

from pygments.lexer import RegexLexer, bygroups, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text, Whitespace

from mmopt.language.atoms.table_of_atoms import FUNCTIONS
from mmopt.language.syntax.parse_statements import KINDS
from mmopt.language.syntax.program_sections import PROSE, SECTIONS

__all__ = ["ProgramLexer"]

BETWEEN = ("for", "in", "if", "from", "dual", "solve", "repeat", "until", "alternate", "norm", "on", "random")


class ProgramLexer(RegexLexer):
    """Sections begin at the left margin; below ``about`` and ``proof`` stand plain words."""

    name = "mmopt program"
    aliases = ("mmopt", "program")
    filenames = ("*.program",)
    tokens: dict[str, Any] = {  # noqa: RUF012 - the library reads it from the class
        "root": [
            (rf"^({'|'.join(PROSE)})\b(.*\n)", bygroups(Keyword.Declaration, Text), "words"),
            (r"^(program)(\s+)(\S+)", bygroups(Keyword.Declaration, Whitespace, Name.Class)),
            (
                r"^(class|bound|formulation of)(\s+)(.+)",
                bygroups(Keyword.Declaration, Whitespace, Name.Class),
            ),
            (words(SECTIONS, prefix=r"^", suffix=r"(?=[\s:]|$)"), Keyword.Declaration),
            (r"^([ \t]+)(\w+)(?=\s*(?::|=(?!=)))", bygroups(Whitespace, Name.Variable)),
            (words(sorted(KINDS), prefix=r"\b", suffix=r"\b(?=\[|\s|$)"), Keyword.Type),
            (words(sorted(FUNCTIONS), prefix=r"\b", suffix=r"(?=\()"), Name.Builtin),
            (words(BETWEEN, prefix=r"\b", suffix=r"\b"), Keyword),
            (r"#.*", Comment.Single),
            (r'"[^"\n]*"', String),
            (r"\d+(\.\d+)?(e[+-]?\d+)?", Number),
            (r"[^\W\d]\w*", Name),
            (r"<=|>=|==|!=|>>|<<|\*\*|[-+*/@<>=|]", Operator),
            (r"[()\[\]{},:.]", Punctuation),
            (r"\n", Whitespace),
            (r"[ \t]+", Whitespace),
            (r".", Text),
        ],
        "words": [(r"[ \t]+.*\n|[ \t]*\n", String.Doc), (r"[ \t]+.*\Z", String.Doc), (r"", Text, "#pop")],
    }
