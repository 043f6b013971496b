"""Defaults that the command line, Python and the server share."""

MAX_LABELS = 10
"How many labels are suggested for a document, at most: `--max-labels`, `k`."
