"""A program and its expressions in print: LaTeX and plain text. The language itself is written in syntax."""
