"""Searches for programs that are not convex: by gradients, or for a rank. Their ends are judged elsewhere."""
