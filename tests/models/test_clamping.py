"""A precision in which a model would hide an overflow is refused, and an overflow that
shows is.
"""

from pathlib import Path

import pytest
import torch
import transformers

import tiny_openclip
from babelatlas.base.errors import InputError
from babelatlas.evaluation import embedding, protocol
from babelatlas.models import clamping, loading, opening, registry

# Packages of transformers that clamp float16 in layers of pictures, sound or time
# series, which are no text towers.
NO_TEXT = {
    *("audioflamingo3", "autoformer", "conditional_detr", "d_fine", "deformable_detr"),
    *("deimv2", "detr", "grounding_dino", "informer", "mask2former"),
    *("mm_grounding_dino", "moss_transcribe_diarize", "omdet_turbo", "oneformer"),
    *("pp_doclayout_v2", "pp_doclayout_v3", "pp_doclayout_v4", "qwen2_5_omni"),
    *("qwen2_audio", "qwen3_asr", "qwen3_omni_moe", "rt_detr", "rt_detr_v2"),
    *("speech_to_text", "table_transformer", "time_series_transformer", "voxtral"),
    "whisper",
}
SMALL = {"d_model": 8, "d_kv": 4, "d_ff": 8, "num_layers": 1, "num_heads": 2}
SMALL_BART = {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1}
SMALL_BERT = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}


def test_every_text_model_of_transformers_that_clamps_is_known():
    folder = Path(transformers.__file__).parent / "models"
    found = {
        path.parent.name
        for path in folder.glob("*/modeling_*.py")
        if "max - 1000" in path.read_text(encoding="utf-8")
        or "max_dtype - 1000" in path.read_text(encoding="utf-8")
    }
    assert found - NO_TEXT == clamping.KINDS


@pytest.mark.parametrize(
    ("kind", "configuration", "sizes"),
    [
        ("m2m_100", "M2M100Config", SMALL_BART),
        ("mbart", "MBartConfig", SMALL_BART),
        ("mt5", "MT5Config", SMALL),
        ("umt5", "UMT5Config", SMALL),
        ("t5", "T5Config", SMALL),
        ("", "XLMRobertaConfig", SMALL_BERT),
    ],
)
def test_a_tower_is_known_by_its_layers(kind, configuration, sizes):
    sizes = {"vocab_size": 20} | sizes
    with torch.device("meta"):
        model = transformers.AutoModel.from_config(
            getattr(transformers, configuration)(**sizes)
        )
    assert clamping.clamping_kind(torch.nn.ModuleDict({"text": model})) == kind


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    place = tmp_path_factory.mktemp("models")
    tiny_openclip.nllb(place / "nllb")
    tiny_openclip.xlm_roberta(place / "xlm-roberta")
    return place


def load(folder, precision):
    source = registry.Source(repository="some/where")
    changes = {"name": "tiny", "architecture": "", "dimension": 0, "image_size": 32}
    changes |= {"source": source, "companions": {"text": source}}
    changes |= {"needs_language": folder.name == "nllb"}
    entry = registry.get_model("openai-b32").model_copy(update=changes)
    return loading.load(entry, folder, "cpu", precision)


def test_a_named_float16_is_refused_and_auto_takes_float32(folders, monkeypatch):
    for precision in ("bfloat16", "autocast"):
        assert load(folders / "nllb", precision).precision == precision
    with pytest.raises(InputError, match=r"'tiny' cannot .* \(m2m_100\) .*'bfloat16'"):
        load(folders / "nllb", "float16")
    # A GPU without bfloat16.
    monkeypatch.setattr(
        opening,
        "find_precision",
        lambda precision, device: "float16" if precision == "auto" else precision,
    )
    assert load(folders / "nllb", "auto").precision == "float32"
    assert load(folders / "xlm-roberta", "auto").precision == "float16"


def test_an_overflow_that_shows_is_refused_and_never_stored(folders, tmp_path):
    encoder = load(folders / "xlm-roberta", "float16")
    last = encoder.towers.module.text.transformer.encoder.layer[-1].output.LayerNorm
    last.weight.data.fill_(60_000)
    with pytest.raises(InputError, match=r"not a number for text 1 of 1: .*precision"):
        embedding.embed_texts(encoder, ["a cat"], tmp_path)
    assert list(tmp_path.rglob("*.npz")) == []


@pytest.mark.parametrize("preset", ["paper", "clip_benchmark"])
def test_presets_that_name_float16_take_autocast_for_models_of_nllb(preset):
    nllb, clip = map(registry.get_model, ("nllb-clip-base", "openai-b32"))
    chosen = protocol.settings(preset, "retrieval", nllb)
    assert chosen["precision"] == "autocast"
    assert protocol.settings(preset, "retrieval", clip)["precision"] == "float16"
    named = protocol.settings(preset, "retrieval", nllb, precision="float16")
    assert named["precision"] == "float16"
