"""Trees of labels over words, as a stage."""
