"""The metadata network: meta-paths, and the documents they join."""
