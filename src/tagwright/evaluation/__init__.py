"""Runs in, measures out: metrics, significance, reports."""
