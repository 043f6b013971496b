"""Readers of vocabularies: tables, SKOS, lists of terms."""
