"""Many documents in, one file of suggestions for each shard of them out: on one machine, by a scheduler, or on Ray."""
