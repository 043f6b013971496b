"""Linear classifiers over words, as stages."""
