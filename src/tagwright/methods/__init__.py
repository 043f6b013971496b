"""The table of the methods."""
