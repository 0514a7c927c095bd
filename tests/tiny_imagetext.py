"""Tiny image-text-to-text models with random weights, made on the spot in the on-disk formats of transformers."""

import json
from pathlib import Path

import tiny_huggingface as tiny

TEXT = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
TEXT |= {"num_key_value_heads": 2, "max_position_embeddings": 256, "pad_token_id": 0}
VISION = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
VISION |= {"image_size": 32, "patch_size": 8}
# How LLaVA 1.5 and Qwen2-VL put a conversation, in short templates of our own.
LLAVA_CHAT = (
    "{% for message in messages %}USER: {% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<image>\n{% else %}{{ part['text'] }}{% endif %}{% endfor %}{% endfor %}"
    "{% if add_generation_prompt %} ASSISTANT:{% endif %}"
)
QWEN_CHAT = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<|vision_start|><|image_pad|><|vision_end|>{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def paligemma(folder: Path, second: bool = False) -> Path:
    """Write a PaliGemma: its question is read as a whole, its answer from left to right; no chat template.

    `second`: a PaliGemma 2, around Gemma 2, some of whose layers look back only so far.
    """
    from transformers import (
        PaliGemmaConfig,
        PaliGemmaForConditionalGeneration,
        PaliGemmaProcessor,
        PreTrainedTokenizerFast,
        SiglipImageProcessor,
    )

    vocabulary = tiny.gemma_tokenizer(folder)
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    images = SiglipImageProcessor(size={"height": 32, "width": 32}, image_seq_length=16)
    processor = PaliGemmaProcessor(images, tokenizer)
    size = vocabulary + 1200  # with the places of boxes and segments that the processor adds
    text = TEXT | {"model_type": "gemma2" if second else "gemma", "vocab_size": size, "head_dim": 8}
    text |= {"sliding_window": 16, "query_pre_attn_scalar": 8} if second else {}
    vision = VISION | {"model_type": "siglip_vision_model", "vision_use_head": False, "projection_dim": 32}
    image = tokenizer.convert_tokens_to_ids("<image>")
    config = PaliGemmaConfig(
        text_config=text, vision_config=vision, image_token_index=image, projection_dim=32, hidden_size=32,
        vocab_size=size,
    )  # fmt: skip
    return _save(folder, PaliGemmaForConditionalGeneration(config), processor)


def paligemma2(folder: Path) -> Path:
    """Write a PaliGemma 2."""
    return paligemma(folder, second=True)


def llava(folder: Path) -> Path:
    """Write a LLaVA: CLIP's image tower before a Llama, a start token before each text, and a chat template."""
    from transformers import CLIPImageProcessor, LlavaConfig, LlavaForConditionalGeneration, LlavaProcessor

    tokenizer = _tokenizer(folder, ["<image>"], starts=True)
    size = {"shortest_edge": 32}
    images = CLIPImageProcessor(size=size, crop_size={"height": 32, "width": 32})
    processor = LlavaProcessor(
        images, tokenizer, patch_size=8, vision_feature_select_strategy="default", num_additional_image_tokens=1,
        chat_template=LLAVA_CHAT,
    )  # fmt: skip
    text = TEXT | {"model_type": "llama", "vocab_size": len(tokenizer)}
    config = LlavaConfig(
        text_config=text, vision_config=VISION | {"model_type": "clip_vision_model", "projection_dim": 24},
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"), vision_feature_layer=-2,
    )  # fmt: skip
    return _save(folder, LlavaForConditionalGeneration(config), processor)


def qwen(folder: Path) -> Path:
    """Write a Qwen2-VL: as many tokens for an image as its size asks for, and places in three dimensions."""
    import transformers

    processor, common = _qwen(folder, transformers.Qwen2VLProcessor)
    vision = {"depth": 2, "embed_dim": 32, "hidden_size": 32, "num_heads": 4, "mlp_ratio": 2, "patch_size": 8}
    config = transformers.Qwen2VLConfig(vision_config=vision, **common)
    return _save(folder, transformers.Qwen2VLForConditionalGeneration(config), processor)


def qwen25(folder: Path) -> Path:
    """Write a Qwen2.5-VL, whose image tower looks at windows in one of its two layers."""
    import transformers

    processor, common = _qwen(folder, transformers.Qwen2_5_VLProcessor)
    vision = {"depth": 2, "hidden_size": 32, "out_hidden_size": 32, "intermediate_size": 48, "num_heads": 4}
    vision |= {"patch_size": 8, "window_size": 32, "fullatt_block_indexes": [1]}
    config = transformers.Qwen2_5_VLConfig(vision_config=vision, **common)
    return _save(folder, transformers.Qwen2_5_VLForConditionalGeneration(config), processor)


def _qwen(folder: Path, kind) -> tuple:
    """Return the processor and the settings that both generations of Qwen-VL have."""
    from transformers import Qwen2VLImageProcessor, Qwen2VLVideoProcessor

    marks = ["<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>"]
    tokenizer = _tokenizer(folder, marks, end="<|im_end|>")
    sizes = {"patch_size": 8, "merge_size": 2, "temporal_patch_size": 2}
    images = Qwen2VLImageProcessor(size={"shortest_edge": 256, "longest_edge": 4096}, **sizes)
    processor = kind(images, tokenizer, Qwen2VLVideoProcessor(**sizes), chat_template=QWEN_CHAT)
    rope = {"rope_type": "default", "mrope_section": [2, 1, 1], "rope_theta": 10000.0}
    common = {
        "text_config": TEXT | {"vocab_size": len(tokenizer), "rope_parameters": rope},
        "image_token_id": tokenizer.convert_tokens_to_ids("<|image_pad|>"),
        "video_token_id": tokenizer.convert_tokens_to_ids("<|video_pad|>"),
        "vision_start_token_id": tokenizer.convert_tokens_to_ids("<|vision_start|>"),
        "vision_end_token_id": tokenizer.convert_tokens_to_ids("<|vision_end|>"),
    }
    return processor, common


def _tokenizer(folder: Path, marks: list[str], starts: bool = False, end: str = "<eos>"):
    """Return Gemma's tiny tokenizer without an end behind each text; `starts`: with a start token before each."""
    from tokenizers import processors
    from transformers import PreTrainedTokenizerFast

    tiny.gemma_tokenizer(folder)
    file = folder / "tokenizer.json"
    content = json.loads(file.read_text())
    content["post_processor"] = None
    file.write_text(json.dumps(content))
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=str(file), pad_token="<pad>", bos_token="<bos>", eos_token=end, unk_token="<unk>",
        extra_special_tokens={f"mark{number}": mark for number, mark in enumerate(marks)},
    )  # fmt: skip
    if starts:
        tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
            single="<bos> $A", pair="<bos> $A $B", special_tokens=[("<bos>", tokenizer.bos_token_id)]
        )
    return tokenizer


def _save(folder: Path, model, processor) -> Path:
    tiny.random(model).save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder
