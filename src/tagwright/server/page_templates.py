"""Render HTML pages; every text goes through a template that escapes it."""

from __future__ import annotations

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

_environment = Environment(
    loader=PackageLoader("tagwright.server"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
)


def render(template: str, **content: Any) -> str:
    """The page. content: by the names that the template uses."""
    return _environment.get_template(template).render(content)
