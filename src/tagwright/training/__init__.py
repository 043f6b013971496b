"""Pairs, losses, objectives, and the training loop."""
