"""Documents in, ranked labels out: candidate stages, their fusion, and the tagger that holds them."""
