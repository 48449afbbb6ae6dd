"""Programs side by side, each combination in a process of its own."""
