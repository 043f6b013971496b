"""Tag many documents: shard by shard, on one machine, by a scheduler, or on Ray; or as Arrow batches elsewhere."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tagwright.batch.arrow import ArrowTagger as ArrowTagger


def __getattr__(name: str) -> Any:
    """Load `ArrowTagger` when it is asked for: the command line needs none."""
    if name != "ArrowTagger":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tagwright.batch.arrow import ArrowTagger

    return ArrowTagger
