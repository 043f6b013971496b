"""The command `convert`: pickled weights of an encoder as safetensors."""

from pathlib import Path
from typing import Annotated

import typer

from tagwright.core.display import escape_controls


def convert(
    source: Annotated[Path, typer.Argument(metavar="IN", help="The folder of a model that has pytorch_model.bin.")],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="A new folder, for --set encoder=OUT.")],
) -> None:
    """Convert the pickled weights of an encoder into safetensors, as training and tagging need them.

    No code of the pickle is run: a file that holds anything but tensors is refused. `hf download NAME --local-dir
    IN` gets a model from the Hugging Face Hub.
    """
    from tagwright.encoders import pickled

    pickled.convert(source, target)
    print(escape_controls(f"saved {target}"))
