"""Stages that find labels by their names."""
