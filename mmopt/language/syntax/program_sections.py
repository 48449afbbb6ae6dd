"""The sections of a program's text: their names, which class of programs has which, and their statements.

A section begins with its name at the left margin. Its lines are cut into statements here; they are read
elsewhere (``parse_statements``).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

from mmopt.errors import suggest
from mmopt.language.syntax.source_text import CLOSING, PAIRS, RELATIONS, Source, Text
from mmopt.language.syntax.syntax_tree import Span

# In the order in which a program is best read; a section may occur only once.
SECTIONS = (
    "program",
    "title",
    "source",
    "class",
    "language",
    "formulation of",
    "about",
    "given",
    "parameter",
    "require",
    "let",
    "choose",
    "minimize",
    "maximize",
    "subject to",
    "steps",
    "start",
    "search",
    "repair",
    "value",
    "strategy",
    "covariance",
    "neighbours",
    "from strategy",
    "certificate",
    "bound",
    "proof",
)
_STEPS = "steps belong to 'class procedure'"
_STARTS = "a search from several starts belongs to 'class smooth'"
_SEARCH = "the parameters of the rank heuristic belong to 'class rank'"
_NO_POINT = "there are no variables here"

# class -> section -> what to do instead
FOREIGN: Mapping[str, Mapping[str, str]] = {
    "convex": {"steps": _STEPS, "start": _STARTS, "search": _SEARCH},
    "rank": {"steps": _STEPS, "start": "the starts of the rank heuristic are an option of the solver"},
    "smooth": {"steps": _STEPS, "search": _SEARCH, "maximize": "minimize the negative"},
    "closed form": {
        "steps": _STEPS,
        "start": _STARTS,
        "search": _SEARCH,
        "choose": "a closed form has only data and 'let'; to optimise, write 'class convex'",
        "subject to": "conditions on the data are written under 'require'",
        "repair": _NO_POINT,
        "from strategy": _NO_POINT,
        "maximize": "a closed form reports its error under 'minimize'",
    },
    "procedure": {
        "start": _STARTS,
        "search": _SEARCH,
        "choose": "a procedure sets its variables in its steps: name = solve(program, …)",
        "subject to": "a procedure has its constraints in the programs of its steps",
        "repair": "the programs of the steps repair what they choose; a step may change the result",
        "from strategy": "certify the strategy with the programs of the steps",
        "maximize": "a procedure reports its error under 'minimize'",
    },
}
ProblemClass = Literal["convex", "rank", "smooth", "closed form", "procedure"]
CLASSES: tuple[ProblemClass, ...] = get_args(ProblemClass)
PROSE = ("about", "proof")  # the sections of words
COMMENT_MARKS = ("//", "/*", "%", "--")  # of other languages
# The parameters of the rank heuristic, where the section 'search' does not set them: the first weight of the
# trace, relative to the scaled objective (on prefix sums over 2 to 6 cells, 1 ends at the best known
# strategies in half of the starts and near singular ones in the others; 3 ends up to a fifth above them in
# nearly all, 10 up to a half; so every second start begins at 3 times it); its growth; a residual that counts
# as zero; the rounds of a start.
SEARCH: Mapping[str, float] = {"penalty": 1.0, "growth": 1.5, "zero": 1e-6, "rounds": 40.0}

# Names that sections have in other languages.
CALLED = {
    **dict.fromkeys(("s.t.", "st", "such", "constraints", "where", "with"), "subject to"),
    **dict.fromkeys(("variable", "variables", "var", "over"), "choose"),
    **dict.fromkeys(("data", "input", "constants"), "given"),
    "min": "minimize",
    "max": "maximize",
}
_NAME = re.compile(rf"(?:{'|'.join(SECTIONS)})(?=[\s:]|$)")
# A string, a comment, or a bracket. A quote that is not closed takes the rest of its line, and
# reading the tokens refuses it.
_PIECE = re.compile(
    r""""(?:[^"\\]|\\.)*(?:"|\\?$)|'(?:[^'\\]|\\.)*(?:'|\\?$)|#.*|[()\[\]{}]"""
    r"|//|/\*|%|(?<!-)--+(?=\s|$)"
)


@dataclass(frozen=True)
class Section:
    """A section: its statements, and the span of its name."""

    name: str
    source: Source
    statements: tuple[Text, ...]
    span: Span

    def single(self) -> Text:
        """The one statement of this section."""
        self.source.require(self.statements, self.span, f"section '{self.name}' is empty")
        for second in self.statements[1:]:
            is_line = self.name in ("minimize", "maximize") and any(t.text in RELATIONS for t in second.outer)
            second.fail(
                f"section '{self.name}' takes one statement; this is a second",
                "constraints belong below a line 'subject to', which is missing before this"
                if is_line
                else "a longer statement goes on in open brackets, or in lines indented deeper",
            )
        return self.statements[0]


def split_sections(source: Source) -> dict[str, Section]:
    """The sections by name, in the order of the text."""
    sections: dict[str, Section] = {}
    for name, span, column, lines in _lines_of_sections(source):
        source.require(
            name not in sections,
            span,
            f"section '{name}' appears here a second time",
            "put both parts together",
        )
        if name in PROSE:
            text = "\n".join(line.strip() for line in lines).strip()
            parts: tuple[Text, ...] = (Text(source, text, span.line, column),) if text else ()
        else:
            bare = "\n".join(_without_comment(line) for line in lines)
            parts = statements(Text(source, bare, span.line, column))
        sections[name] = Section(name, source, parts, span)
    return sections


def _lines_of_sections(source: Source) -> Iterator[tuple[str, Span, int, list[str]]]:
    """The name of each section, its span, the column of the text after it, and its lines."""
    current: tuple[str, Span, int, list[str]] | None = None
    for number, line in enumerate(source.lines, 1):
        bare = line.rstrip()
        is_empty = not bare or bare.lstrip().startswith("#")
        is_prose = current is not None and current[0] in PROSE and bare[:1].isspace()
        for piece in () if is_prose else _PIECE.finditer(bare):
            if (mark := piece[0])[:2] in COMMENT_MARKS:
                hint = "a comment begins with #" + ", and a division is written /" * (mark == "//")
                source.fail(Span(number, piece.start() + 1, len(mark)), f"'{mark}' begins no comment", hint)
        if not is_empty and bare[0] not in " \t":
            name = _section_name(source, number, bare, "" if current else "a text starts with: program NAME")
            if current:
                yield current
            rest = bare[len(name) :].lstrip(":").lstrip()
            current = name, Span(number, 1, len(name)), len(bare) - len(rest) + 1, [rest]
        elif current:
            current[-1].append("" if is_empty else bare)
        elif not is_empty:
            source.fail(
                Span(number, 1, len(bare)),
                "an indented line before any section",
                "the name of a section is written at the beginning of its line",
            )
    if current:
        yield current


def _section_name(source: Source, number: int, line: str, first: str) -> str:
    """The name with which a line begins; ProgramError where that is no section, of the first line so."""
    if match := _NAME.match(line):
        return match.group()
    source.require(
        not line[0].isspace(),
        Span(number, 1),
        f"this line begins with the character U+{ord(line[0]):04X}",
        "indent with plain spaces",
    )
    word = line.split()[0].rstrip(":")
    hint = suggest(" ".join(line.split()[:2]).rstrip(":"), SECTIONS)
    if "did you mean" not in hint:
        hint = suggest(word, SECTIONS)
    if word in CALLED:
        hint = f"write: {CALLED[word]}"
    elif not hint.startswith("did") and re.match(r"\w+\s*[^\w\s]|\W", line):
        hint = "a statement inside a section is indented"
    hint = hint if hint.startswith("did") else first or hint
    source.fail(Span(number, 1, len(word)), f"there is no section '{word}'", hint)


def check_sections(source: Source, class_name: str, sections: Mapping[str, Section]) -> None:
    """Raise a :class:`~mmopt.errors.ProgramError` unless the sections are those of the class."""

    def lacks(*names: str) -> bool:
        return not any(name in sections and sections[name].statements for name in names)

    chooses = class_name not in ("closed form", "procedure")
    either = "'minimize'" if class_name == "smooth" else "'minimize' or 'maximize'"
    # Whether it is wrong, its section, the message, and what to do.
    mistakes = (
        *(
            (
                name in sections,
                name,
                f"section '{name}' has no place in a program of class '{class_name}'",
                hint,
            )
            for name, hint in FOREIGN[class_name].items()
        ),
        (
            chooses and lacks("minimize", "maximize"),
            "program",
            f"a {class_name} program needs {either}",
            "for example: minimize alpha",
        ),
        (
            chooses and lacks("choose"),
            "program",
            f"a {class_name} program needs 'choose'",
            "for example: choose X: psd[n, n]",
        ),
        (
            class_name == "procedure" and lacks("steps"),
            "program",
            "a procedure needs 'steps'",
            "for example: weighting = solve(query_weighting)",
        ),
        (
            not chooses and lacks("minimize"),
            "program",
            f"a {class_name} needs 'minimize'",
            "the error that its result is judged by",
        ),
        (
            "maximize" in sections and "bound" in sections,
            "bound",
            "section 'bound' states a lower bound, and this program maximizes",
            "minimize the negative, or state an upper bound with 'certificate'",
        ),
        (
            lacks("strategy", "covariance") and (not chooses or "from strategy" in sections),
            "program",
            f"a {class_name} program says what its solution means",
            "write 'strategy' (factor(X) norm 2) or 'covariance' (Sigma on B)",
        ),
    )
    for is_wrong, section, message, hint in mistakes:
        if is_wrong:
            source.fail(sections[section].span, message, hint)


def statements(text: Text) -> tuple[Text, ...]:
    """The statements in the lines of a section or a block.

    A statement goes on while a bracket is open or the lines are indented deeper.
    """
    out: list[Text] = []
    indent: str | None = None
    depth, began, end = 0, 0, text.start - 1
    for row, line in enumerate(text.text.split("\n")):
        start, end = end + 1, end + 1 + len(line)
        bare = line.lstrip()
        if not bare:
            continue
        margin = line[: len(line) - len(bare)]
        deeper = False
        if row:
            indent = margin if indent is None else indent
            if depth <= 0 and not margin.startswith(indent) and not indent.startswith(margin):
                text.source.fail(
                    Span(text.span(start, end).line, 1, len(margin)),
                    "this line mixes tabs and spaces",
                    "indent with spaces only",
                )
            # Text on the line of the section's name is a separate statement.
            deeper = began > 0 and margin.startswith(indent) and len(margin) > len(indent)
        if out and (depth > 0 or deeper):
            out[-1] = replace(out[-1], end=end)
            out[-1].limit()
        else:
            out.append(replace(text, start=start + len(margin), end=end))
            depth, began = 0, row
        depth = max(0, depth + sum((piece in PAIRS) - (piece in CLOSING) for piece in _PIECE.findall(line)))
    return tuple(out)


def _without_comment(line: str) -> str:
    """A line up to its comment."""
    comment = next((match.start() for match in _PIECE.finditer(line) if match.group()[0] == "#"), None)
    return line[:comment].rstrip()
