"""Compare two vocabularies: labels that were added, that are gone, and that have another name."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tagwright.core.display import plural
from tagwright.core.progress import note
from tagwright.data.vocabulary import Vocabulary
from tagwright.types import Label

EXAMPLES = 3
"Labels of each kind that are named."


@dataclass(frozen=True)
class VocabularyChanges:
    """added, gone, renamed: ids with names, with the old and the new one where it is another.

    >>> str(VocabularyChanges.of(Vocabulary(["Bees", "Taxes"]), Vocabulary(["Bees", "Wasps"])))
    '1 label added (Wasps), 1 gone (Taxes), 0 renamed'
    """

    added: Sequence[tuple[str, str]]
    gone: Sequence[tuple[str, str]]
    renamed: Sequence[tuple[str, str]]

    @classmethod
    def of(cls, old: Vocabulary, new: Vocabulary) -> "VocabularyChanges":
        """Compare by id, and preferred names within each language that both have, if any is known."""
        if old is new:
            return cls((), (), ())
        labels = {label.id: label for label in old}
        added, renamed = list[tuple[str, str]](), list[tuple[str, str]]()
        for label in new:
            before = labels.pop(label.id, None)
            if before is None:
                added.append((label.id, label.name))
            elif names := _find_renaming(before, label):
                renamed.append((label.id, " -> ".join(names)))
        return cls(added, [(label.id, label.name) for label in labels.values()], renamed)

    def __bool__(self) -> bool:
        return bool(self.added or self.gone or self.renamed)

    def __str__(self) -> str:
        added, gone, renamed = map(_examples, (self.added, self.gone, self.renamed))
        return (
            f"{plural(len(self.added), 'label')} added{added}, {len(self.gone):,} gone{gone}, "
            f"{len(self.renamed):,} renamed{renamed}"
        )

    def to_json(self) -> dict[str, Any]:
        """The number of labels of each kind, with the first examples."""
        return {
            kind: {"count": len(changes), "examples": [{"id": id_, "name": name} for id_, name in changes[:EXAMPLES]]}
            for kind, changes in vars(self).items()
        }


def report_changes(old: Vocabulary, new: Vocabulary) -> None:
    """Note in one line how the labels to suggest from differ from those of a model, if they do."""
    if changes := VocabularyChanges.of(old, new):
        note(f"the labels differ from those of the model: {changes}")


def _find_renaming(before: Label, after: Label) -> tuple[str, str] | None:
    """The first preferred names that differ, in the language of the preferred name after if possible; None: none do."""
    if before.name == after.name and before.languages == after.languages:
        return None
    old, new = dict(before.languages), dict(after.languages)
    codes = [code for code in dict.fromkeys((_language(after), _language(before), *new)) if code in old and code in new]
    pairs = [(before.name_in(code), after.name_in(code)) for code in codes]
    pairs = pairs or [(before.name, after.name_in(_language(before)))]
    return next((pair for pair in pairs if len({*pair}) > 1), None)


def _language(label: Label) -> str:
    return next((code for code, name in label.languages if name == label.name), "")


def _examples(changes: Sequence[tuple[str, str]]) -> str:
    if not changes:
        return ""
    more = ", ..." if len(changes) > EXAMPLES else ""
    return f" ({', '.join(name for _, name in changes[:EXAMPLES])}{more})"
