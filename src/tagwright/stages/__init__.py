"""Stages: they suggest or score labels, show evidence, and save themselves; start at `types.Stage`, then `lexical`.

They know nothing of rankings: the tagger pools candidates, and a combiner makes one order of all scores.
"""
