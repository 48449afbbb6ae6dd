"""Expressions with numbers: plainly or with proved error bounds, dense or split into components."""
