"""Names and numbers in print: Greek letters, subscripts, superscripts."""

from __future__ import annotations

import re

from mmopt.language.syntax.to_text import number_text

__all__ = ["latex_name", "latex_text", "plain_name", "superscript"]

GREEK = {
    "alpha": "α",
    "beta": "β",
    "gamma": "γ",
    "delta": "δ",
    "epsilon": "ε",
    "zeta": "ζ",
    "eta": "η",
    "theta": "θ",
    "iota": "ι",
    "kappa": "κ",
    "mu": "μ",
    "nu": "ν",
    "xi": "ξ",
    "pi": "π",
    "rho": "ρ",
    "sigma": "σ",
    "tau": "τ",
    "upsilon": "υ",
    "phi": "φ",
    "chi": "χ",
    "psi": "ψ",
    "omega": "ω",
    "Gamma": "Γ",
    "Delta": "Δ",
    "Theta": "Θ",
    "Lambda": "Λ",
    "Xi": "Ξ",
    "Pi": "Π",
    "Sigma": "Σ",
    "Upsilon": "Υ",
    "Phi": "Φ",
    "Psi": "Ψ",
    "Omega": "Ω",
}
RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
ESCAPES = {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    **{char: "\\" + char for char in "#$%&_{}"},
}


def _parts(name: str) -> tuple[str, str]:
    """A name and its subscript: ``alpha_1`` and ``x1`` have one, ``step.strategy`` has none."""
    match = re.fullmatch(r"([^\W\d_]+)_?(\w*)", name)
    return (match.group(1), match.group(2)) if match else (name, "")


def plain_name(name: str) -> str:
    """A name in plain text, with a Greek letter for its first word."""
    word, _ = _parts(name)
    return GREEK[word] + name[len(word) :] if word in GREEK else name


def latex_name(name: str) -> str:
    """A name in LaTeX: letters in italics, words upright, what follows ``_`` (or digits) below."""
    word, below = _parts(name)
    written = f"\\{word}" if word in GREEK else _upright(word)
    return f"{written}_{{{latex_name(below)}}}" if below else written


def _upright(word: str) -> str:
    return word if len(word) == 1 or word.isdigit() else "\\mathrm{" + latex_text(word) + "}"


def latex_text(text: str) -> str:
    """Words inside ``\\text{…}``."""
    return "".join(ESCAPES.get(char, char) for char in text)


def superscript(value: float) -> str:
    """A number raised, in plain text."""
    if value == int(value):
        return number_text(value).translate(RAISED)
    return {0.5: "^½", 1.5: "^(3/2)"}.get(value, f"^({number_text(value)})")
