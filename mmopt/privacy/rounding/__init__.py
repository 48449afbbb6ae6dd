"""Strategies of every form rounded to integers, so that answers and sensitivity are exact."""
