"""Tiny checkpoints with random weights, made on the spot in the on-disk formats of transformers' families."""

import json
from pathlib import Path

# Text of several scripts that the tiny vocabularies are made from.
CORPUS = [
    "a photo of a small red umbrella and a cat on the table in the house of the king",
    "ein Foto von einem kleinen roten Regenschirm, une photo d'un petit parapluie rouge",
    "красный зонт и кошка на столе в доме короля",
    "一只猫坐在桌子上 红色的伞 国王的房子",
    "μια κόκκινη ομπρέλα, ένα μικρό σπίτι",
    "قطة على الطاولة مظلة حمراء",
    "ქოლგა და კატა",
]
TOWER = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
VISION = TOWER | {"image_size": 32, "patch_size": 8, "projection_dim": 24}
XLM_ROBERTA = {
    "bos_token": "<s>", "eos_token": "</s>", "sep_token": "</s>", "cls_token": "<s>", "unk_token": "<unk>",
    "pad_token": "<pad>", "mask_token": "<mask>",
}  # fmt: skip
MEAN, STD = [0.48145466, 0.4578275, 0.40821073], [0.26862954, 0.26130258, 0.27577711]


def altclip(folder: Path, old: bool = False, places: int = 100) -> Path:
    """Write an AltCLIP as BAAI/AltCLIP-m18 has it: pickled weights, with a counter among them; XLM-R's tokenizer.

    `old`: as BAAI/AltCLIP-m9 has it, without tokenizer.json and with plain numbers for sizes; needs sentencepiece.
    """
    import torch
    from transformers import AltCLIPConfig, AltCLIPModel

    tokenizer = xlm_roberta_pieces(folder) if old else xlm_roberta_tokenizer(folder, 512)
    text = TOWER | {"vocab_size": tokenizer, "max_position_embeddings": places, "project_dim": 20}
    model = random(AltCLIPModel(AltCLIPConfig(text_config=text, vision_config=VISION, projection_dim=24)))
    model.config.save_pretrained(folder)
    weights = model.state_dict() | {"text_model.roberta.embeddings.position_ids": torch.arange(places)[None]}
    torch.save(weights, folder / "pytorch_model.bin")
    clip_pictures(folder, feature_extractor_type="CLIPFeatureExtractor")
    return old_pictures(folder) if old else folder


def chinese_clip(folder: Path) -> Path:
    """Write a Chinese-CLIP as OFA-Sys has it: pickled weights, and of the tokenizer only vocab.txt."""
    import torch
    from transformers import ChineseCLIPConfig, ChineseCLIPModel

    folder.mkdir(parents=True, exist_ok=True)
    letters = sorted({letter for line in CORPUS for letter in line.lower() if not letter.isspace()})
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{letter}" for letter in letters), "umbrella"]
    (folder / "vocab.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    text = TOWER | {"vocab_size": len(words), "max_position_embeddings": 64}
    model = random(ChineseCLIPModel(ChineseCLIPConfig(text_config=text, vision_config=VISION, projection_dim=24)))
    model.config.save_pretrained(folder)
    torch.save(model.state_dict(), folder / "pytorch_model.bin")
    settings = {"size": {"height": 32, "width": 32}, "image_processor_type": "ChineseCLIPImageProcessor"}
    return clip_pictures(folder, do_center_crop=False, **settings)


def metaclip2(folder: Path, **text) -> Path:
    """Write a MetaCLIP 2: safetensors, XLM-V's tokenizer (XLM-R's class), pictures squeezed to a square."""
    from transformers import MetaClip2Config, MetaClip2Model

    own = {"vocab_size": xlm_roberta_tokenizer(folder, 77), "eos_token_id": 2, "max_position_embeddings": 77}
    text = TOWER | {"projection_dim": 24, "hidden_act": "gelu"} | own | text
    model = random(MetaClip2Model(MetaClip2Config(text_config=text, vision_config=VISION, projection_dim=24)))
    model.save_pretrained(folder)
    return clip_pictures(folder, size={"height": 32, "width": 32}, image_processor_type="CLIPImageProcessor")


def siglip2(folder: Path, parts: bool = False) -> Path:
    """Write a SigLIP 2 of fixed picture size as google/siglip2-base-patch16-224 has it: type siglip, Gemma's tokenizer.

    `parts`: the weights in several files, as the largest have them.
    """
    size = gemma_tokenizer(folder)
    return _siglip(folder, size, "200KB" if parts else "5GB")


def naflex(folder: Path) -> Path:
    """Write a SigLIP 2 NaFlex as google/siglip2-base-patch16-naflex has it: type siglip2, pictures of any shape."""
    from transformers import Siglip2Config, Siglip2Model

    text = TOWER | {"vocab_size": gemma_tokenizer(folder), "max_position_embeddings": 64, "projection_size": 32}
    vision = TOWER | {"patch_size": 8, "num_patches": 16}
    random(Siglip2Model(Siglip2Config(text_config=text, vision_config=vision))).save_pretrained(folder)
    settings = {
        "do_convert_rgb": None, "do_normalize": True, "do_rescale": True, "do_resize": True, "image_mean": [0.5] * 3,
        "image_processor_type": "Siglip2ImageProcessor", "image_std": [0.5] * 3, "max_num_patches": 16, "patch_size": 8,
        "processor_class": "Siglip2Processor", "resample": 2, "rescale_factor": 1 / 255,
    }  # fmt: skip
    (folder / "preprocessor_config.json").write_text(json.dumps(settings))
    return folder


def siglip(folder: Path) -> Path:
    """Write a SigLIP as google/siglip-so400m-patch16-256-i18n has it: its tokenizer is spiece.model and settings."""
    return _siglip(folder, sentencepiece_tokenizer(folder), "5GB")


def clip_pictures(folder: Path, **settings) -> Path:
    """Write preprocessor_config.json as CLIP's families have it, `settings` on top; return the folder."""
    found = {
        "crop_size": {"height": 32, "width": 32}, "do_center_crop": True, "do_convert_rgb": True, "do_normalize": True,
        "do_rescale": True, "do_resize": True, "image_mean": MEAN, "image_std": STD, "resample": 3,
        "rescale_factor": 1 / 255, "size": {"shortest_edge": 32},
    }  # fmt: skip
    (folder / "preprocessor_config.json").write_text(json.dumps(found | settings))
    return folder


def old_pictures(folder: Path) -> Path:
    """Write the preprocessor_config.json of a folder as transformers 4.20 did; return the folder."""
    file = folder / "preprocessor_config.json"
    found = json.loads(file.read_text())
    kept = ("do_center_crop", "do_normalize", "do_resize", "image_mean", "image_std", "resample")
    sizes = {"size": 32, "crop_size": 32, "feature_extractor_type": "CLIPFeatureExtractor"}
    file.write_text(json.dumps({name: found[name] for name in kept} | sizes))
    return folder


def random(model, seed: int = 0):
    """Give every weight of a model a random value of a size at which different inputs differ; return the model."""
    import torch

    torch.manual_seed(seed)
    with torch.no_grad():
        for weight in model.parameters():
            weight.normal_(0, 0.3 if weight.ndim > 1 else 0.5)
    return model.eval()


def xlm_roberta_tokenizer(folder: Path, longest: int) -> int:
    """Write the files of XLM-R's tokenizer as transformers 4 did, with a normaliser; return the number of ids."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

    folder.mkdir(parents=True, exist_ok=True)
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    inner = Tokenizer(models.Unigram())
    # The real file has a table here that does the same to most letters.
    inner.normalizer = normalizers.NFKC()
    metaspace = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    inner.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), metaspace])
    trainer = trainers.UnigramTrainer(
        vocab_size=300, special_tokens=special, unk_token="<unk>", show_progress=False, n_sub_iterations=1
    )
    inner.train_from_iterator(CORPUS, trainer)
    inner.add_special_tokens(["<mask>"])
    inner.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    inner.save(str(folder / "tokenizer.json"))
    settings = XLM_ROBERTA | {"model_max_length": longest, "tokenizer_class": "XLMRobertaTokenizer"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    (folder / "special_tokens_map.json").write_text(json.dumps(XLM_ROBERTA))
    return inner.get_vocab_size()


def xlm_roberta_pieces(folder: Path) -> int:
    """Write the files of XLM-R's tokenizer without tokenizer.json; return the number of ids. Needs sentencepiece."""
    import sentencepiece

    folder.mkdir(parents=True, exist_ok=True)
    settings = {"sentence_iterator": iter(CORPUS), "vocab_size": 220, "hard_vocab_limit": False, "minloglevel": 2}
    prefix = folder / "sentencepiece.bpe"
    sentencepiece.SentencePieceTrainer.train(**settings, model_prefix=str(prefix), character_coverage=1.0)
    (folder / "sentencepiece.bpe.vocab").unlink()
    settings = XLM_ROBERTA | {"model_max_length": 512, "tokenizer_class": "XLMRobertaTokenizer"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    (folder / "special_tokens_map.json").write_text(json.dumps(XLM_ROBERTA))
    # A padding token in front and a mask at the end are not among sentencepiece's.
    return sentencepiece.SentencePieceProcessor(model_file=f"{prefix}.model").get_piece_size() + 2


def gemma_tokenizer(folder: Path) -> int:
    """Write the files of SigLIP 2's tokenizer: Gemma's, bytes for what it has no piece for, only an end token."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

    folder.mkdir(parents=True, exist_ok=True)
    special = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>"]
    inner = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    inner.normalizer = normalizers.Replace(" ", "▁")
    inner.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    inner.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    letters = [*"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.,!?'▁"]
    tokens = [*special, *(f"<0x{byte:02X}>" for byte in range(256))]
    trainer = trainers.BpeTrainer(vocab_size=700, special_tokens=tokens, initial_alphabet=letters, show_progress=False)
    inner.train_from_iterator(CORPUS, trainer)
    # As Gemma's file has it: the bytes are pieces, not special tokens.
    content = json.loads(inner.to_str())
    content["added_tokens"] = [token for token in content["added_tokens"] if token["content"] in special]
    inner = Tokenizer.from_str(json.dumps(content))
    inner.post_processor = processors.TemplateProcessing(
        single="$A <eos>", pair="$A <eos> $B <eos>", special_tokens=[("<eos>", 1)]
    )
    inner.save(str(folder / "tokenizer.json"))
    roles = {f"{token[1:-1]}_token": token for token in special[:4]}
    settings = {"add_bos_token": False, "add_eos_token": True, "padding_side": "right", "model_max_length": 64}
    settings |= {"tokenizer_class": "GemmaTokenizer", "model_input_names": ["input_ids"]}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings | roles))
    (folder / "special_tokens_map.json").write_text(json.dumps(roles))
    return inner.get_vocab_size()


def sentencepiece_tokenizer(folder: Path) -> int:
    """Write the files of SigLIP's tokenizer, T5's kind: spiece.model and settings; needs sentencepiece."""
    import sentencepiece

    folder.mkdir(parents=True, exist_ok=True)
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([line.lower() for line in CORPUS]),
        model_prefix=str(folder / "spiece"),
        vocab_size=220,
        hard_vocab_limit=False,
        character_coverage=1.0,
        pad_id=0,
        eos_id=1,
        unk_id=2,
        bos_id=-1,
        minloglevel=2,
    )
    (folder / "spiece.vocab").unlink()
    marks = {"lstrip": True, "rstrip": True, "normalized": False, "single_word": False}
    special = {str(row): marks | {"content": token, "special": True} for row, token in ((1, "</s>"), (2, "<unk>"))}
    roles = {"eos_token": "</s>", "pad_token": "</s>", "unk_token": "<unk>"}
    settings = {"do_lower_case": True, "model_max_length": 64, "model_input_names": ["input_ids"]}
    settings |= {"added_tokens_decoder": special, "tokenizer_class": "SiglipTokenizer", "sp_model_kwargs": {}}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings | roles))
    (folder / "special_tokens_map.json").write_text(json.dumps(roles))
    return sentencepiece.SentencePieceProcessor(model_file=str(folder / "spiece.model")).get_piece_size()


def _siglip(folder: Path, vocabulary: int, shard: str) -> Path:
    from transformers import SiglipConfig, SiglipModel

    vision = {name: value for name, value in VISION.items() if name != "projection_dim"}
    text = TOWER | {"vocab_size": vocabulary, "max_position_embeddings": 64, "projection_size": 32}
    random(SiglipModel(SiglipConfig(text_config=text, vision_config=vision))).save_pretrained(
        folder, max_shard_size=shard
    )
    settings = {"do_convert_rgb": None, "image_mean": [0.5] * 3, "image_std": [0.5] * 3, "do_center_crop": False}
    settings |= {"size": {"height": 32, "width": 32}, "image_processor_type": "SiglipImageProcessor"}
    return clip_pictures(folder, **settings)


def mexma(folder: Path) -> Path:
    """Write a MEXMA-SigLIP in the form of its repository, with code of ours that has its methods and asks for others.

    The configurations of the repositories that the code asks for lie in the sub-folders "text" and "image".
    """
    from safetensors.torch import save_file
    from transformers import SiglipConfig, SiglipVisionConfig, SiglipVisionModel, XLMRobertaConfig, XLMRobertaModel

    size = xlm_roberta_tokenizer(folder, 512)
    text = XLMRobertaConfig(**TOWER, vocab_size=size, max_position_embeddings=100, pad_token_id=1)
    text.save_pretrained(folder / "text")
    vision = {name: value for name, value in VISION.items() if name != "projection_dim"}
    SiglipConfig(vision_config=vision).save_pretrained(folder / "image")
    towers = {"text_model": XLMRobertaModel(text, add_pooling_layer=False)}
    towers["vision_model"] = SiglipVisionModel(SiglipVisionConfig(**vision))
    weights = {
        f"{name}.{key}": value.bfloat16()
        for name, tower in towers.items()
        for key, value in random(tower).state_dict().items()
    }
    save_file(weights | {"text_projector.weight": normal(32, 32).bfloat16()}, folder / "model.safetensors")
    (folder / "mexma_siglip.py").write_text(MEXMA)
    classes = {"AutoConfig": "mexma_siglip.MexmaSigLIPConfig", "AutoModel": "mexma_siglip.MexmaSigLIP"}
    _configuration(folder, {"auto_map": classes, "optimized": False, "torch_dtype": "bfloat16"})
    settings = {"image_mean": [0.5] * 3, "image_std": [0.5] * 3, "do_center_crop": False, "do_convert_rgb": None}
    settings |= {"size": {"height": 32, "width": 32}, "image_processor_type": "SiglipImageProcessor"}
    return clip_pictures(folder, **settings)


def jina(folder: Path) -> Path:
    """Write a Jina-CLIP in the form of its repository: the code, ours, lies in another, here the sub-folder "code"."""
    from safetensors.torch import save_file

    size = xlm_roberta_tokenizer(folder, 512)
    weights = {"table.weight": normal(size, 6), "text_projection.weight": normal(4, 6)}
    save_file(weights | {"visual_projection.weight": normal(4, 3)}, folder / "model.safetensors")
    (folder / "code").mkdir()
    for name, code in JINA.items():
        (folder / "code" / f"{name}.py").write_text(code)
    there = "jinaai/jina-clip-implementation--"
    classes = {"AutoConfig": "configuration_clip.JinaCLIPConfig", "AutoModel": "modeling_clip.JinaCLIPModel"}
    classes = {name: there + place for name, place in classes.items()}
    _configuration(folder, {"auto_map": classes, "model_type": "jina_clip", "vocab_size": size, "pad_token_id": 1})
    place = f"{there}processing_clip.JinaCLIPImageProcessor"
    settings = {"auto_map": {"AutoImageProcessor": place}, "image_processor_type": "JinaCLIPImageProcessor"}
    (folder / "preprocessor_config.json").write_text(json.dumps(settings | {"size": 16, "mean": MEAN, "std": STD}))
    return folder


def uform(folder: Path) -> Path:
    """Write a UForm 3 as unum-cloud/uform3-image-text-multilingual-base has it; needs the package uform."""
    import torch
    from safetensors.torch import save_file
    from uform.torch_encoders import ImageEncoder, TextEncoder

    size = xlm_roberta_tokenizer(folder, 512)
    for name in ("tokenizer_config.json", "special_tokens_map.json"):
        (folder / name).unlink()
    text = {
        "model_type": "bert", "dim": 24, "context_dim": 32, "vocab_size": size, "padding_idx": 1, "num_layers": 4,
        "num_heads": 4, "embedding_dim": 16, "multimodal_layers_ids": [2, 3], "head_one_neuron": False,
        "pooling": "mean", "max_position_embeddings": 50, "dropout_prob": 0.1,
    }  # fmt: skip
    image = {
        "dim": 32, "patch_size": 8, "image_size": 32, "num_layers": 2, "num_heads": 4, "embedding_dim": 16,
        "pooling": "cls",
    }  # fmt: skip
    for name, tower in (("text_encoder", TextEncoder(**text)), ("image_encoder", ImageEncoder(**image))):
        weights = {key: value.bfloat16() for key, value in random(tower).state_dict().items()}
        save_file(weights, folder / f"{name}.safetensors")
        torch.save(weights, folder / f"{name}.pt")
    mean = {"normalization_means": MEAN, "normalization_deviations": STD}
    _configuration(folder, {"text_encoder": {"tokenizer_class": "unigram"} | text, "image_encoder": mean | image})
    return folder


def normal(*shape: int):
    """Return a tensor of random numbers, the same for one shape."""
    import torch

    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def _configuration(folder: Path, content: dict) -> None:
    (folder / "config.json").write_text(json.dumps(content))


MEXMA = """
from torch import nn
from transformers import PretrainedConfig, PreTrainedModel, SiglipConfig, SiglipVisionModel
from transformers import XLMRobertaConfig, XLMRobertaModel


class MexmaSigLIPConfig(PretrainedConfig):
    def __init__(self, optimized=False, **kwargs):
        super().__init__(**kwargs)
        self.optimized = optimized


class MexmaSigLIP(PreTrainedModel):
    config_class = MexmaSigLIPConfig

    def __init__(self, config):
        super().__init__(config)
        self.text_model = XLMRobertaModel(XLMRobertaConfig.from_pretrained("facebook/MEXMA"), add_pooling_layer=False)
        self.text_projector = nn.Linear(32, 32, bias=False)
        vision = SiglipConfig.from_pretrained("google/siglip2-so400m-patch16-512").vision_config
        self.vision_model = SiglipVisionModel(vision).vision_model

    def encode_images(self, pixel_values, normalize=False):
        found = self.vision_model(pixel_values).pooler_output
        return nn.functional.normalize(found, dim=-1) if normalize else found

    def encode_texts(self, input_ids, attention_mask, normalize=False):
        found = self.text_model(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state[:, 0]
        found = self.text_projector(found)
        return nn.functional.normalize(found, dim=-1) if normalize else found
"""
JINA = {
    "configuration_clip": """
from transformers import PretrainedConfig


class JinaCLIPConfig(PretrainedConfig):
    model_type = "jina_clip"

    def __init__(self, vocab_size=9, pad_token_id=1, **kwargs):
        super().__init__(pad_token_id=pad_token_id, **kwargs)
        self.vocab_size = vocab_size
""",
    "modeling_clip": """
from torch import nn
from transformers import PreTrainedModel
from transformers.models.clip.modeling_clip import clip_loss  # noqa: F401
from transformers.models.xlm_roberta.modeling_xlm_roberta import create_position_ids_from_input_ids  # noqa: F401

from .configuration_clip import JinaCLIPConfig


class JinaCLIPModel(PreTrainedModel):
    config_class = JinaCLIPConfig

    def __init__(self, config):
        super().__init__(config)
        self.table = nn.Embedding(config.vocab_size, 6)
        self.text_projection = nn.Linear(6, 4, bias=False)
        self.visual_projection = nn.Linear(3, 4, bias=False)
        self.post_init()

    def get_text_features(self, input_ids=None, *_, **__):
        kept = (input_ids != self.config.pad_token_id).to(self.table.weight.dtype)[..., None]
        return self.text_projection((self.table(input_ids) * kept).sum(1) / kept.sum(1))

    def get_image_features(self, pixel_values=None, *_, **__):
        return self.visual_projection(pixel_values.mean((2, 3)))
""",
    "processing_clip": """
import numpy as np
from transformers.image_processing_utils import BaseImageProcessor, BatchFeature


class JinaCLIPImageProcessor(BaseImageProcessor):
    model_input_names = ["pixel_values"]

    def __init__(self, size=16, mean=None, std=None, **kwargs):
        super().__init__(**kwargs)
        self.size, self.mean, self.std = size, mean, std

    def preprocess(self, images, **kwargs):
        images = images if isinstance(images, list) else [images]
        found = [np.asarray(image.resize((self.size, self.size)), np.float32) / 255 for image in images]
        found = [((one - self.mean) / self.std).transpose(2, 0, 1) for one in found]
        return BatchFeature({"pixel_values": np.stack(found)}, tensor_type=kwargs.get("return_tensors"))
""",
}
