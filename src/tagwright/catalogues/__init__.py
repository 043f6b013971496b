"""Copies of catalogue records with suggested subjects: ISO 2709 and MARCXML, byte for byte but for the added fields."""
