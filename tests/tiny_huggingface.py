"""Tiny checkpoints with random weights, made on the spot in the on-disk formats of
transformers' families.
"""

import json
import string
from pathlib import Path

import torch
import transformers as tf
from safetensors.torch import save_file
from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from torch import nn

# Text of several scripts that the tiny vocabularies are made from.
CORPUS = [
    "a photo of a small red umbrella and a cat on the table in the house of the king",
    (
        "ein Foto von einem kleinen roten Regenschirm, une photo d'un petit parapluie"
        " rouge"
    ),
    "красный зонт и кошка на столе в доме короля",
    "一只猫坐在桌子上 红色的伞 国王的房子",
    "μια κόκκινη ομπρέλα, ένα μικρό σπίτι",
    "قطة على الطاولة مظلة حمراء",
    "ქოლგა და კატა",
]
TOWER = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
}
VISION = TOWER | {"image_size": 32, "patch_size": 8, "projection_dim": 24}
MEAN, STD = [0.48145466, 0.4578275, 0.40821073], [0.26862954, 0.26130258, 0.27577711]


def altclip(folder: Path) -> Path:
    """Write an AltCLIP as BAAI/AltCLIP-m18 has it: pickled weights, with a counter
    among them; XLM-R's tokenizer.
    """
    size = xlm_roberta_tokenizer(folder)
    text = TOWER | {
        "vocab_size": size,
        "max_position_embeddings": 100,
        "project_dim": 20,
    }
    model = random(
        tf.AltCLIPModel(
            tf.AltCLIPConfig(text_config=text, vision_config=VISION, projection_dim=24)
        )
    )
    model.config.save_pretrained(folder)
    weights = model.state_dict() | {
        "text_model.roberta.embeddings.position_ids": torch.arange(100)[None]
    }
    torch.save(weights, folder / "pytorch_model.bin")
    return clip_pictures(folder, feature_extractor_type="CLIPFeatureExtractor")


def chinese_clip(folder: Path) -> Path:
    """Write a Chinese-CLIP as OFA-Sys has it: pickled weights, and of the tokenizer
    only vocab.txt.
    """
    text = TOWER | {
        "vocab_size": bert_vocabulary(folder),
        "max_position_embeddings": 64,
    }
    model = random(
        tf.ChineseCLIPModel(
            tf.ChineseCLIPConfig(
                text_config=text, vision_config=VISION, projection_dim=24
            )
        )
    )
    model.config.save_pretrained(folder)
    torch.save(model.state_dict(), folder / "pytorch_model.bin")
    settings = {
        "size": {"height": 32, "width": 32},
        "image_processor_type": "ChineseCLIPImageProcessor",
    }
    return clip_pictures(folder, do_center_crop=False, **settings)


def bert_vocabulary(folder: Path) -> int:
    """Write the vocab.txt of a tokenizer of BERT's kind, in lower case; return the
    number of pieces.
    """
    folder.mkdir(parents=True, exist_ok=True)
    letters = sorted(
        {letter for line in CORPUS for letter in line.lower() if not letter.isspace()}
    )
    words = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        *letters,
        *(f"##{letter}" for letter in letters),
        "umbrella",
    ]
    (folder / "vocab.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    return len(words)


def metaclip2(folder: Path) -> Path:
    """Write a MetaCLIP 2: safetensors, XLM-V's tokenizer (XLM-R's class), pictures
    squeezed to a square.
    """
    text = TOWER | {
        "projection_dim": 24,
        "hidden_act": "gelu",
        "eos_token_id": 2,
        "max_position_embeddings": 77,
    }
    text |= {"vocab_size": xlm_roberta_tokenizer(folder)}
    model = random(
        tf.MetaClip2Model(
            tf.MetaClip2Config(
                text_config=text, vision_config=VISION, projection_dim=24
            )
        )
    )
    model.save_pretrained(folder)
    return clip_pictures(
        folder,
        size={"height": 32, "width": 32},
        image_processor_type="CLIPImageProcessor",
    )


def siglip2(folder: Path) -> Path:
    """Write a SigLIP 2 of fixed picture size: type siglip, Gemma's tokenizer, weights
    in several files.
    """
    return siglip(folder, gemma_tokenizer(folder), "200KB")


def naflex(folder: Path) -> Path:
    """Write a SigLIP 2 NaFlex as google/siglip2-base-patch16-naflex has it: type
    siglip2, pictures of any shape.
    """
    text = TOWER | {
        "vocab_size": gemma_tokenizer(folder),
        "max_position_embeddings": 64,
        "projection_size": 32,
    }
    vision = TOWER | {"patch_size": 8, "num_patches": 16}
    random(
        tf.Siglip2Model(tf.Siglip2Config(text_config=text, vision_config=vision))
    ).save_pretrained(folder)
    tf.Siglip2ImageProcessor(max_num_patches=16, patch_size=8).save_pretrained(folder)
    return folder


def siglip(folder: Path, size: int = 0, shard: str = "5GB") -> Path:
    """Write a SigLIP as google/siglip-so400m-patch16-256-i18n has it: its tokenizer is
    spiece.model and settings.
    """
    vision = TOWER | {"image_size": 32, "patch_size": 8}
    text = TOWER | {"max_position_embeddings": 64, "projection_size": 32}
    text |= {"vocab_size": size or sentencepiece_tokenizer(folder)}
    model = random(
        tf.SiglipModel(tf.SiglipConfig(text_config=text, vision_config=vision))
    )
    model.save_pretrained(folder, max_shard_size=shard)
    return siglip_pictures(folder)


def clip_pictures(folder: Path, **settings) -> Path:
    """Write preprocessor_config.json as CLIP's families have it, `settings` on top;
    return the folder.
    """
    found = {
        "crop_size": {"height": 32, "width": 32},
        "do_center_crop": True,
        "do_convert_rgb": True,
        "do_normalize": True,
        "do_rescale": True,
        "do_resize": True,
        "image_mean": MEAN,
        "image_std": STD,
        "resample": 3,
        "rescale_factor": 1 / 255,
        "size": {"shortest_edge": 32},
    }
    write_json(folder / "preprocessor_config.json", found | settings)
    return folder


def siglip_pictures(folder: Path) -> Path:
    """Write preprocessor_config.json as SigLIP has it; return the folder."""
    tf.SiglipImageProcessor(size={"height": 32, "width": 32}).save_pretrained(folder)
    return folder


def random(model):
    """Give a model random weights under which outputs differ as inputs do; return it."""
    torch.manual_seed(0)
    with torch.no_grad():
        for weight in model.parameters():
            if weight.ndim > 1:
                weight.normal_(std=weight[0].numel() ** -0.5)
            elif weight.ndim:
                weight.add_(torch.randn_like(weight) * 0.1)
    return model.eval()


def xlm_roberta_tokenizer(folder: Path) -> int:
    """Write the files of XLM-R's tokenizer as transformers 4 did, with a normaliser;
    return the number of ids.
    """
    folder.mkdir(parents=True, exist_ok=True)
    inner = Tokenizer(models.Unigram())
    # The real file has a table here that does the same to most letters.
    inner.normalizer = normalizers.NFKC()
    metaspace = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    inner.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), metaspace]
    )
    special = {"bos": "<s>", "pad": "<pad>", "eos": "</s>", "unk": "<unk>"}
    settings = {
        "special_tokens": list(special.values()),
        "unk_token": "<unk>",
        "show_progress": False,
    }
    trainer = trainers.UnigramTrainer(vocab_size=300, n_sub_iterations=1, **settings)
    inner.train_from_iterator(CORPUS, trainer)
    inner.add_special_tokens(["<mask>"])
    ends = {"single": "<s> $A </s>", "special_tokens": [("<s>", 0), ("</s>", 2)]}
    inner.post_processor = processors.TemplateProcessing(**ends)
    special |= {"cls": "<s>", "sep": "</s>", "mask": "<mask>"}
    return _saved(
        folder,
        inner,
        special,
        model_max_length=512,
        tokenizer_class="XLMRobertaTokenizer",
    )


def _saved(folder: Path, inner: Tokenizer, special: dict[str, str], **settings) -> int:
    inner.save(str(folder / "tokenizer.json"))
    write_json(
        folder / "tokenizer_config.json",
        settings | {f"{role}_token": token for role, token in special.items()},
    )
    return inner.get_vocab_size()


def gemma_tokenizer(folder: Path) -> int:
    """Write the files of SigLIP 2's tokenizer: Gemma's, bytes for what it has no piece
    for, only an end token.
    """
    folder.mkdir(parents=True, exist_ok=True)
    special = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>"]
    inner = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    inner.normalizer = normalizers.Replace(" ", "▁")
    inner.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    inner.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    letters = [*string.ascii_letters, *".,!?'▁"]
    tokens = [*special, *(f"<0x{byte:02X}>" for byte in range(256))]
    trainer = trainers.BpeTrainer(
        vocab_size=700,
        special_tokens=tokens,
        initial_alphabet=letters,
        show_progress=False,
    )
    inner.train_from_iterator(CORPUS, trainer)
    # As Gemma's file has it: the bytes are pieces, not special tokens.
    content = json.loads(inner.to_str())
    content["added_tokens"] = [
        token for token in content["added_tokens"] if token["content"] in special
    ]
    inner = Tokenizer.from_str(json.dumps(content))
    inner.post_processor = processors.TemplateProcessing(
        single="$A <eos>", special_tokens=[("<eos>", 1)]
    )
    settings = {
        "add_bos_token": False,
        "add_eos_token": True,
        "padding_side": "right",
        "model_max_length": 64,
    }
    settings |= {
        "tokenizer_class": "GemmaTokenizer",
        "model_input_names": ["input_ids"],
    }
    return _saved(
        folder, inner, {token[1:-1]: token for token in special[:4]}, **settings
    )


def sentencepiece_tokenizer(folder: Path) -> int:
    """Write the files of SigLIP's tokenizer, T5's kind: spiece.model and settings;
    needs sentencepiece.
    """
    import sentencepiece

    folder.mkdir(parents=True, exist_ok=True)
    settings = {
        "vocab_size": 220,
        "hard_vocab_limit": False,
        "character_coverage": 1.0,
        "minloglevel": 2,
    }
    settings |= {
        "pad_id": 0,
        "eos_id": 1,
        "unk_id": 2,
        "bos_id": -1,
        "model_prefix": str(folder / "spiece"),
    }
    lines = iter([line.lower() for line in CORPUS])
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=lines, **settings)
    (folder / "spiece.vocab").unlink()
    marks = {"lstrip": True, "rstrip": True, "normalized": False, "single_word": False}
    special = {
        str(row): marks | {"content": token, "special": True}
        for row, token in ((1, "</s>"), (2, "<unk>"))
    }
    roles = {"eos_token": "</s>", "pad_token": "</s>", "unk_token": "<unk>"}
    settings = {
        "do_lower_case": True,
        "model_max_length": 64,
        "model_input_names": ["input_ids"],
    }
    settings |= {
        "added_tokens_decoder": special,
        "tokenizer_class": "SiglipTokenizer",
        "sp_model_kwargs": {},
    }
    write_json(folder / "tokenizer_config.json", settings | roles)
    return sentencepiece.SentencePieceProcessor(
        model_file=str(folder / "spiece.model")
    ).get_piece_size()


def mexma(folder: Path) -> Path:
    """Write a MEXMA-SigLIP with code of ours; what that asks of other repositories lies
    in "text" and "image".
    """
    size = xlm_roberta_tokenizer(folder)
    text = tf.XLMRobertaConfig(
        **TOWER, vocab_size=size, max_position_embeddings=100, pad_token_id=1
    )
    text.save_pretrained(folder / "text")
    vision = TOWER | {"image_size": 32, "patch_size": 8}
    tf.SiglipConfig(vision_config=vision).save_pretrained(folder / "image")
    towers = {"text_model": tf.XLMRobertaModel(text, add_pooling_layer=False)}
    towers |= {"vision_model": tf.SiglipVisionModel(tf.SiglipVisionConfig(**vision))}
    towers |= {"text_projector": nn.Linear(32, 32, bias=False)}
    save_file(
        random(nn.ModuleDict(towers)).bfloat16().state_dict(),
        folder / "model.safetensors",
    )
    (folder / "mexma_siglip.py").write_text(MEXMA)
    classes = {
        "AutoConfig": "mexma_siglip.MexmaSigLIPConfig",
        "AutoModel": "mexma_siglip.MexmaSigLIP",
    }
    write_json(
        folder / "config.json",
        {"auto_map": classes, "optimized": False, "torch_dtype": "bfloat16"},
    )
    return siglip_pictures(folder)


def jina(folder: Path) -> Path:
    """Write a Jina-CLIP in the form of its repository: the code, ours, lies in another,
    here the sub-folder "code".
    """
    size = xlm_roberta_tokenizer(folder)
    parts = {
        "table": nn.Embedding(size, 6),
        "text_projection": nn.Linear(6, 4, bias=False),
    }
    parts |= {"visual_projection": nn.Linear(3, 4, bias=False)}
    save_file(random(nn.ModuleDict(parts)).state_dict(), folder / "model.safetensors")
    (folder / "code").mkdir()
    (folder / "code" / "modeling_clip.py").write_text(JINA)
    there = "jinaai/jina-clip-implementation--modeling_clip.JinaCLIP"
    classes = {"AutoConfig": f"{there}Config", "AutoModel": f"{there}Model"}
    classes = {"auto_map": classes, "model_type": "jina_clip", "pad_token_id": 1}
    write_json(folder / "config.json", classes | {"vocab_size": size})
    settings = {"auto_map": {"AutoImageProcessor": f"{there}ImageProcessor"}}
    settings |= {"image_processor_type": "JinaCLIPImageProcessor"}
    write_json(
        folder / "preprocessor_config.json",
        settings | {"size": 16, "mean": MEAN, "std": STD},
    )
    return folder


def uform(folder: Path) -> Path:
    """Write a UForm 3 as unum-cloud/uform3-image-text-multilingual-base has it; needs
    the package uform.
    """
    from uform.torch_encoders import ImageEncoder, TextEncoder

    size = xlm_roberta_tokenizer(folder)
    (folder / "tokenizer_config.json").unlink()
    text = {
        "model_type": "bert",
        "dim": 24,
        "context_dim": 32,
        "vocab_size": size,
        "padding_idx": 1,
        "num_layers": 4,
    }
    text |= {
        "num_heads": 4,
        "embedding_dim": 16,
        "multimodal_layers_ids": [2, 3],
        "head_one_neuron": False,
    }
    text |= {"pooling": "mean", "max_position_embeddings": 50, "dropout_prob": 0.1}
    image = {
        "dim": 32,
        "patch_size": 8,
        "image_size": 32,
        "num_layers": 2,
        "num_heads": 4,
        "embedding_dim": 16,
    }
    image |= {"pooling": "cls"}
    for name, tower in (
        ("text_encoder", TextEncoder(**text)),
        ("image_encoder", ImageEncoder(**image)),
    ):
        weights = random(tower).bfloat16().state_dict()
        save_file(weights, folder / f"{name}.safetensors")
        torch.save(weights, folder / f"{name}.pt")  # which the package reads
    mean = {"normalization_means": MEAN, "normalization_deviations": STD}
    write_json(
        folder / "config.json",
        {
            "text_encoder": {"tokenizer_class": "unigram"} | text,
            "image_encoder": mean | image,
        },
    )
    return folder


def write_json(file: Path, content) -> None:
    """Write JSON, and the folders above it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content), encoding="utf-8")


MEXMA = """
from torch import nn
from transformers import PretrainedConfig, PreTrainedModel, SiglipConfig, SiglipVisionModel
from transformers import XLMRobertaConfig, XLMRobertaModel
class MexmaSigLIPConfig(PretrainedConfig):
    pass
class MexmaSigLIP(PreTrainedModel):
    config_class = MexmaSigLIPConfig
    def __init__(self, config):
        super().__init__(config)
        text = XLMRobertaConfig.from_pretrained("facebook/MEXMA")
        self.text_model = XLMRobertaModel(text, add_pooling_layer=False)
        self.text_projector = nn.Linear(32, 32, bias=False)
        vision = SiglipConfig.from_pretrained("google/siglip2-so400m-patch16-512").vision_config
        self.vision_model = SiglipVisionModel(vision).vision_model
    def encode_images(self, pixel_values):
        return self.vision_model(pixel_values).pooler_output
    def encode_texts(self, input_ids, attention_mask):
        encoded = self.text_model(input_ids=input_ids, attention_mask=attention_mask)
        return self.text_projector(encoded.last_hidden_state[:, 0])
"""
JINA = """
import numpy as np
from torch import nn
from transformers import PretrainedConfig, PreTrainedModel
from transformers.image_processing_utils import BaseImageProcessor, BatchFeature
class JinaCLIPConfig(PretrainedConfig):
    model_type = "jina_clip"
class JinaCLIPModel(PreTrainedModel):
    config_class = JinaCLIPConfig
    def __init__(self, config):
        super().__init__(config)
        self.table = nn.Embedding(config.vocab_size, 6)
        self.text_projection = nn.Linear(6, 4, bias=False)
        self.visual_projection = nn.Linear(3, 4, bias=False)
        self.post_init()
    def get_text_features(self, input_ids):
        kept = (input_ids != self.config.pad_token_id).to(self.table.weight.dtype)[..., None]
        return self.text_projection((self.table(input_ids) * kept).sum(1) / kept.sum(1))
    def get_image_features(self, pixel_values):
        return self.visual_projection(pixel_values.mean((2, 3)))
class JinaCLIPImageProcessor(BaseImageProcessor):
    def __init__(self, size=16, mean=None, std=None, **kwargs):
        super().__init__(**kwargs)
        self.size, self.mean, self.std = size, mean, std
    def preprocess(self, image, **kwargs):
        pixels = np.asarray(image.resize((self.size, self.size)), np.float32) / 255
        pixels = ((pixels - self.mean) / self.std).transpose(2, 0, 1)
        tensor_type = kwargs.get("return_tensors")
        return BatchFeature({"pixel_values": pixels[None]}, tensor_type=tensor_type)
"""
