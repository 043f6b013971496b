"""What the files of an encoder may name is checked before a library imports and calls it."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest
from tests.sources import modules
from tests.tiny import tiny_encoder

from tagwright.encoders.architecture import check_named, read_modules
from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.encoders.cross_encoder import CrossEncoder
from tagwright.errors import ModelError

TYPES = "sentence_transformers.models", "sentence_transformers.base.modules", "sentence_transformers.base.modules.dense"


def with_settings(folder: Path, name: str, **settings: Any) -> Path:
    """Add settings to a file of an encoder."""
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    known = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    file.write_text(json.dumps({**known, **settings}), encoding="utf-8")
    return folder


@pytest.mark.parametrize("place", TYPES)
def test_known_modules_are_admitted_wherever_a_version_keeps_them(place: str, tmp_path: Path) -> None:
    modules = [{"type": f"{place}.Dense", "path": "1"}]
    (tmp_path / "modules.json").write_text(json.dumps(modules), encoding="utf-8")
    assert read_modules(tmp_path) == [(f"{place}.Dense", "1")]
    check_named(tmp_path)


@pytest.mark.parametrize(
    "kind",
    [
        "sentence_transformers.SentenceTransformer", "sentence_transformers.util.import_from_string", "os.system",
        "sentence_transformers.models.Transformer.os", "sentence_transformers.models.CLIPModel", "Dense",
    ],
)  # fmt: skip
def test_another_module_is_refused_before_anything_is_made_of_it(kind: str, tmp_path: Path) -> None:
    folder = tiny_encoder(tmp_path / "tiny")
    modules = json.loads((folder / "modules.json").read_text())
    modules.append({"idx": 2, "name": "2", "path": "2_X", "type": kind})
    (folder / "modules.json").write_text(json.dumps(modules), encoding="utf-8")
    for load in (BiEncoder.load, CrossEncoder.load):
        with pytest.raises(ModelError, match=f'modules.json: names the module "{kind}" in .*, which is no known layer'):
            load(str(folder))


@pytest.mark.parametrize(
    ("file", "settings", "named"),
    [
        ("1_Pooling/0_Dense/config.json", {"activation_function": "torch.hub.load"}, "torch.hub.load"),
        ("config.json", {"sentence_transformers": {"activation_fn": "torch.utils.collect_env.main"}}, "collect_env"),
        ("config.json", {"sbert_ce_default_activation_function": "torch.nn.modules.warnings.warn"}, "warn"),
        ("router_config.json", {"types": {"a": "sentence_transformers.util.http_get"}}, "http_get"),
        ("wordembedding_config.json", {"tokenizer_class": "transformers.utils.hub.http_get"}, "http_get"),
        ("config.json", {"_attn_implementation_internal": "someone/kernel"}, "someone/kernel"),
        ("sentence_bert_config.json", {"model_args": {"attn_implementation": "someone/kernel"}}, "someone/kernel"),
    ],
)
def test_settings_name_no_other_function_either(
    file: str, settings: dict[str, Any], named: str, tmp_path: Path
) -> None:
    pytest.importorskip("sentence_transformers")
    folder = with_settings(tiny_encoder(tmp_path / "tiny"), file, **settings)
    with pytest.raises(ModelError, match=f"{Path(file).name}: names .*{named}.*, which is no known layer"):
        _ = BiEncoder.load(str(folder)).model
    with pytest.raises(ModelError, match=f"{Path(file).name}: names"):
        _ = CrossEncoder.load(str(folder)).model


def test_what_saved_encoders_name_is_admitted(tmp_path: Path) -> None:
    for number, name in enumerate(
        ["torch.nn.modules.activation.Tanh", "torch.nn.modules.linear.Identity", "torch.nn.GELU", "torch.float32"]
    ):
        with_settings(tmp_path, f"{number}_config.json", activation_function=name, auto_map={"AutoModel": "x.Y"})
    with_settings(tmp_path, "config.json", attn_implementation="sdpa", prompts={"query": "torch or lamp: "})
    check_named(tmp_path)


def test_checkpoints_beside_a_model_do_not_matter(tmp_path: Path) -> None:
    folder = with_settings(tiny_encoder(tmp_path / "tiny"), "checkpoint-100/config.json", trainer="torch.hub.load")
    (folder / "checkpoint-100" / "trainer_config.json").write_text("{")
    check_named(folder)


def functions() -> list[tuple[str, ast.FunctionDef]]:
    return [(path, node) for path, tree in modules() for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


def test_whoever_gives_a_folder_to_a_library_has_checked_it() -> None:
    """Calls that make a model of the files in a folder: their first argument is its name."""
    found = []
    for place, function in functions():
        calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
        names = {ast.unparse(call.func) for call in calls}
        for call in calls:
            if ast.unparse(call.func) in {"SentenceTransformer", "CrossEncoder", "library"} and call.args:
                given = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
                assert given["trust_remote_code"] == "False"
                assert given["local_files_only"] == "True"
                assert {"check_named", "check_growth"} <= names
                found.append(place)
            assert not ast.unparse(call.func).startswith("Auto")
            if ast.unparse(call.func).endswith("Tokenizer.from_file"):
                assert "check_growth" in names
                found.append(place)
    assert found == ["encoders/sentence_transformer.py", "encoders/tokens.py"]


def test_modules_are_imported_by_names_of_our_own_only() -> None:
    """`import_module` with a name that is computed: each of these takes it from a table of constants."""
    found = {
        place
        for place, function in functions()
        for call in ast.walk(function)
        if isinstance(call, ast.Call)
        and ast.unparse(call.func).endswith(("import_module", "__import__"))
        and not isinstance(call.args[0], ast.Constant)
    }
    assert found == {
        "__init__.py", "app/demo.py", "core/workers.py",
        "readers/documents/formats.py",
        "registry.py",
    }  # fmt: skip
