"""Methods: each file is one recipe that composes the shared parts into a tagger."""
