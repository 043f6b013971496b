"""The training loop of every method; it knows no loss, no schedule and no encoder but by what it is given."""

from __future__ import annotations

import json
import logging
import math
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from tagwright.core.atomic import replace_file, report_write_errors
from tagwright.core.progress import bar, note, silence
from tagwright.core.steps import LOG, State, Steps
from tagwright.core.workers import usable_cores
from tagwright.encoders.bi_encoder import BiEncoder, EncoderModel
from tagwright.encoders.device import feed
from tagwright.encoders.tokens import Tokens
from tagwright.errors import ConfigError, TagwrightError
from tagwright.training.batching import Batches, SamplerState, prepare_items
from tagwright.training.callbacks import Row, current_callbacks
from tagwright.training.captured import CapturedSteps
from tagwright.training.config import TrainingPlan, lasting_options
from tagwright.training.gradient_caching import GradientCache, share_of
from tagwright.training.objectives import Objective, Text
from tagwright.training.shared_work import join_processes
from tagwright.training.trainable_encoder import TrainableEncoder, send_array, trainable_encoder
from tagwright.types import Floats, Longs, Mask, Pair, PairSource

if TYPE_CHECKING:
    import torch
    from sentence_transformers import CrossEncoder

_Step: TypeAlias = tuple[SamplerState, Longs, list[int], Tokens, Mask]
"""A batch, ready to be encoded: the state of the sampler after it; groups (pairs,), or (pairs, 2) where pairs have two;
the number of texts in each view; their tokens, none for those of other processes; (texts,) whether each has dropout."""

History: TypeAlias = tuple[Sequence[Row], int, float | None]
"The logged rows, the steps done when the weights that were kept were reached, and their validation loss."


_log = logging.getLogger(__name__)


def train(
    model: EncoderModel | CrossEncoder,
    pairs: PairSource,
    objective: Objective,
    training: TrainingPlan | None = None,
    steps: Steps = Steps(),
) -> History:
    """Train `model` in place; at the end it has the weights with the lowest validation loss, or else the last ones.

    steps: the store of this training, which keeps the latest state, also that of the end, with the log (log.jsonl)
    beside it. The weights of a resumed training are bit for bit those of an uninterrupted one (on a CPU, with the same
    number of threads). Started by `accelerate launch` on several processes, all of them call this, and the loss is that
    of one process with the same batch.

    Raises ConfigError when the data do not fill a batch, or the state is of another run; TagwrightError when the
    loss is no longer a number.
    """
    import torch

    training, log = training or TrainingPlan(), steps.folder / LOG if steps.folder and steps.writes else None
    run = _Run(trainable_encoder(model), pairs, objective, training, log)
    state = steps.latest(run.config)
    with torch.random.fork_rng(), run.encoder.ready(), silence(not run.accelerator.is_main_process):
        run.resume(state) if state else run.begin()
        _log.info("training on %s in %s", run.accelerator.device, run.encoder.precision)
        run.accelerator.wait_for_everyone()  # no process writes a state while another still reads it
        if run.step < run.length and not sys.stderr.isatty():  # no bar is shown there
            logged = f", logged in {log}, which a saved tagger keeps as training*.jsonl" if log else ""
            note(f"training: {run.length - run.step:,} steps of {training.batch:,} pairs{logged}")
        saved = time.monotonic()
        for _ in run.steps_from_here():
            if steps.writes and time.monotonic() - saved >= training.checkpoint_seconds:
                steps.keep(run.checkpoint(), run.config)
                saved = time.monotonic()
        if steps.writes:
            steps.keep(run.checkpoint(), run.config)
    run.take_best()
    for callback in run.callbacks:
        callback.on_end(run.rows)
    return run.rows, run.best_step, run.best_loss


class _Run:
    """A training run. step: how many are done; state: of the sampler; best: the weights with the lowest loss.

    log: a file to which each of the logged rows is written immediately.
    """

    def __init__(
        self,
        encoder: TrainableEncoder,
        pairs: PairSource,
        objective: Objective,
        training: TrainingPlan,
        log: Path | None,
    ) -> None:
        from tagwright.training.optimiser import AdamW

        self.encoder, self.objective, self.training, self.log = encoder, objective, training, log
        self.rows: list[Row] = []
        self.unread: list[torch.Tensor] = []
        self.accelerator = join_processes()
        self.callbacks = current_callbacks() if self.accelerator.is_main_process else ()
        self.encoder.model.to(self.accelerator.device)
        if self.accelerator.num_processes > 1:
            if training.batch < self.accelerator.num_processes:
                raise ConfigError(
                    f"a batch is {training.batch} pairs, expected at least one for each of "
                    f"{self.accelerator.num_processes} processes; raise batch or start fewer processes"
                )
            self.encoder.forward = self.accelerator.prepare(self.encoder.forward)
        cores = usable_cores() // int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
        self.workers = max(0, min(feed(self.accelerator.device).workers, cores - 1))
        self.batches = Batches(pairs, training.batch, training.validation, training.seed)
        length = training.steps
        self.length = max(1, round(training.epochs * self.batches.count())) if length is None else length
        self.cache = GradientCache(encoder, self.accelerator, training.activation_token_budget, training.seed)
        named = self.encoder.model.named_parameters()
        weights = {name: (weight, 1.0) for name, weight in named if weight.requires_grad}
        for name, (parameter, rate) in objective.weights().items():
            parameter.data = parameter.data.to(self.accelerator.device)
            weights[f"objective/{name}"] = parameter, rate
        self.optimiser = AdamW(weights, training.weight_decay, training.clip)
        self.weights = self.optimiser.weights
        processes = self.accelerator.num_processes
        self.captured = CapturedSteps(self.cache, objective, self.optimiser) if processes == 1 else None
        self.config = {**lasting_options(training), "steps": self.length, "processes": processes}
        self.step, self.best_step = 0, 0
        self.state: SamplerState = (0, 0)
        self.best_loss: float | None = None
        self.best: dict[str, torch.Tensor] = {}
        validation = self.batches.validation_pairs()
        self.validation = self._prepare(self.state, validation, objective.validation_views(validation))
        self.started = time.monotonic()

    def begin(self) -> None:
        """Measure the untrained model."""
        self._go_back(to=-1)
        self._evaluate()

    def steps_from_here(self) -> Iterator[int]:
        """Do the remaining steps. After each, a checkpoint can be taken when it is yielded."""
        pairs = (self.length - self.step) * self.training.batch
        with bar("training (pairs)", pairs) as done, prepare_items(self._prepared, self.workers) as upcoming:
            for step in upcoming:
                self.objective.before_step(self.step, self.encode)
                self._take(step)
                done(self.training.batch)
                yield self.step

    def checkpoint(self) -> State:
        """The current state: the progress, and what is learnt so far."""
        if self.unread:
            self._read_losses()
        tensors: dict[str, torch.Tensor] = {f"weights/{name}": weight for name, weight in self.weights.items()}
        tensors |= {f"best/{name}": weight for name, weight in self.best.items()}
        for name, means in self.optimiser.state.items():
            tensors |= {f"optimiser/{key}/{name}": value for key, value in means.items()}
        progress = {"step": self.step, "best_step": self.best_step, "best_loss": self.best_loss}
        arrays = {name: _array(tensor) for name, tensor in tensors.items()}
        arrays |= {f"objective/{name}": array for name, array in self.objective.state().items()}
        return State(arrays, {**progress, "epoch": self.state[0], "batch": self.state[1]})

    def resume(self, state: State) -> None:
        """Restore the run from its state."""
        import torch

        progress = state.values
        self.step, self.state = progress["step"], (progress["epoch"], progress["batch"])
        self.best_step, self.best_loss = progress["best_step"], progress["best_loss"]
        self.best = {name: torch.tensor(array) for name, array in state.part("best").items()}
        _copy({name: torch.tensor(array) for name, array in state.part("weights").items()}, self.weights)
        for key in ("step", "exp_avg", "exp_avg_sq"):
            for name, array in state.part(f"optimiser/{key}").items():
                weight, value = self.weights[name], torch.tensor(array)
                value = value.to(weight.device) if key == "step" else value.to(weight)  # may be bfloat16
                self.optimiser.state.setdefault(name, {})[key] = value
        self.objective.restore(state.part("objective"))
        self._go_back(to=self.step)
        self.started -= self.rows[-1]["seconds"] if self.rows else 0.0

    def take_best(self) -> None:
        """Give the model the weights with the lowest validation loss, if it was measured."""
        _copy(self.best, self.weights)
        self.encoder.model.eval()
        self.encoder.write_back()

    def encode(self, texts: Sequence[str]) -> Floats:
        """(texts, dim) unit vectors of parts of documents; each process encodes its share."""
        import torch

        self.encoder.write_back()
        encoder = BiEncoder.of(self.encoder.given)  # type: ignore[arg-type]  # a cross-encoder has no vectors
        vectors = torch.zeros(len(texts), encoder.dim)
        mine = slice(self.accelerator.process_index, None, self.accelerator.num_processes)
        vectors[mine] = torch.from_numpy(encoder.encode(texts[mine], role="query"))
        embedded: Floats = self.accelerator.reduce(vectors.to(self.accelerator.device), "sum").cpu().numpy()
        return embedded

    def _prepared(self, worker: int, workers: int) -> Iterator[_Step]:
        """Every `workers`-th of the steps from here on; each worker draws all pairs, which takes the least time."""
        drawn = zip(range(self.step, self.length), self.batches(self.state), strict=False)
        for step, (state, batch) in islice(drawn, worker, None, workers):
            yield self._prepare(state, batch, self.objective.views(batch, step))

    def _prepare(self, state: SamplerState, pairs: Sequence[Pair], views: Sequence[Sequence[Text]]) -> _Step:
        dropout = np.full(sum(map(len, views)), self.training.dropout == "all")
        if self.training.dropout == "same":
            dropout[: 2 * len(pairs)] = [pair.anchor == pair.positive for pair in pairs] * 2
        prompts = [self.encoder.prompts.of(self.objective.role(i)) for i in range(len(views))]
        texts: list[Any] = []
        for prompt, view in zip(prompts, views, strict=True):
            texts += [prompt + text for text in cast("Sequence[str]", view)] if prompt else view
        groups = np.array([pair.group for pair in pairs], np.int64)
        if any(pair.other is not None for pair in pairs):
            others = [pair.group if pair.other is None else pair.other for pair in pairs]
            groups = np.stack([groups, np.array(others, np.int64)], axis=1)
        tokens, dropout = self._tokenize_share(texts), dropout & self.encoder.has_dropout
        return state, groups, [len(view) for view in views], tokens, dropout

    def _tokenize_share(self, texts: Sequence[Any]) -> Tokens:
        """The tokens of this process's share of the texts; the others have none."""
        mine = share_of(len(texts), self.accelerator)
        own = self.encoder.tokenize([texts[i] for i in mine.tolist()])
        starts, lengths = np.zeros((2, len(texts)), np.int64)
        starts[mine], lengths[mine] = own.starts, own.lengths
        return Tokens(own.ids, starts, lengths)

    def _take(self, step: _Step) -> None:
        """Do a step: the loss and its gradients, the weights, the log, and the validation where it is its turn."""
        import torch

        state, pair_groups, views, tokens, dropout = step
        rate = self.training.rate(self.step, self.length)
        done = self.captured and self.captured.step(tokens, dropout, views, pair_groups, self.step, rate)
        if not done:
            groups = send_array(pair_groups, self.accelerator.device)

            def loss_of(vectors: torch.Tensor) -> torch.Tensor:
                return self.objective.loss(torch.split(vectors, views), groups)

            done = self.cache.backward(tokens, dropout, self.step, loss_of), self.optimiser.step(rate)
        loss, norm = done
        self.unread.append(loss)
        self.step, self.state = self.step + 1, state
        if self.step % self.training.log_every == 0 or self.step == self.length:
            self._log(loss=self._read_losses(), learning_rate=rate, gradient_norm=norm.item())
        if self.step % max(1, self.length // self.training.evaluations) == 0 or self.step == self.length:
            self._evaluate()

    def _read_losses(self) -> float:
        """The loss of the last step. Raises TagwrightError if one that was not read before is not a number.

        Only here does the processor wait for a GPU.
        """
        import torch

        losses = torch.stack(self.unread).tolist()
        for step, loss in enumerate(losses, self.step - len(losses)):
            if not math.isfinite(loss):
                rate = self.training.rate(step, self.length)
                raise TagwrightError(f"the loss of step {step + 1} is {loss}; lower learning_rate, now {rate:.2g}")
        self.unread.clear()
        return float(losses[-1])

    def _evaluate(self) -> None:
        """Measure the validation pairs, and keep the weights if they are the best so far."""
        import torch

        _, pair_groups, views, tokens, _ = self.validation
        if len(pair_groups) < max(2, self.accelerator.num_processes):
            return
        groups = send_array(pair_groups, self.accelerator.device)
        with torch.no_grad():
            anchors, positives = torch.split(self.cache.encode(tokens), views)
            loss = self.objective.validation_loss(anchors, positives, groups).item()
        self._log(validation_loss=loss)
        if self.best_loss is None or loss < self.best_loss:
            self.best_step, self.best_loss = self.step, loss
            self.best = {name: weight.detach().to("cpu", copy=True) for name, weight in self.weights.items()}

    def _log(self, **values: float) -> None:
        seconds = round(time.monotonic() - self.started, 3)
        self.rows.append({"step": self.step, "epoch": self.state[0], "seconds": seconds, **values})
        if self.log:
            with report_write_errors(self.log), self.log.open("a", encoding="utf-8") as file:
                file.write(json.dumps(self.rows[-1]) + "\n")
        for callback in self.callbacks:
            callback.on_step(self.rows[-1])

    def _go_back(self, *, to: int) -> None:
        """Continue the log on disk after this step; later rows of the interrupted run will be written again."""
        if not self.log:
            return
        lines = self.log.read_text(encoding="utf-8").splitlines(keepends=True) if self.log.is_file() else []
        # Only the last line can be unfinished, and it is always beyond the checkpoint.
        rows = [json.loads(line) for line in lines if line.endswith("\n")]
        self.rows = [row for row in rows if row["step"] <= to]
        with replace_file(self.log) as path:
            path.write_text("".join(json.dumps(row) + "\n" for row in self.rows), encoding="utf-8")


def _copy(source: Mapping[str, torch.Tensor], target: Mapping[str, torch.Tensor]) -> None:
    import torch

    with torch.no_grad():
        for name, tensor in source.items():
            target[name].copy_(tensor)


def _array(tensor: torch.Tensor) -> NDArray[Any]:
    """Convert a tensor for numpy, which has no bfloat16."""
    import torch

    array: NDArray[Any] = tensor.detach().cpu().to(torch.promote_types(tensor.dtype, torch.float32)).numpy()
    return array
