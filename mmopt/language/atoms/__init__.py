"""Every function and operator of the language: one row of a table each, with the rules that a row names."""
