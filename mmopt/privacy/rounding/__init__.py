"""Strategies rounded to integers, so that answers and sensitivity are exact; no noise, no scale of noise.

``forms`` is the table: a form of ``mmopt.strategies`` has the file of the same name here, one product that of
unions too. ``protocol`` says what an integer strategy gives and what follows from it; ``exact`` is integer
arithmetic without overflow, ``lattice`` how real rows become integers and what must not be lost by it.
"""
