"""What a point is worth: repair, feasibility, objective, bound, solution. Searches no points, runs no solver
but the kernel that improves a bound."""
