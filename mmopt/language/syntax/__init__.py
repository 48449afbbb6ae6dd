"""From the text of a program to its tree, with places for messages, and from an expression back to text."""
