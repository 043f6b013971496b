"""Tools that know nothing of tagging: atomic files, saved folders, checked options, the cache, progress."""
