"""Combine the scores of several stages into one ranking with confidences."""
