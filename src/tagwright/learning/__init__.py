"""Values in, models out: pairs, losses, clusters and the training loop."""
