"""The pipeline of a tagger: retrieve candidates, score and combine them, cut; and what is done with its suggestions."""

from tagwright.tagger.parts import COMBINERS, STAGES
from tagwright.tagger.pipeline import BATCH, KIND, Evidence, Suggestion, Tagger, batches

__all__ = ["BATCH", "COMBINERS", "KIND", "STAGES", "Evidence", "Suggestion", "Tagger", "batches"]
