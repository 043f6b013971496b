"""The table of the methods, and those that are of no paper."""
