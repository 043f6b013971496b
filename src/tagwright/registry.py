"""Find the stages, combiners and readers that other installed packages register as entry points.

Only the code of installed packages is imported, and only what they register: a saved tagger or an option can name an
entry point, never a module. They are looked up when a name is not one of ours, which costs nothing otherwise.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from tagwright.core.checked import canonical
from tagwright.errors import TagwrightError, one_line_of

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

STAGES, COMBINERS, READERS = "tagwright.stages", "tagwright.combiners", "tagwright.readers"
"The groups of entry points."


@cache
def registered(group: str) -> tuple[EntryPoint, ...]:
    """All entry points of a group, searched once in a process."""
    from importlib.metadata import entry_points

    return tuple(entry_points(group=group))


def find(group: str, name: str, package: str = "") -> EntryPoint | None:
    """The entry point of this name, of this package if one is given; None where there is none."""
    fits = (point for point in registered(group) if canonical(point.name) == canonical(name))
    return next((point for point in fits if not package or _same(package_of(point), package)), None)


def package_of(point: EntryPoint) -> str:
    """The name of the distribution that registers it: what pip installs."""
    return point.dist.name if point.dist else ""


def load(point: EntryPoint) -> Any:
    """What the entry point names. Raises TagwrightError when its package cannot be imported."""
    try:
        return point.load()
    except Exception as error:  # another package's import may fail in any way
        raise TagwrightError(
            f"the package {package_of(point)} registers {point.name} in {point.group}, but it cannot be imported "
            f"({one_line_of(error)}); repair or uninstall it"
        ) from error


def _same(one: str, other: str) -> bool:
    """Whether two names of packages are the same to pip.

    >>> _same("Author-Keywords", "author.keywords")
    True
    """
    plain = (canonical(name.replace(".", "-")).lower() for name in (one, other))
    return next(plain) == next(plain)
