"""Tiny image-text-to-text models with random weights, made on the spot in the on-disk
formats of transformers.
"""

import json
from pathlib import Path

import transformers as hf
from tokenizers import processors
from transformers.models.smolvlm import processing_smolvlm

import tiny_huggingface as tiny

TEXT = tiny.TOWER | {
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    "pad_token_id": 0,
}
VISION = tiny.TOWER | {"image_size": 32, "patch_size": 8}
SIGLIP = VISION | {"model_type": "siglip_vision_model", "vision_use_head": False}
WINDOW = TEXT | {
    "layer_types": ["sliding_attention", "full_attention"],
    "sliding_window": 16,
}
SQUARE = {"height": 32, "width": 32}
# How Qwen2-VL puts a conversation, in a short template of our own.
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
    """Write a PaliGemma: its question is read as a whole, its answer from left to
    right; no chat template.
    """
    size = (
        tiny.gemma_tokenizer(folder) + 1200
    )  # with the places of boxes and segments that the processor adds
    tokenizer = hf.PreTrainedTokenizerFast.from_pretrained(folder)
    images = hf.SiglipImageProcessor(
        size={"height": 32, "width": 32}, image_seq_length=16
    )
    processor = hf.PaliGemmaProcessor(images, tokenizer)
    config = hf.PaliGemmaConfig(
        text_config=TEXT | {"model_type": "gemma", "vocab_size": size, "head_dim": 8},
        vision_config=VISION
        | {
            "model_type": "siglip_vision_model",
            "vision_use_head": False,
            "projection_dim": 32,
        },
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        projection_dim=32,
        hidden_size=32,
        vocab_size=size,
    )
    return _save(folder, hf.PaliGemmaForConditionalGeneration(config), processor)


def llava(folder: Path) -> Path:
    """Write a LLaVA: CLIP's image tower before a Llama, a start token before each text,
    and a chat template.
    """
    tokenizer = _tokenizer(folder, ["<image>"])
    start = {
        "single": "<bos> $A",
        "special_tokens": [("<bos>", tokenizer.bos_token_id)],
    }
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(**start)
    images = hf.CLIPImageProcessor(
        size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32}
    )
    settings = {
        "patch_size": 8,
        "vision_feature_select_strategy": "default",
        "num_additional_image_tokens": 1,
    }
    chat = _chat("USER: ", "<image>\n", "", " ASSISTANT:")
    processor = hf.LlavaProcessor(images, tokenizer, chat_template=chat, **settings)
    config = hf.LlavaConfig(
        text_config=TEXT | {"model_type": "llama", "vocab_size": len(tokenizer)},
        vision_config=VISION
        | {
            "model_type": "clip_vision_model",
            "projection_dim": 24,
        },
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        vision_feature_layer=-2,
    )
    return _save(folder, hf.LlavaForConditionalGeneration(config), processor)


def qwen(folder: Path) -> Path:
    """Write a Qwen2-VL: as many tokens for an image as its size asks for, and places in
    three dimensions.
    """
    tokenizer, marks = qwen_tokenizer(folder)
    sizes = {"patch_size": 8, "merge_size": 2, "temporal_patch_size": 2}
    images = hf.Qwen2VLImageProcessor(
        size={"shortest_edge": 256, "longest_edge": 4096}, **sizes
    )
    videos = hf.Qwen2VLVideoProcessor(**sizes)
    processor = hf.Qwen2VLProcessor(images, tokenizer, videos, chat_template=QWEN_CHAT)
    rope = {"rope_type": "default", "mrope_section": [2, 1, 1], "rope_theta": 10000.0}
    config = hf.Qwen2VLConfig(
        vision_config={
            "depth": 2,
            "embed_dim": 32,
            "hidden_size": 32,
            "num_heads": 4,
            "mlp_ratio": 2,
            "patch_size": 8,
        },
        text_config=TEXT | {"vocab_size": len(tokenizer), "rope_parameters": rope},
        **marks,
    )
    return _save(folder, hf.Qwen2VLForConditionalGeneration(config), processor)


def qwen3(folder: Path) -> Path:
    """Write a Qwen3-VL: as Qwen2-VL, with features of several of the tower's layers;
    its layers of text are dense.
    """
    config, processor = qwen3_parts(folder, "Qwen3VL")
    return _save(folder, hf.Qwen3VLForConditionalGeneration(config), processor)


def qwen3_moe(folder: Path) -> Path:
    """Write a Qwen3-VL whose layers of text are mixtures of experts."""
    experts = {"moe_intermediate_size": 24, "num_experts": 4, "num_experts_per_tok": 2}
    config, processor = qwen3_parts(folder, "Qwen3VLMoe", **experts)
    return _save(folder, hf.Qwen3VLMoeForConditionalGeneration(config), processor)


def qwen3_parts(folder: Path, kind: str, **text) -> tuple:
    """Return the configuration of a kind of Qwen3-VL and its processor; `text`: more
    settings of its text model.
    """
    tokenizer, marks = qwen_tokenizer(folder)
    sizes = {"patch_size": 16, "merge_size": 2, "temporal_patch_size": 2}
    images = hf.Qwen2VLImageProcessor(
        size={"shortest_edge": 1024, "longest_edge": 4096}, **sizes
    )
    processor = hf.Qwen3VLProcessor(
        images, tokenizer, hf.Qwen3VLVideoProcessor(**sizes), chat_template=QWEN_CHAT
    )
    text |= TEXT | {"head_dim": 8, "vocab_size": len(tokenizer)}
    text |= {
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": 1e4,
            "mrope_section": [2, 1, 1],
        }
    }
    vision = {
        "hidden_size": 32,
        "intermediate_size": 48,
        "depth": 2,
        "num_heads": 4,
        "out_hidden_size": 32,
    }
    vision |= {
        "patch_size": 16,
        "num_position_embeddings": 16,
        "deepstack_visual_indexes": [0],
    }
    return (
        getattr(hf, f"{kind}Config")(text_config=text, vision_config=vision, **marks),
        processor,
    )


def gemma3(folder: Path) -> Path:
    """Write a Gemma 3: an image's tokens see one another, layers in a window and
    beyond, an end of turn of its own.
    """
    names = {
        "boi_token": "<start_of_image>",
        "eoi_token": "<end_of_image>",
        "image_token": "<image_soft_token>",
    }
    tokenizer = _tokenizer(folder, names | {"turn": "<end_of_turn>"})
    ids = {
        f"{name}_index": tokenizer.convert_tokens_to_ids(mark)
        for name, mark in names.items()
    }
    chat = _chat(
        "<bos><start_of_turn>user\n",
        "<start_of_image>",
        "<end_of_turn>\n",
        "<start_of_turn>model\n",
    )
    processor = hf.Gemma3Processor(
        hf.Gemma3ImageProcessor(size=SQUARE), tokenizer, chat, image_seq_length=4
    )
    text = WINDOW | {"vocab_size": len(tokenizer), "head_dim": 8}
    config = hf.Gemma3Config(
        text_config=text, vision_config=SIGLIP, mm_tokens_per_image=4, **ids
    )
    return _save(folder, hf.Gemma3ForConditionalGeneration(config), processor)


def aya(folder: Path) -> Path:
    """Write an Aya Vision: SigLIP's tower before a Command R, and an image in tiles
    that tokens count.
    """
    end = "<|END_OF_TURN_TOKEN|>"
    marks = [
        "<image>",
        "<|START_OF_IMG|>",
        "<|END_OF_IMG|>",
        "<|IMG_PATCH|>",
        "TILE",
        "TILE_GLOBAL",
        end,
    ]
    tokenizer = _tokenizer(folder, marks, end)
    images = hf.GotOcr2ImageProcessor(size=SQUARE, min_patches=1, max_patches=4)
    sizes = {"patch_size": 8, "img_size": 32, "downsample_factor": 2}
    chat = _chat("<|USER_TOKEN|>", "<image>", end, "<|CHATBOT_TOKEN|>")
    processor = hf.AyaVisionProcessor(images, tokenizer, chat_template=chat, **sizes)
    text = WINDOW | {"model_type": "cohere2", "vocab_size": len(tokenizer)}
    more = {
        "image_token_index": tokenizer.convert_tokens_to_ids("<|IMG_PATCH|>"),
        "downsample_factor": 2,
    }
    config = hf.AyaVisionConfig(text_config=text, vision_config=SIGLIP, **more)
    return _save(folder, hf.AyaVisionForConditionalGeneration(config), processor)


def internvl(folder: Path) -> Path:
    """Write an InternVL 3: its own tower before a Qwen2, and an image in tiles that
    nothing names.
    """
    names = {
        "start_image_token": "<img>",
        "end_image_token": "</img>",
        "context_image_token": "<IMG_CONTEXT>",
    }
    marks = names | {
        "video_token": "<video>",
        "start": "<|im_start|>",
        "end": "<|im_end|>",
    }
    tokenizer = _tokenizer(folder, marks, "<|im_end|>")
    parts = (
        hf.GotOcr2ImageProcessor(size=SQUARE, min_patches=1, max_patches=4),
        tokenizer,
    )
    chat = _chat(
        "<|im_start|>user\n",
        "<IMG_CONTEXT>\n",
        "<|im_end|>\n",
        "<|im_start|>assistant\n",
    )
    parts += (hf.InternVLVideoProcessor(size=SQUARE),)
    processor = hf.InternVLProcessor(*parts, image_seq_length=4, chat_template=chat)
    vision = tiny.TOWER | {"image_size": [32, 32], "patch_size": [8, 8]}
    text = TEXT | {"model_type": "qwen2", "vocab_size": len(tokenizer)}
    more = {
        "image_token_id": tokenizer.convert_tokens_to_ids("<IMG_CONTEXT>"),
        "image_seq_length": 4,
    }
    config = hf.InternVLConfig(text_config=text, vision_config=vision, **more)
    return _save(folder, hf.InternVLForConditionalGeneration(config), processor)


def smolvlm(folder: Path) -> Path:
    """Write a SmolVLM2: an image in tiles of rows and columns and as a whole, before a
    Llama.
    """
    processing_smolvlm.num2words = (
        processing_smolvlm.num2words or str
    )  # for videos alone, but asked for
    end = "<end_of_utterance>"
    tokenizer = _tokenizer(
        folder,
        ["<image>", "<fake_token_around_image>", "<global-img>", "<video>", end],
        end,
    )
    sizes = {"size": {"longest_edge": 64}, "max_image_size": {"longest_edge": 32}}
    parts = (
        hf.SmolVLMImageProcessor(**sizes),
        tokenizer,
        hf.SmolVLMVideoProcessor(**sizes),
    )
    chat = _chat("User:", "<image>", f"{end}\n", "Assistant:")
    text = TEXT | {"model_type": "llama", "vocab_size": len(tokenizer)}
    more = {
        "image_token_id": tokenizer.convert_tokens_to_ids("<image>"),
        "scale_factor": 2,
    }
    model = hf.SmolVLMForConditionalGeneration(
        hf.SmolVLMConfig(text_config=text, vision_config=VISION, **more)
    )
    return _save(
        folder, model, hf.SmolVLMProcessor(*parts, image_seq_len=4, chat_template=chat)
    )


def pixtral(folder: Path) -> Path:
    """Write a Pixtral: LLaVA's class with a tower that takes an image in its own shape,
    before a Mistral.
    """
    tokenizer = _tokenizer(folder, ["[IMG]", "[IMG_BREAK]", "[IMG_END]"])
    images = hf.PixtralImageProcessor(
        size={"longest_edge": 32}, patch_size={"height": 8, "width": 8}
    )
    chat = _chat("<bos>[INST]", "[IMG]", "[/INST]", "")
    text = TEXT | {"model_type": "mistral", "vocab_size": len(tokenizer)}
    more = {"vision_feature_layer": -1, "vision_feature_select_strategy": "full"}
    more |= {"image_token_index": tokenizer.convert_tokens_to_ids("[IMG]")}
    config = hf.LlavaConfig(
        text_config=text, vision_config=VISION | {"model_type": "pixtral"}, **more
    )
    processor = hf.PixtralProcessor(images, tokenizer, patch_size=8, chat_template=chat)
    return _save(folder, hf.LlavaForConditionalGeneration(config), processor)


def pangea(folder: Path) -> Path:
    """Write a LLaVA-NeXT as Pangea has it: CLIP's tower, an image in tiles and as a
    whole; no size of patches.
    """
    tokenizer = _tokenizer(folder, ["<image>", "<|im_end|>"], "<|im_end|>")
    grid = {"image_grid_pinpoints": [[32, 64], [64, 32], [64, 64]]}
    images = hf.LlavaNextImageProcessor(
        size={"shortest_edge": 32}, crop_size=SQUARE, **grid
    )
    text = TEXT | {"model_type": "qwen2", "vocab_size": len(tokenizer)}
    vision = VISION | {"model_type": "clip_vision_model", "projection_dim": 24}
    grid |= {"image_token_index": tokenizer.convert_tokens_to_ids("<image>")}
    config = hf.LlavaNextConfig(text_config=text, vision_config=vision, **grid)
    return _save(
        folder,
        hf.LlavaNextForConditionalGeneration(config),
        hf.LlavaNextProcessor(images, tokenizer),
    )


def mllama(folder: Path) -> Path:
    """Write a Llama 3.2 Vision: the text looks across at an image's tiles, which have
    no place among its tokens.
    """
    tokenizer = _tokenizer(folder, ["<|image|>", "<|eot_id|>"], "<|eot_id|>")
    images = hf.MllamaImageProcessor(size=SQUARE, max_image_tiles=4)
    chat = _chat("<bos>user\n\n", "<|image|>", "<|eot_id|>", "assistant\n\n")
    vision = {
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_global_layers": 1,
        "attention_heads": 4,
        "patch_size": 8,
    }
    vision |= {
        "image_size": 32,
        "intermediate_size": 48,
        "vision_output_dim": 64,
        "intermediate_layers_indices": [0],
    }
    text = TEXT | {"vocab_size": len(tokenizer), "cross_attention_layers": [1]}
    mark = tokenizer.convert_tokens_to_ids("<|image|>")
    config = hf.MllamaConfig(
        vision_config=vision, text_config=text, image_token_index=mark
    )
    processor = hf.MllamaProcessor(images, tokenizer, chat_template=chat)
    return _save(folder, hf.MllamaForConditionalGeneration(config), processor)


def llama4(folder: Path) -> Path:
    """Write a Llama 4: an image in tiles, layers that are mixtures of experts,
    attention within pieces of the text.
    """
    marks = [
        "image",
        "patch",
        "image_start",
        "image_end",
        "tile_x_separator",
        "tile_y_separator",
        "eot",
    ]
    tokenizer = _tokenizer(folder, [f"<|{mark}|>" for mark in marks], "<|eot|>")
    images = hf.Llama4ImageProcessor(size=SQUARE, max_patches=4)
    chat = _chat("<bos>user\n\n", "<|image|>", "<|eot|>", "assistant\n\n")
    processor = hf.Llama4Processor(images, tokenizer, patch_size=8, chat_template=chat)
    text = TEXT | {
        "vocab_size": len(tokenizer),
        "head_dim": 8,
        "intermediate_size_mlp": 48,
        "num_local_experts": 4,
    }
    text |= {"attention_chunk_size": 32, "no_rope_layers": [1, 0]}
    vision = VISION | {
        "vision_output_dim": 32,
        "projector_input_dim": 32,
        "projector_output_dim": 32,
    }
    vision |= {"intermediate_size": 128}  # the adapter takes what four patches hold
    mark = tokenizer.convert_tokens_to_ids("<|patch|>")
    config = hf.Llama4Config(
        vision_config=vision, text_config=text, image_token_index=mark
    )
    return _save(folder, hf.Llama4ForConditionalGeneration(config), processor)


def _chat(start: str, image: str, end: str, answer: str) -> str:
    """Return a short chat template: what begins a turn, stands for an image, ends a
    turn and begins the answer.
    """
    part = (
        f"{{% if part['type'] == 'image' %}}{image}{{% else %}}{{{{ part['text']"
        " }}{% endif %}"
    )
    turn = f"{start}{{% for part in message['content'] %}}{part}{{% endfor %}}{end}"
    return (
        f"{{% for message in messages %}}{turn}{{% endfor %}}{{% if"
        f" add_generation_prompt %}}{answer}{{% endif %}}"
    )


def qwen_tokenizer(folder: Path) -> tuple:
    """Return a tokenizer with the marks of Qwen's models, and the ids of those that
    their configurations name.
    """
    tokenizer = _tokenizer(
        folder, ["<|im_start|>", "<|im_end|>", *QWEN_MARKS.values()], end="<|im_end|>"
    )
    return tokenizer, {
        f"{role}_token_id": tokenizer.convert_tokens_to_ids(mark)
        for role, mark in QWEN_MARKS.items()
    }


def _tokenizer(folder: Path, marks: list[str] | dict[str, str], end: str = "<eos>"):
    """Return Gemma's tiny tokenizer without an end behind each text; `marks`: further
    tokens, by name or without.
    """
    tiny.gemma_tokenizer(folder)
    file = folder / "tokenizer.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"post_processor": None}))
    return hf.PreTrainedTokenizerFast(
        tokenizer_file=str(file),
        pad_token="<pad>",
        bos_token="<bos>",
        eos_token=end,
        unk_token="<unk>",
        extra_special_tokens=(
            marks
            if isinstance(marks, dict)
            else {f"mark{n}": mark for n, mark in enumerate(marks)}
        ),
    )


def _save(folder: Path, model, processor) -> Path:
    tiny.random(model).save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder
