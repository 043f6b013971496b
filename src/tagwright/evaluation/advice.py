"""Recommend methods to use.

Two methods are the best to begin with: zero_shot, and `auto` from twenty labelled documents on. docs/which-method.md
compares the methods, also those that are the best at one thing, with their figures.
"""

FEW_LABELLED = 20
"Labelled documents from which a learned combiner was better than fixed weights of the stages on most corpora."


def next_step(labelled: int) -> str:
    """Say how many more documents to label; return an empty text if many are labelled already.

    labelled: the number of labelled documents.

    >>> next_step(40)
    'label 260 more documents (page "Few labelled documents")'
    >>> next_step(151)
    ''
    """
    # The smaller of the two sizes measured on that page that at least doubles what is labelled.
    wanted = next((size for size in (50, 300) if size >= max(1, 2 * labelled)), 0)
    return (
        f'label {wanted - labelled} {"more " * bool(labelled)}documents (page "Few labelled documents")'
        if wanted
        else ""
    )


def advise(labelled: int) -> dict[str, str]:
    """Return the method to begin with for this number of labelled documents, the command that runs it, and why.

    >>> advise(19)["method"], advise(20)["method"]
    ('zero_shot', 'auto')
    """
    page = 'page "Which method when"'  # by its title, since pages are not installed
    if labelled < FEW_LABELLED:
        why = (
            f"fewer than {FEW_LABELLED} labelled documents (here {labelled}): no method that is trained without labels "
            f"is clearly better in the first five ({page})"
        )
        return {"method": "zero_shot", "command": "suggest DOCS... --labels FILE", "why": why}
    why = (
        f"{FEW_LABELLED} labelled documents or more (here {labelled:,}): it learns from them how far to trust each "
        f"stage, the SVM among them, and is better than any method alone ({page})"
    )
    return {"method": "auto", "command": "train auto DOCS... --labels FILE --output DIR", "why": why}
