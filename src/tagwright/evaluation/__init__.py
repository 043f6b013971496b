"""Measures, significance and calibration of runs, and descriptions of data."""
