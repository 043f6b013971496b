"""Notice when a tagger in use meets other documents, or suggests otherwise, than before."""

from tagwright.monitoring.log import Watch, append, begin, read
from tagwright.monitoring.monitor import LEVEL, Look, Monitor
from tagwright.monitoring.record import Record, training_profile

__all__ = ["LEVEL", "Look", "Monitor", "Record", "Watch", "append", "begin", "read", "training_profile"]
