"""Stages: they suggest or score labels, show evidence, and save themselves."""
