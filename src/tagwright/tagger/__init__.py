"""The pipeline of a tagger: retrieve candidates, score and combine them, cut; and what is done with its suggestions."""

from tagwright.tagger.pipeline import BATCH, KIND, Tagger, batches
from tagwright.tagger.suggestions import Evidence, Reason, Suggestion, Suggestions

__all__ = ["BATCH", "KIND", "Evidence", "Reason", "Suggestion", "Suggestions", "Tagger", "batches"]
