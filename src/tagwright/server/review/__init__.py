"""The review pages of the server, and training on what was decided there. Start at `review.Review`."""
