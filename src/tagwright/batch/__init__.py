"""Tag many documents: shard by shard, on one machine, by a scheduler, or on Ray."""
