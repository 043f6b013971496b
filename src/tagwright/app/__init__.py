"""What a person runs: the command line and the demo."""
