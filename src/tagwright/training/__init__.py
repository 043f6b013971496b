"""Pairs, losses, objectives and the training loop: values in, models out."""
