"""Tiny checkpoints with random weights, made on the spot in the format of each family that open_clip is part of.

Every maker writes what the published repositories hold: configuration, weights and tokenizer by their usual names, and
in the sub-folder "text" what a text tower is named after.
"""

import json
import pickle
import shutil
from pathlib import Path

WORDS = ["cat", "photo", "umbrella", "small", "red"]
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,:;!?'&_-зонткшаéß傘红色的伞猫"
HALF = {"mean": [0.5, 0.5, 0.5], "std": [0.5, 0.5, 0.5], "interpolation": "bicubic", "resize_mode": "squash"}
OPENAI = {"mean": [0.48145466, 0.4578275, 0.40821073], "std": [0.26862954, 0.26130258, 0.27577711]}
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


def clip(folder: Path, image: dict = VIT, dimensions: int = 16) -> None:
    """Write OpenAI's CLIP: open_clip's SimpleTokenizer, causal text tower, vector at the end of the text."""
    text = {"context_length": 77, "vocab_size": 49408, "width": 16, "heads": 2, "layers": 2}
    _write({"embed_dim": dimensions, "quick_gelu": True, "vision_cfg": image, "text_cfg": text}, OPENAI, folder)


def xlm_roberta(folder: Path) -> None:
    """Write OpenCLIP's model with an XLM-R tower: tokenizer in its own folder, weights as a file of torch's."""
    xlm_roberta_tokenizer().save_pretrained(folder)
    xlm_roberta_configuration().save_pretrained(folder / "text")
    text = {
        "hf_model_name": "tiny/xlm-roberta",
        "hf_tokenizer_name": "tiny/xlm-roberta",
        "hf_pooler_type": "mean_pooler",
    }
    _write({"embed_dim": 16, "vision_cfg": VIT, "text_cfg": text}, OPENAI, folder, "open_clip_pytorch_model.bin")


def metaclip2(folder: Path) -> None:
    """Write MetaCLIP 2 as open_clip has it: XLM-V's tokenizer, causal tower, vector at the first end of text."""
    tokenizer = xlm_roberta_tokenizer()
    tokenizer.save_pretrained(folder)
    text = {"hf_tokenizer_name": "tiny/xlm-v", "pool_type": "eos", "eos_id": 2, "context_length": 40}
    text |= {"vocab_size": len(tokenizer), "width": 16, "heads": 2, "layers": 2}
    _write({"embed_dim": 16, "vision_cfg": VIT, "text_cfg": text}, OPENAI, folder)


def siglip(folder: Path, version: int = 1) -> None:
    """Write SigLIP (T5's tokenizer, padded with its end) or SigLIP 2 (Gemma's): towers of timm and open_clip."""
    tokenizer = t5_tokenizer() if version == 1 else gemma_tokenizer()
    tokenizer.save_pretrained(folder)
    image = {"image_size": 32, "timm_model_name": "test_vit", "timm_pool": "map", "timm_proj": "none"}
    text = {"context_length": 64, "vocab_size": len(tokenizer), "hf_tokenizer_name": "tiny/siglip", "width": 64}
    text |= {"tokenizer_kwargs": {"clean": "canonicalize"}, "heads": 2, "layers": 2, "no_causal_mask": True}
    text |= {"proj_bias": True, "pool_type": "last", "norm_kwargs": {"eps": 1e-6}}
    model = {"embed_dim": 64, "init_logit_bias": -10, "custom_text": True, "vision_cfg": image, "text_cfg": text}
    _write(model, HALF, folder)


def nllb(folder: Path) -> None:
    """Write NLLB-CLIP: the encoder of NLLB's translator, which is told the language, read at the first token."""
    from transformers import M2M100Config, NllbTokenizer

    pieces = ["<s>", "<pad>", "</s>", "<unk>", "▁", *dict.fromkeys(LETTERS)]
    tokenizer = NllbTokenizer({piece: place for place, piece in enumerate(pieces)}, [], extra_special_tokens=CODES)
    tokenizer.save_pretrained(folder / "text")
    M2M100Config(
        vocab_size=len(tokenizer), d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32, max_position_embeddings=128,
    ).save_pretrained(folder / "text")  # fmt: skip
    text = {"hf_model_name": "tiny/nllb", "hf_tokenizer_name": "tiny/nllb", "hf_proj_type": "linear"}
    text |= {"hf_pooler_type": "cls_pooler"}
    _write({"embed_dim": 16, "vision_cfg": VIT, "text_cfg": text}, OPENAI, folder, "open_clip_pytorch_model.bin")


def mclip(folder: Path) -> None:
    """Write an M-CLIP: encoder and linear layer in one file, the encoder only named; its image tower in "image"."""
    import torch
    from transformers import AutoModel

    configuration = xlm_roberta_configuration()
    configuration.save_pretrained(folder / "text")
    xlm_roberta_tokenizer().save_pretrained(folder)
    own = {"model_type": "M-CLIP", "modelBase": "tiny/xlm-roberta", "transformerDimensions": 32, "numDims": 16}
    (folder / "config.json").write_text(json.dumps(own), encoding="utf-8")
    parts = {"transformer": AutoModel.from_config(configuration), "LinearTransformation": torch.nn.Linear(32, 16)}
    weights = shake(torch.nn.ModuleDict(parts)).state_dict()
    weights["transformer.embeddings.position_ids"] = torch.arange(130)[None]  # of transformers 4
    torch.save(weights, folder / "pytorch_model.bin")
    clip(folder / "image")


def older_mclip(folder: Path) -> None:
    """Write an older M-CLIP: an encoder in transformers' format, and the linear layer as two arrays in a pickle."""
    import numpy as np
    import torch
    from transformers import AutoModel, BertConfig

    tokenizer = bert_tokenizer()
    tokenizer.save_pretrained(folder)
    configuration = BertConfig(
        vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=40,
    )  # fmt: skip
    configuration.save_pretrained(folder)
    encoder = shake(AutoModel.from_config(configuration))
    torch.save(encoder.state_dict(), folder / "pytorch_model.bin")
    rng = np.random.default_rng(0)
    layer = [rng.normal(size=(32, 16)).astype(np.float32), rng.normal(size=16).astype(np.float32)]
    (folder / "M-BERT-Base-69-ViT Linear Weights.pkl").write_bytes(pickle.dumps(layer, protocol=3))
    clip(folder / "image")


def sentence_transformers(folder: Path) -> None:
    """Write a text model of sentence-transformers, a DistilBERT with a linear layer, and its CLIP in "image"."""
    import torch
    from safetensors.torch import save_file
    from transformers import AutoModel, DistilBertConfig

    tokenizer = bert_tokenizer()
    tokenizer.save_pretrained(folder)
    configuration = DistilBertConfig(
        vocab_size=len(tokenizer), dim=32, hidden_dim=32, n_layers=2, n_heads=2, max_position_embeddings=64
    )
    configuration.save_pretrained(folder)
    save_file(shake(AutoModel.from_config(configuration)).state_dict(), folder / "model.safetensors")
    kinds = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Dense", "Dense")]
    _modules(folder, kinds)
    _json(folder / "sentence_bert_config.json", {"max_seq_length": 48, "do_lower_case": False})
    modes = {"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True, "pooling_mode_max_tokens": False}
    _json(folder / "1_Pooling" / "config.json", {"word_embedding_dimension": 32, **modes})
    dense = {"in_features": 32, "out_features": 16, "bias": False}
    dense["activation_function"] = "torch.nn.modules.linear.Identity"
    _json(folder / "2_Dense" / "config.json", dense)
    torch.save({"linear.weight": torch.randn(16, 32) / 4}, folder / "2_Dense" / "pytorch_model.bin")
    _sentence_transformers_clip(folder / "image")


def _sentence_transformers_clip(folder: Path) -> None:
    from transformers import CLIPConfig, CLIPImageProcessor, CLIPModel, CLIPProcessor, CLIPTokenizer

    half = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    pieces = ["!", "a", "a</w>", "<|startoftext|>", "<|endoftext|>"]
    text = half | {"vocab_size": 5, "bos_token_id": 3, "eos_token_id": 4, "pad_token_id": 0}
    picture = half | {"image_size": 32, "patch_size": 16}
    model = shake(CLIPModel(CLIPConfig(text_config=text, vision_config=picture, projection_dim=16)))
    model.save_pretrained(folder / "0_CLIPModel")
    size = {"size": {"shortest_edge": 32}, "crop_size": {"height": 32, "width": 32}}
    tokenizer = CLIPTokenizer(vocab={piece: place for place, piece in enumerate(pieces)}, merges=[])
    CLIPProcessor(CLIPImageProcessor(**size), tokenizer).save_pretrained(folder / "0_CLIPModel")
    _modules(folder, [("0_CLIPModel", "CLIPModel")])


MAKERS = {
    "clip": clip,
    "xlm-roberta": xlm_roberta,
    "metaclip2": metaclip2,
    "siglip": siglip,
    "siglip2": lambda folder: siglip(folder, version=2),
    "nllb": nllb,
}


def check_adapter(encoder, pictures: list, layers: int = 2) -> None:
    """Assert that an adapter, and LoRA, sits in each layer of a loaded encoder's text tower, and changes texts only."""
    from babelatlas.models.training import adapters

    module, parallel = encoder.towers.module, encoder.towers.parallel
    images, texts = encoder.encode_images(pictures), encoder.encode_texts(TEXTS, "en")
    before = {name: value.clone() for name, value in module.state_dict().items()}
    assert len(adapters.layers(module)) == layers
    for attach, each in ((adapters.attach, [4]), (adapters.attach_lora, [2, 4])):
        weights = attach(module, 4)
        assert len(weights) in [layers * one for one in each]
        encoder.towers.parallel = parallel and attach is adapters.attach
        for weight in weights.values():
            weight.data += 0.1 * weight.new_tensor(range(weight.numel())).cos().reshape(weight.shape)
        assert (abs(encoder.encode_texts(TEXTS, "en") - texts).max(1) > 0).all()
        assert (encoder.encode_images(pictures) == images).all()
        adapters.detach(module)
        encoder.towers.parallel = parallel
        assert (encoder.encode_texts(TEXTS, "en") == texts).all()
        after = module.state_dict()
        assert after.keys() == before.keys()
        assert all((after[name] == value).all() for name, value in before.items())


def reference(folder: Path, place: Path) -> tuple:
    """Return model, transform and tokenizer as open_clip itself loads them, from a copy with all in one folder."""
    import open_clip

    shutil.copytree(folder, place)
    if (place / "text").is_dir():
        shutil.copytree(place / "text", place, dirs_exist_ok=True)
        configuration = json.loads((place / "open_clip_config.json").read_text(encoding="utf-8"))
        configuration["model_cfg"]["text_cfg"]["hf_model_name"] = str(place)
        (place / "open_clip_config.json").write_text(json.dumps(configuration), encoding="utf-8")
    model, transform = open_clip.create_model_from_pretrained(f"local-dir:{place}")
    return model.eval(), transform, open_clip.get_tokenizer(f"local-dir:{place}")


def xlm_roberta_tokenizer():
    """Return a tokenizer of XLM-R's kind: cased, start 0, padding 1, end 2."""
    from transformers import XLMRobertaTokenizer

    special = [(piece, 0.0) for piece in ("<s>", "<pad>", "</s>", "<unk>")]
    return XLMRobertaTokenizer(vocab=[*special, *_scores(), ("<mask>", 0.0)])


def t5_tokenizer():
    """Return a tokenizer of SigLIP's kind: T5's with no sentinels, padded with the end of text, 1."""
    from transformers import T5Tokenizer

    vocabulary = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), *_scores()]
    return T5Tokenizer(vocab=vocabulary, extra_ids=0, pad_token="</s>")


def gemma_tokenizer():
    """Return a tokenizer of SigLIP 2's kind: Gemma's, an end and no start, padded on the right with 0."""
    from transformers import GemmaTokenizer

    pieces = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>", "▁", *dict.fromkeys(LETTERS)]
    return GemmaTokenizer(
        vocab={piece: place for place, piece in enumerate(pieces)}, merges=[], padding_side="right",
        add_bos_token=False, add_eos_token=True,
    )  # fmt: skip


def bert_tokenizer():
    """Return a tokenizer of multilingual BERT's kind: cased, in pieces of one letter."""
    from transformers import BertTokenizer

    letters = dict.fromkeys(LETTERS)
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, *letters, *(f"##{letter}" for letter in letters)]
    return BertTokenizer(vocab={piece: place for place, piece in enumerate(pieces)}, do_lower_case=False)


def xlm_roberta_configuration():
    """Return the configuration of a tiny XLM-R."""
    from transformers import XLMRobertaConfig

    return XLMRobertaConfig(
        vocab_size=len(xlm_roberta_tokenizer()), hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=130, type_vocab_size=1,
    )  # fmt: skip


def shake(module):
    """Give a module weights under which outputs differ as inputs do, and return it."""
    import torch

    torch.manual_seed(0)
    with torch.no_grad():
        for weight in module.parameters():
            if weight.ndim > 1:
                weight.normal_(std=weight[0].numel() ** -0.5)
            elif weight.ndim:
                weight.add_(torch.randn_like(weight) * 0.1)
    return module.eval()


def _json(file: Path, content) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content), encoding="utf-8")


def _modules(folder: Path, kinds: list[tuple[str, str]]) -> None:
    rows = [
        {"idx": place, "name": str(place), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for place, (path, kind) in enumerate(kinds)
    ]
    _json(folder / "modules.json", rows)


def _scores() -> list[tuple[str, float]]:
    words = [(f"▁{word}", -2.0) for word in WORDS]
    return [*words, ("▁", -3.0), *((letter, -4.0) for letter in dict.fromkeys(LETTERS))]


def _write(configuration: dict, preprocess: dict, folder: Path, name: str = "open_clip_model.safetensors") -> None:
    """Write a model of open_clip's with random weights and its configuration; `name` is that of the weights."""
    import open_clip
    import torch
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    file, text = folder / "open_clip_config.json", configuration["text_cfg"]
    named = dict(text)
    if "hf_model_name" in text:
        text["hf_model_name"] = str(folder / "text")
    file.write_text(json.dumps({"model_cfg": configuration, "preprocess_cfg": preprocess}), encoding="utf-8")
    model = open_clip.create_model(f"local-dir:{folder}", load_weights=False, pretrained_text=False)
    weights = {key: value.contiguous() for key, value in shake(model).state_dict().items()}
    if name.endswith(".safetensors"):
        save_file(weights, folder / name)
    else:
        torch.save(weights, folder / name)
    configuration = configuration | {"text_cfg": named}
    file.write_text(json.dumps({"model_cfg": configuration, "preprocess_cfg": preprocess}), encoding="utf-8")
