"""A static encoder to train, of torch alone: sentence-transformers takes ten times as long to load as to train it."""

from collections.abc import Mapping

import torch

from tagwright.encoders.token_table import TokenTable


class StaticModel(torch.nn.Sequential):
    """Means of the vectors of a table, which is trained in place on a CPU; elsewhere `write_back` changes it.

    The weights have the name that they have in sentence-transformers, as checkpoints name them.
    """

    def __init__(self, table: TokenTable) -> None:
        bag = torch.nn.EmbeddingBag.from_pretrained(torch.from_numpy(table.table), freeze=False, mode="mean")
        super().__init__(torch.nn.ModuleDict({"embedding": bag}))
        self.table, self._bag = table, [bag]  # in a list, as it has its name already

    @property
    def device(self) -> torch.device:
        """Where the vectors are."""
        return self._bag[0].weight.device

    def forward(self, features: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """The vectors (texts, dim) of texts, given by `input_ids` and `offsets`; one without tokens is zero."""
        return {"sentence_embedding": self._bag[0](features["input_ids"], features["offsets"])}

    def write_back(self) -> None:
        """Give the table the vectors as they are now."""
        self.table.table[:] = self._bag[0].weight.detach().cpu().numpy()
