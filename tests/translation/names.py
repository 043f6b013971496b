"""Subjects in English and German, made of parts."""

from itertools import product

FIRST = {
    "Steuer": "Tax", "Verkehrs": "Traffic", "Bildungs": "Education", "Umwelt": "Environment", "Kultur": "Culture",
    "Wirtschafts": "Economy", "Landschafts": "Landscape", "Gesundheits": "Health", "Wissenschafts": "Science",
    "Versicherungs": "Insurance", "Wohnungs": "Housing", "Jugend": "Youth", "Energie": "Energy", "Fischerei": "Fishery",
    "Regierungs": "Government", "Handwerks": "Craft", "Museums": "Museum", "Religions": "Religion",
}  # fmt: skip
SECOND = {
    "politik": "policy", "recht": "law", "statistik": "statistics", "geschichte": "history", "forschung": "research",
    "verwaltung": "administration", "planung": "planning", "entwicklung": "development", "wettbewerb": "competition",
    "reform": "reform", "zeitschrift": "journal", "berater": "adviser", "kosten": "costs", "berufe": "occupations",
    "schule": "school",
}  # fmt: skip
_ALONE = [(b.title(), a.title().removesuffix("s")) for a, b in (*FIRST.items(), *SECOND.items())]

BOTH = [*((f"{c} {d}", f"{a}{b}") for (a, c), (b, d) in product(FIRST.items(), SECOND.items())), *_ALONE]
"(English, German) name of 303 subjects."
