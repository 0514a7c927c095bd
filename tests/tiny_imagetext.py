"""Tiny image-text-to-text models with random weights, made on the spot in the on-disk formats of transformers."""

import json
from pathlib import Path

import transformers as hf
from tokenizers import processors

import tiny_huggingface as tiny

TEXT = tiny.TOWER | {"num_key_value_heads": 2, "max_position_embeddings": 256, "pad_token_id": 0}
VISION = tiny.TOWER | {"image_size": 32, "patch_size": 8}
# How LLaVA 1.5 and Qwen2-VL put a conversation, in short templates of our own.
LLAVA_CHAT = (
    "{% for message in messages %}USER: {% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<image>\n{% else %}{{ part['text'] }}{% endif %}{% endfor %}{% endfor %}"
    "{% if add_generation_prompt %} ASSISTANT:{% endif %}"
)
QWEN_CHAT = """{%- for message in messages -%}
<|im_start|>{{ message.role }}
{% if message.content is string %}{{ message.content }}{% else %}{% for part in message.content -%}
{%- if part.type == 'image' %}<|vision_start|><|image_pad|><|vision_end|>
{%- elif 'text' in part %}{{ part.text }}{% endif %}
{%- endfor %}{% endif %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
QWEN_MARKS = {"vision_start": "<|vision_start|>", "vision_end": "<|vision_end|>"}
QWEN_MARKS |= {"image": "<|image_pad|>", "video": "<|video_pad|>"}


def paligemma(folder: Path) -> Path:
    """Write a PaliGemma: its question is read as a whole, its answer from left to right; no chat template."""
    size = tiny.gemma_tokenizer(folder) + 1200  # with the places of boxes and segments that the processor adds
    tokenizer = hf.PreTrainedTokenizerFast.from_pretrained(folder)
    images = hf.SiglipImageProcessor(size={"height": 32, "width": 32}, image_seq_length=16)
    processor = hf.PaliGemmaProcessor(images, tokenizer)
    config = hf.PaliGemmaConfig(
        text_config=TEXT | {"model_type": "gemma", "vocab_size": size, "head_dim": 8},
        vision_config=VISION | {"model_type": "siglip_vision_model", "vision_use_head": False, "projection_dim": 32},
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"), projection_dim=32, hidden_size=32,
        vocab_size=size,
    )  # fmt: skip
    return _save(folder, hf.PaliGemmaForConditionalGeneration(config), processor)


def llava(folder: Path) -> Path:
    """Write a LLaVA: CLIP's image tower before a Llama, a start token before each text, and a chat template."""
    tokenizer = _tokenizer(folder, ["<image>"])
    start = {"single": "<bos> $A", "special_tokens": [("<bos>", tokenizer.bos_token_id)]}
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(**start)
    images = hf.CLIPImageProcessor(size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32})
    processor = hf.LlavaProcessor(
        images, tokenizer, patch_size=8, vision_feature_select_strategy="default", num_additional_image_tokens=1,
        chat_template=LLAVA_CHAT,
    )  # fmt: skip
    config = hf.LlavaConfig(
        text_config=TEXT | {"model_type": "llama", "vocab_size": len(tokenizer)},
        vision_config=VISION | {"model_type": "clip_vision_model", "projection_dim": 24},
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"), vision_feature_layer=-2,
    )  # fmt: skip
    return _save(folder, hf.LlavaForConditionalGeneration(config), processor)


def qwen(folder: Path) -> Path:
    """Write a Qwen2-VL: as many tokens for an image as its size asks for, and places in three dimensions."""
    tokenizer, marks = qwen_tokenizer(folder)
    sizes = {"patch_size": 8, "merge_size": 2, "temporal_patch_size": 2}
    images = hf.Qwen2VLImageProcessor(size={"shortest_edge": 256, "longest_edge": 4096}, **sizes)
    videos = hf.Qwen2VLVideoProcessor(**sizes)
    processor = hf.Qwen2VLProcessor(images, tokenizer, videos, chat_template=QWEN_CHAT)
    rope = {"rope_type": "default", "mrope_section": [2, 1, 1], "rope_theta": 10000.0}
    config = hf.Qwen2VLConfig(
        vision_config={"depth": 2, "embed_dim": 32, "hidden_size": 32, "num_heads": 4, "mlp_ratio": 2, "patch_size": 8},
        text_config=TEXT | {"vocab_size": len(tokenizer), "rope_parameters": rope},
        **marks,
    )
    return _save(folder, hf.Qwen2VLForConditionalGeneration(config), processor)


def qwen_tokenizer(folder: Path) -> tuple:
    """Return a tokenizer with the marks of Qwen's models, and the ids of those that their configurations name."""
    tokenizer = _tokenizer(folder, ["<|im_start|>", "<|im_end|>", *QWEN_MARKS.values()], end="<|im_end|>")
    return tokenizer, {f"{role}_token_id": tokenizer.convert_tokens_to_ids(mark) for role, mark in QWEN_MARKS.items()}


def _tokenizer(folder: Path, marks: list[str], end: str = "<eos>"):
    """Return Gemma's tiny tokenizer without an end behind each text."""
    tiny.gemma_tokenizer(folder)
    file = folder / "tokenizer.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"post_processor": None}))
    return hf.PreTrainedTokenizerFast(
        tokenizer_file=str(file), pad_token="<pad>", bos_token="<bos>", eos_token=end, unk_token="<unk>",
        extra_special_tokens={f"mark{number}": mark for number, mark in enumerate(marks)},
    )  # fmt: skip


def _save(folder: Path, model, processor) -> Path:
    tiny.random(model).save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder
