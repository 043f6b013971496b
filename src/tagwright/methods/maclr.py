"""MACLR: learn from titles, clusters and labels, then from the encoder's and TF-IDF's own guesses (Xiong et al., 2022).

"Extreme Zero-Shot Learning for Extreme Text Classification". `fit` reads no label of a document (EZ-XMC); `fine_tune`
goes on with the few that somebody knows (FS-XMC).
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tagwright.data.vocabulary import Vocabulary
from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.errors import ConfigError
from tagwright.joining import LEARNT
from tagwright.stages.dense import Dense, DenseOptions, LabelText
from tagwright.stages.lexical import Lexical, LexicalOptions
from tagwright.tagger import Tagger, batches
from tagwright.training.clusters import ClusterSchedule
from tagwright.training.encoder_training import (
    Learner,
    Trained,
    check_batch,
    check_least,
    check_temperature,
    count_steps,
    in_batch,
    is_static,
    learn,
    learn_on,
    stage_folder,
)
from tagwright.training.maclr_stage1 import ImprovedIct, eq_2
from tagwright.training.pairs import Source, ict_pairs, labelled_pairs
from tagwright.training.training_config import Training
from tagwright.types import Document, Retriever, Run

TRANSFORMER = Training(batch=256, epochs=10, learning_rate=1e-5, dropout="all")
"""Appendix A. Its 100,000 steps are 87 epochs of its smallest corpus; ten are what two cores can do. Dropout: Eq. 3
tells an instance from itself by nothing else."""

STATIC = Training(batch=1024, epochs=20, learning_rate=1e-2, weight_decay=0.0)
"""For a static encoder, whose vectors move only with the texts that hold a token: hence the rate. A document gives one
pair, a tenth of what RTS cuts from it: hence the epochs. It has no dropout; Eq. 3 then only keeps labels away."""


@dataclass(frozen=True, kw_only=True)
class Config(Learner):
    """The choices of MACLR. The four switches are the columns of Table 4."""

    clustering: bool = True
    "Multi-scale adaptive clustering (4.2.1)."
    label_regularisation: bool = True
    "Eq. 3: instances keep their distance to labels drawn at random."
    encoder_pairs: bool = True
    "Stage II with the encoder's first labels as pseudo labels."
    tfidf_pairs: bool = True
    "Stage II with TF-IDF's first labels as pseudo labels."
    pseudo_labels: int = 3
    "k, the first labels of either kind that count (Table 10)."
    temperature: float = 0.05
    """Cosines over 0.05, as in RTS, for the paper's plain inner products: labels are searched by cosine, and the
    vectors of an encoder like MiniLM have length 1, on which inner products are too flat to learn from."""
    delete_title: bool = False
    "Whether the title is cut out where the text below repeats it; the paper does not."
    exclude_self: bool = False
    "Where documents are labels too: none is its own pseudo label."
    label_text: LabelText = "both"
    """What of a label is embedded. The papers embed its text ("text"); the vectors of name and text, averaged, keep the
    name from drowning in a description, as for plain encoders: see `DenseOptions`."""
    candidates: int = 500
    "Labels that are found for a document."

    def __post_init__(self) -> None:
        super().__post_init__()
        check_temperature(self.temperature)
        check_least(self, candidates=1, pseudo_labels=1)
        _ = self.dense  # checks its options

    @property
    def dense(self) -> DenseOptions:
        """Which labels are found (4.1), and of what text."""
        return DenseOptions(k=self.candidates, label_text=self.label_text)


def fit(
    documents: Sequence[Document],
    labels: Vocabulary,
    config: Config = Config(),
    output: Path | None = None,
    *,
    resume: bool = False,
) -> Tagger:
    """Algorithm 1. output: an existing folder for logs and checkpoints of the two stages; resume from there.

    Raises ConfigError when documents and config do not fit, before anything is loaded; ModelError without encoder.
    """
    pairs = ict_pairs(documents, delete_title=config.delete_title, seed=config.seed)  # Algorithm 1, line 1
    training = count_steps(pairs, config.training(STATIC, TRANSFORMER, pairs))
    objective = _eq_4(pairs, len(documents), labels, config, training)
    encoder = learn(config, pairs, objective, training, stage_folder(output, "stage-1"), resume=resume)  # lines 2 to 16
    guesses = list(_guesses(documents, labels, encoder, config))
    if guesses:
        pseudo = sum(guesses[1:], guesses[0])  # line 17; grouped by label, not by document
        second = replace(config.training(STATIC, TRANSFORMER, pseudo), steps=training.steps)
        loss, folder = eq_2(config.temperature), stage_folder(output, "stage-2")
        encoder = learn_on(encoder.model, pseudo, loss, second, folder, resume=resume)  # line 18
    return Tagger(labels, {"dense": Dense(labels, encoder, config.dense)})


@dataclass(frozen=True, kw_only=True)
class FewShot(Trained):
    """How `fine_tune` trains; None: what suits the encoder. Raises ConfigError when a value cannot work."""

    validation: float = 0.1
    "So few pairs are soon known by heart; the best weights are then early ones."
    temperature: float = 0.05
    "As in `Config`."

    def __post_init__(self) -> None:
        super().__post_init__()
        check_temperature(self.temperature)


FEW_TRANSFORMER = Training(batch=256, epochs=20, learning_rate=5e-6)
"""Appendix A. The paper's steps, 2,000 for 1% of the labels and 10,000 for 5%, are far more epochs; twenty are enough
to see the loss of the held-out pairs rise again."""

FEW_STATIC = Training(batch=256, epochs=20, learning_rate=1e-2, weight_decay=0.0)
"As `STATIC`; the loss of held-out pairs falls further than with a smaller rate, and then rises again."


def fine_tune(
    tagger: Tagger,
    documents: Sequence[Document],
    gold: Run,
    config: FewShot = FewShot(),
    output: Path | None = None,
    *,
    resume: bool = False,
) -> Tagger:
    """FS-XMC (4.4): train the encoder of a tagger on the labels known of some documents, by Eq. 1.

    gold: labels of the documents, or a sample of them: see `pairs.sample_labels`. The given tagger stays as it is.
    Of a tagger with a stage "learnt", as `train --fuse` saves, that one is trained, otherwise "dense". Raises
    ConfigError when there is too little to learn from, or the tagger has neither.
    """
    name = LEARNT if LEARNT in tagger.retrievers else "dense"
    dense = tagger.retrievers.get(name)
    if not isinstance(dense, Dense) or not isinstance(dense.encoder, BiEncoder):
        raise ConfigError(f"the tagger has the stages {', '.join(tagger.stages)}; fine-tuning needs one called dense")
    pairs = labelled_pairs(documents, tagger.vocabulary, gold, seed=config.seed)
    model = copy.deepcopy(dense.encoder.model)
    training = config.over(FEW_STATIC if is_static(model) else FEW_TRANSFORMER)
    if config.batch is None:  # half of the pairs where they are fewer
        training = replace(training, batch=max(2, min(training.batch, len(gold.labels) // 2)))
    check_batch(pairs, training)
    encoder = learn_on(model, pairs, in_batch(config.temperature), training, output, resume=resume)
    return replace(tagger, retrievers={**tagger.retrievers, name: Dense(tagger.vocabulary, encoder, dense.options)})


def _eq_4(pairs: Source, documents: int, labels: Vocabulary, config: Config, training: Training) -> ImprovedIct:
    return ImprovedIct(
        pair_loss=in_batch(config.temperature).pair_loss,
        pairs=pairs,
        schedule=ClusterSchedule.for_corpus(documents, training.steps or 1) if config.clustering else None,
        labels=labels if config.label_regularisation else (),
        temperature=config.temperature,
        dropout=training.dropout == "all",
        seed=config.seed,
    )


def _guesses(documents: Sequence[Document], labels: Vocabulary, encoder: BiEncoder, config: Config) -> Iterator[Source]:
    """A source of pseudo pairs for each view that is on (4.3)."""
    k = config.pseudo_labels + config.exclude_self
    if config.encoder_pairs:
        yield _pseudo_pairs(Dense(labels, encoder, replace(config.dense, k=k)), documents, labels, config)
    if config.tfidf_pairs:
        yield _pseudo_pairs(Lexical(labels, LexicalOptions(weighting="tfidf", k=k)), documents, labels, config)


def _pseudo_pairs(view: Retriever, documents: Sequence[Document], labels: Vocabulary, config: Config) -> Source:
    run = Run.concat([view(batch) for batch in batches(documents)])
    if config.exclude_self:
        run = run.keep(run.labels != labels.own(documents)[run.rows])
    return labelled_pairs(documents, labels, run.top(config.pseudo_labels), seed=config.seed)
