"""Tag many documents: shard by shard, on one machine, by a scheduler, or on Ray; or as Arrow batches elsewhere."""

from tagwright.batch.arrow import ArrowTagger

__all__ = ["ArrowTagger"]
