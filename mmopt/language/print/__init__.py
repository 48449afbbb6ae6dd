"""Programs in print: LaTeX and plain text."""
