"""Documents in, labels out: what suggests or scores labels, with its evidence and what it saves."""
