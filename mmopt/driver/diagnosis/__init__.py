"""Why a program has no solution: lines that conflict, or what can grow, with a proof. Finds no solution."""
