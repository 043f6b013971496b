"""Documents in, labels out: stages that suggest or score labels, show evidence, and save themselves."""
