"""Tiny captioners with random weights, made on the spot in the on-disk formats of
transformers: BLIP, GIT, and an encoder-decoder of two models.
"""

from pathlib import Path

import transformers as hf

import tiny_huggingface as tiny

PIXELS = {"height": 32, "width": 32}
MARKS = {
    "pad_token": "[PAD]",
    "unk_token": "[UNK]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
}


def tokenizer(folder: Path):
    """Return BERT's tokenizer with a tiny vocabulary, which it leaves in the folder."""
    tiny.bert_vocabulary(folder)
    return hf.BertTokenizer.from_pretrained(folder)


def text_settings(vocabulary) -> dict:
    """Return the settings of a tiny decoder with this vocabulary."""
    return tiny.TOWER | {
        "vocab_size": len(vocabulary),
        "max_position_embeddings": 64,
        "bos_token_id": vocabulary.cls_token_id,
        "eos_token_id": vocabulary.sep_token_id,
        "pad_token_id": vocabulary.pad_token_id,
    }


def blip(folder: Path) -> Path:
    """Write a BLIP: its decoder looks across at the picture."""
    vocabulary = tokenizer(folder)
    text = text_settings(vocabulary) | {"sep_token_id": vocabulary.sep_token_id}
    text |= {"encoder_hidden_size": 32, "is_decoder": True}
    config = hf.BlipConfig(
        text_config=text, vision_config=tiny.VISION, image_text_hidden_size=16
    )
    model = tiny.random(hf.BlipForConditionalGeneration(config))
    processor = hf.BlipProcessor(hf.BlipImageProcessor(size=PIXELS), vocabulary)
    return save(folder, model, processor)


def git(folder: Path) -> Path:
    """Write a GIT: the picture's vectors stand before the text."""
    vocabulary = tokenizer(folder)
    config = hf.GitConfig(vision_config=tiny.VISION, **text_settings(vocabulary))
    model = tiny.random(hf.GitForCausalLM(config))
    pictures = hf.CLIPImageProcessor(
        size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32}
    )
    return save(folder, model, hf.GitProcessor(pictures, vocabulary))


def two_models(folder: Path) -> Path:
    """Write a ViT before a BERT that looks across, without a processor of their own."""
    vocabulary = tokenizer(folder)
    vision = hf.ViTConfig(**tiny.TOWER, image_size=32, patch_size=8)
    text = hf.BertConfig(
        **text_settings(vocabulary), is_decoder=True, add_cross_attention=True
    )
    config = hf.VisionEncoderDecoderConfig.from_encoder_decoder_configs(vision, text)
    config.decoder_start_token_id = vocabulary.cls_token_id
    config.pad_token_id = vocabulary.pad_token_id
    config.eos_token_id = vocabulary.sep_token_id
    model = tiny.random(hf.VisionEncoderDecoderModel(config))
    model.generation_config.decoder_start_token_id = vocabulary.cls_token_id
    model.generation_config.pad_token_id = vocabulary.pad_token_id
    model.generation_config.eos_token_id = vocabulary.sep_token_id
    hf.ViTImageProcessor(size=PIXELS).save_pretrained(folder)
    return save(folder, model, vocabulary)


def save(folder: Path, model, processor) -> Path:
    """Write model and processor into a folder, and return it."""
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder
