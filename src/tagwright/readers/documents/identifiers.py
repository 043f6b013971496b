"""Give each work one id that documents and references share."""

from __future__ import annotations

import re
from collections.abc import Mapping


def work_id(ids: Mapping[str, str]) -> str:
    """The id that is used for a work with several (pmid, doi, pmc, arxiv), or nothing.

    Documents and the works they refer to are named alike, so that references within a corpus meet their documents.

    >>> work_id({"doi": "doi:10.1/A", "pmid": "17"}), work_id({"doi": "doi:10.1/A"}), work_id({"url": "x"})
    ('17', '10.1/a', '')
    """
    known = {kind.lower(): name.strip() for kind, name in ids.items() if name.strip()}
    known["doi"] = doi(known.get("doi", ""))
    return next((known[kind] for kind in ("pmid", "doi", "pmcid", "pmc", "arxiv") if known.get(kind)), "")


def doi(text: str) -> str:
    """A normalised DOI: lower case, without the address of the resolver.

    >>> doi("https://doi.org/10.1000/ABC"), doi("doi:10.1000/abc")
    ('10.1000/abc', '10.1000/abc')
    """
    return re.sub(r"^(?:https?://(?:dx\.)?doi\.org/|doi:?\s*)", "", text.strip().lower())
