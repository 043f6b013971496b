"""What has nothing to do with tagging: atomic files, saved folders, checked options, the cache, progress."""
