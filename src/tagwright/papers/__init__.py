"""The published methods, a recipe each that reads like its paper; start at `rts.fit`.

What only they use stands beside them: pairs, losses, objectives and stages. They know neither each other nor the
command line; the rest of the program finds them by name.
"""
