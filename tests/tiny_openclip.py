"""Tiny random checkpoints as those of open_clip's families; the folder "text" holds
what a tower is named after.
"""

import json
import pickle
import shutil
from pathlib import Path

import numpy as np
import open_clip
import torch
import transformers as tf
from safetensors.torch import save_file

import tiny_huggingface as hf

HALF = {
    "mean": [0.5, 0.5, 0.5],
    "std": [0.5, 0.5, 0.5],
    "interpolation": "bicubic",
    "resize_mode": "squash",
}
OPENAI = {
    "mean": [0.48145466, 0.4578275, 0.40821073],
    "std": [0.26862954, 0.26130258, 0.27577711],
}
VIT = {"image_size": 32, "layers": 1, "width": 32, "head_width": 16, "patch_size": 16}
CODES = ["eng_Latn", "deu_Latn", "swh_Latn", "zho_Hans"]
TEXTS = [
    "cat",
    "A photo, of: a small CAT!",
    "  the  caf\u00e9 &amp; the red_umbrella  ",
    "зонт",
    "红色的伞",
    "",
    "a small red umbrella and a cat and " * 12,  # longer than any context here
]


def clip(folder: Path) -> None:
    """Write OpenAI's CLIP: open_clip's SimpleTokenizer, causal text tower, vector at
    the end of the text.
    """
    text = {
        "context_length": 77,
        "vocab_size": 49408,
        "width": 16,
        "heads": 2,
        "layers": 2,
    }
    _write(
        {"embed_dim": 16, "quick_gelu": True, "vision_cfg": VIT, "text_cfg": text},
        OPENAI,
        folder,
    )


def xlm_roberta(folder: Path) -> None:
    """Write OpenCLIP's model with an XLM-R tower: tokenizer in its own folder, weights
    as a file of torch's.
    """
    _xlm_roberta(folder).save_pretrained(folder / "text")
    text = dict.fromkeys(("hf_model_name", "hf_tokenizer_name"), "tiny/xlm-r") | {
        "hf_pooler_type": "mean_pooler"
    }
    _write(
        {"embed_dim": 16, "vision_cfg": VIT, "text_cfg": text},
        OPENAI,
        folder,
        "open_clip_pytorch_model.bin",
    )


def siglip2(folder: Path) -> None:
    """Write SigLIP 2 (Gemma's tokenizer), which counts padding: towers of timm and
    open_clip.
    """
    image = {
        "image_size": 32,
        "timm_model_name": "test_vit",
        "timm_pool": "map",
        "timm_proj": "none",
    }
    text = {
        "context_length": 64,
        "hf_tokenizer_name": "tiny/siglip",
        "vocab_size": hf.gemma_tokenizer(folder),
    }
    text |= {
        "tokenizer_kwargs": {"clean": "canonicalize"},
        "heads": 2,
        "layers": 2,
        "no_causal_mask": True,
    }
    text |= {
        "width": 64,
        "proj_bias": True,
        "pool_type": "last",
        "norm_kwargs": {"eps": 1e-6},
    }
    model = {
        "embed_dim": 64,
        "init_logit_bias": -10,
        "custom_text": True,
        "vision_cfg": image,
        "text_cfg": text,
    }
    _write(model, HALF, folder)


def nllb(folder: Path) -> None:
    """Write NLLB-CLIP: the encoder of NLLB's translator, which is told the language,
    read at the first token.
    """
    pieces = [
        "<s>",
        "<pad>",
        "</s>",
        "<unk>",
        "▁",
        *sorted(set("".join(hf.CORPUS)) - {" "}),
    ]
    tokenizer = tf.NllbTokenizer(
        {piece: place for place, piece in enumerate(pieces)},
        [],
        extra_special_tokens=CODES,
    )
    tokenizer.save_pretrained(folder / "text")
    tf.M2M100Config(
        vocab_size=len(tokenizer),
        d_model=32,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        max_position_embeddings=128,
    ).save_pretrained(folder / "text")
    text = {
        "hf_model_name": "tiny/nllb",
        "hf_tokenizer_name": "tiny/nllb",
        "hf_proj_type": "linear",
    }
    text |= {"hf_pooler_type": "cls_pooler"}
    _write(
        {"embed_dim": 16, "vision_cfg": VIT, "text_cfg": text},
        OPENAI,
        folder,
        "open_clip_pytorch_model.bin",
    )


def mclip(folder: Path) -> None:
    """Write an M-CLIP: encoder and linear layer in one file, the encoder only named;
    its image tower in "image".
    """
    configuration = _xlm_roberta(folder)
    configuration.save_pretrained(folder / "text")
    hf.write_json(
        folder / "config.json",
        {"model_type": "M-CLIP", "modelBase": "tiny/xlm-roberta"},
    )
    parts = {
        "transformer": tf.AutoModel.from_config(configuration),
        "LinearTransformation": torch.nn.Linear(32, 16),
    }
    weights = hf.random(torch.nn.ModuleDict(parts)).state_dict()
    weights["transformer.embeddings.position_ids"] = torch.arange(130)[
        None
    ]  # of transformers 4
    torch.save(weights, folder / "pytorch_model.bin")
    clip(folder / "image")


def older_mclip(folder: Path) -> None:
    """Write an older M-CLIP: an encoder in transformers' format, and the linear layer
    as two arrays in a pickle.
    """
    sizes = {"vocab_size": hf.bert_vocabulary(folder), "max_position_embeddings": 40}
    configuration = tf.BertConfig(**hf.TOWER, **sizes)
    configuration.save_pretrained(folder)
    torch.save(
        hf.random(tf.AutoModel.from_config(configuration)).state_dict(),
        folder / "pytorch_model.bin",
    )
    rng = np.random.default_rng(0)
    layer = [
        rng.normal(size=(32, 16)).astype(np.float32),
        rng.normal(size=16).astype(np.float32),
    ]
    (folder / "M-BERT-Base-69-ViT Linear Weights.pkl").write_bytes(
        pickle.dumps(layer, protocol=3)
    )
    clip(folder / "image")


MAKERS = {"clip": clip, "xlm-roberta": xlm_roberta, "siglip2": siglip2, "nllb": nllb}


class Payload:
    """What a pickle can do when it is read without care."""

    def __init__(self, file):
        self.file = file

    def __reduce__(self):
        return open, (str(self.file), "w")


def check_adapter(encoder, pictures: list, layers: int = 2) -> None:
    """Assert that an adapter sits in each layer of a loaded encoder's text tower, and
    changes texts only.
    """
    from babelatlas.models.training import adapters

    module = encoder.towers.module
    images, texts = encoder.encode_images(pictures), encoder.encode_texts(TEXTS, "en")
    before = {name: value.clone() for name, value in module.state_dict().items()}
    assert len(adapters.layers(module)) == layers
    weights = adapters.attach(module, {"reduction": 4, "seed": 0})
    assert len(weights) == 4 * layers
    for weight in weights.values():
        weight.data += 0.1 * weight.new_tensor(range(weight.numel())).cos().reshape(
            weight.shape
        )
    assert (abs(encoder.encode_texts(TEXTS, "en") - texts).max(1) > 0).all()
    assert (encoder.encode_images(pictures) == images).all()
    adapters.detach(module)
    assert (encoder.encode_texts(TEXTS, "en") == texts).all()
    assert before.keys() == module.state_dict().keys()
    assert all(
        (value == before[name]).all() for name, value in module.state_dict().items()
    )


def reference(folder: Path, place: Path) -> tuple:
    """Return model, transform and tokenizer as open_clip itself loads them, from a copy
    with all in one folder.
    """
    shutil.copytree(folder, place)
    if (place / "text").is_dir():
        shutil.copytree(place / "text", place, dirs_exist_ok=True)
        configuration = json.loads(
            (place / "open_clip_config.json").read_text(encoding="utf-8")
        )
        configuration["model_cfg"]["text_cfg"]["hf_model_name"] = str(place)
        hf.write_json(place / "open_clip_config.json", configuration)
    model, transform = open_clip.create_model_from_pretrained(f"local-dir:{place}")
    return model.eval(), transform, open_clip.get_tokenizer(f"local-dir:{place}")


def _xlm_roberta(folder: Path):
    size = hf.xlm_roberta_tokenizer(folder)
    return tf.XLMRobertaConfig(
        **hf.TOWER, vocab_size=size, max_position_embeddings=130, type_vocab_size=1
    )


def _write(
    configuration: dict,
    preprocess: dict,
    folder: Path,
    name: str = "open_clip_model.safetensors",
) -> None:
    """Write a model of open_clip's with random weights and its configuration; `name` is
    that of the weights.
    """
    folder.mkdir(parents=True, exist_ok=True)
    file, text = folder / "open_clip_config.json", configuration["text_cfg"]
    named = dict(text)
    if "hf_model_name" in text:
        text["hf_model_name"] = str(folder / "text")
    hf.write_json(file, {"model_cfg": configuration, "preprocess_cfg": preprocess})
    model = open_clip.create_model(
        f"local-dir:{folder}", load_weights=False, pretrained_text=False
    )
    weights = {
        key: value.contiguous() for key, value in hf.random(model).state_dict().items()
    }
    if name.endswith(".safetensors"):
        save_file(weights, folder / name)
    else:
        torch.save(weights, folder / name)
    hf.write_json(
        file,
        {
            "model_cfg": configuration | {"text_cfg": named},
            "preprocess_cfg": preprocess,
        },
    )
