"""Wrong edits of lines that a guarantee rests on, and the command that applies them."""
