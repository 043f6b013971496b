"""The metadata network: meta-paths, and the documents they join; start at `network.Graph`."""
