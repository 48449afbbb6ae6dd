"""A program and its expressions in print, as LaTeX and plain text; the language itself is written in syntax."""
