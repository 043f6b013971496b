"""Which subjects Annif suggests under rules of a vocabulary: reads them as JSON on stdin, for a Python that has Annif.

Input: {"folder", "vocabulary", "text", "documents": [[text, uri], ...], "rules": [...]}. Each rule is what stands in
the brackets of `vocab=zoo(...)` of a project; its TF-IDF project is trained and asked. Output: a list of URIs for each.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path


def main() -> None:
    import annif.corpus
    import nltk
    from annif.analyzer.analyzer import Analyzer
    from annif.project import AnnifProject
    from annif.registry import AnnifRegistry
    from annif.vocab import AnnifVocabulary, VocabFileSKOS

    nltk.download = lambda *_, **__: True  # Annif would fetch a model of sentences
    Analyzer.tokenize_words = lambda _, text, *__: re.findall(r"\w+", text.lower())
    given = json.load(sys.stdin)
    folder, found = Path(given["folder"]), []
    AnnifVocabulary("zoo", str(folder)).load_vocabulary(VocabFileSKOS(given["vocabulary"]))
    (folder / "corpus.tsv").write_text("".join(f"{text}\t<{uri}>\n" for text, uri in given["documents"]))
    names = [f"zoo{number}" for number in range(len(given["rules"]))]
    sections = (
        f"[{name}]\nname=zoo\nlanguage=en\nbackend=tfidf\nanalyzer=simple\nlimit=100\nvocab=zoo({rule})\n"
        for name, rule in zip(names, given["rules"], strict=True)
    )
    (folder / "projects.cfg").write_text("\n".join(sections))
    registry = AnnifRegistry(str(folder / "projects.cfg"), str(folder), False)
    for name in names:
        project: AnnifProject = registry.get_project(name)
        corpus = annif.corpus.DocumentFileTSV(str(folder / "corpus.tsv"), project.subjects)
        project.train(corpus)
        [suggested] = project.suggest([annif.corpus.Document(text=given["text"])])
        found.append(sorted(project.subjects[each.subject_id].uri for each in suggested if each.score > 0))
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
