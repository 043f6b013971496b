"""The review page of the server, and training on what was decided there."""
