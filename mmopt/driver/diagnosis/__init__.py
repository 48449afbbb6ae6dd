"""Why a program has no solution: which of its lines conflict, or what can grow, with a proof."""
