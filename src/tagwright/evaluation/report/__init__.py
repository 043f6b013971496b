"""Scores and comparisons as tables, as a page, and as plots."""
