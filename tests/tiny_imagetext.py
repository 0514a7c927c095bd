"""Tiny image-text-to-text models with random weights, made on the spot in the on-disk formats of transformers."""

import json
from pathlib import Path

import transformers as hf
from tokenizers import processors
from transformers.models.smolvlm import processing_smolvlm

import tiny_huggingface as tiny

TEXT = tiny.TOWER | {"num_key_value_heads": 2, "max_position_embeddings": 256, "pad_token_id": 0}
VISION = tiny.TOWER | {"image_size": 32, "patch_size": 8}
LAYERS = ["sliding_attention", "full_attention"]
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


def qwen3(folder: Path) -> Path:
    """Write a Qwen3-VL: as Qwen2-VL, with features of several of the tower's layers; its layers of text are dense."""
    return _qwen3(folder, "Qwen3VL", {})


def qwen3_moe(folder: Path) -> Path:
    """Write a Qwen3-VL whose layers of text are mixtures of experts."""
    return _qwen3(folder, "Qwen3VLMoe", {"moe_intermediate_size": 24, "num_experts": 4, "num_experts_per_tok": 2})


def _qwen3(folder: Path, kind: str, text: dict) -> Path:
    config, processor = qwen3_parts(folder, kind, text)
    return _save(folder, getattr(hf, f"{kind}ForConditionalGeneration")(config), processor)


def qwen3_parts(folder: Path, kind: str = "Qwen3VL", text: dict | None = None) -> tuple:
    """Return the configuration and the processor of a Qwen3-VL; `text` adds to the settings of its text model."""
    tokenizer, marks = qwen_tokenizer(folder)
    sizes = {"patch_size": 16, "merge_size": 2, "temporal_patch_size": 2}
    images = hf.Qwen2VLImageProcessor(size={"shortest_edge": 1024, "longest_edge": 4096}, **sizes)
    processor = hf.Qwen3VLProcessor(images, tokenizer, hf.Qwen3VLVideoProcessor(**sizes), chat_template=QWEN_CHAT)
    text = (text or {}) | TEXT | {"head_dim": 8, "vocab_size": len(tokenizer)}
    text |= {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 1, 1]}}
    vision = {"hidden_size": 32, "intermediate_size": 48, "depth": 2, "num_heads": 4, "out_hidden_size": 32}
    vision |= {"patch_size": 16, "num_position_embeddings": 16, "deepstack_visual_indexes": [0]}
    return getattr(hf, f"{kind}Config")(text_config=text, vision_config=vision, **marks), processor


def gemma3(folder: Path) -> Path:
    """Write a Gemma 3: an image's tokens see one another, layers in a window and beyond, an end of turn of its own."""
    names = {"boi_token": "<start_of_image>", "eoi_token": "<end_of_image>", "image_token": "<image_soft_token>"}
    tokenizer = _tokenizer(folder, names | {"turn": "<end_of_turn>"})
    ids = {name: tokenizer.convert_tokens_to_ids(mark) for name, mark in names.items()}
    images = hf.Gemma3ImageProcessor(size={"height": 32, "width": 32})
    chat = _chat("<bos><start_of_turn>user\n", "<start_of_image>", "<end_of_turn>\n", "<start_of_turn>model\n")
    processor = hf.Gemma3Processor(images, tokenizer, chat, image_seq_length=4)
    text = TEXT | {"vocab_size": len(tokenizer), "head_dim": 8, "sliding_window": 16}
    config = hf.Gemma3Config(
        text_config=text | {"layer_types": LAYERS}, mm_tokens_per_image=4,
        vision_config=VISION | {"model_type": "siglip_vision_model", "vision_use_head": False},
        boi_token_index=ids["boi_token"], eoi_token_index=ids["eoi_token"], image_token_index=ids["image_token"],
    )  # fmt: skip
    return _save(folder, hf.Gemma3ForConditionalGeneration(config), processor)


def aya(folder: Path) -> Path:
    """Write an Aya Vision: SigLIP's tower before a Command R, and an image in tiles that tokens count."""
    marks = ["<image>", "<|START_OF_IMG|>", "<|END_OF_IMG|>", "<|IMG_PATCH|>", "TILE", "TILE_GLOBAL"]
    tokenizer = _tokenizer(folder, [*marks, "<|END_OF_TURN_TOKEN|>"], end="<|END_OF_TURN_TOKEN|>")
    images = hf.GotOcr2ImageProcessor(size={"height": 32, "width": 32}, min_patches=1, max_patches=4)
    sizes = {"patch_size": 8, "img_size": 32, "downsample_factor": 2}
    chat = _chat("<|USER_TOKEN|>", "<image>", "<|END_OF_TURN_TOKEN|>", "<|CHATBOT_TOKEN|>")
    processor = hf.AyaVisionProcessor(images, tokenizer, chat_template=chat, **sizes)
    config = hf.AyaVisionConfig(
        text_config=TEXT | {"model_type": "cohere2", "layer_types": LAYERS, "vocab_size": len(tokenizer), "sliding_window": 16},
        vision_config=VISION | {"model_type": "siglip_vision_model", "vision_use_head": False},
        image_token_index=tokenizer.convert_tokens_to_ids("<|IMG_PATCH|>"), downsample_factor=2,
    )  # fmt: skip
    return _save(folder, hf.AyaVisionForConditionalGeneration(config), processor)


def internvl(folder: Path) -> Path:
    """Write an InternVL 3: its own tower before a Qwen2, and an image in tiles that nothing names."""
    names = {"start_image_token": "<img>", "end_image_token": "</img>", "context_image_token": "<IMG_CONTEXT>"}
    marks = names | {"video_token": "<video>", "start": "<|im_start|>", "end": "<|im_end|>"}
    tokenizer = _tokenizer(folder, marks, end="<|im_end|>")
    images = hf.GotOcr2ImageProcessor(size={"height": 32, "width": 32}, min_patches=1, max_patches=4)
    videos = hf.InternVLVideoProcessor(size={"height": 32, "width": 32})
    chat = _chat("<|im_start|>user\n", "<IMG_CONTEXT>\n", "<|im_end|>\n", "<|im_start|>assistant\n")
    processor = hf.InternVLProcessor(images, tokenizer, videos, image_seq_length=4, chat_template=chat)
    vision = tiny.TOWER | {"image_size": [32, 32], "patch_size": [8, 8]}
    config = hf.InternVLConfig(
        text_config=TEXT | {"model_type": "qwen2", "vocab_size": len(tokenizer)}, vision_config=vision,
        image_token_id=tokenizer.convert_tokens_to_ids("<IMG_CONTEXT>"), image_seq_length=4,
    )  # fmt: skip
    return _save(folder, hf.InternVLForConditionalGeneration(config), processor)


def smolvlm(folder: Path) -> Path:
    """Write a SmolVLM2: an image in tiles of rows and columns and as a whole, before a Llama.

    Its processor asks for the package num2words, for a video's frames alone: here another function is in its place.
    """
    processing_smolvlm.num2words = processing_smolvlm.num2words or str
    marks = ["<image>", "<fake_token_around_image>", "<global-img>", "<video>", "<end_of_utterance>"]
    tokenizer = _tokenizer(folder, marks, end="<end_of_utterance>")
    images = hf.SmolVLMImageProcessor(size={"longest_edge": 64}, max_image_size={"longest_edge": 32})
    videos = hf.SmolVLMVideoProcessor(size={"longest_edge": 32}, max_image_size={"longest_edge": 32})
    chat = _chat("User:", "<image>", "<end_of_utterance>\n", "Assistant:")
    processor = hf.SmolVLMProcessor(images, tokenizer, videos, image_seq_len=4, chat_template=chat)
    text = TEXT | {"model_type": "llama", "vocab_size": len(tokenizer)}
    mark = tokenizer.convert_tokens_to_ids("<image>")
    config = hf.SmolVLMConfig(text_config=text, vision_config=VISION, scale_factor=2, image_token_id=mark)
    return _save(folder, hf.SmolVLMForConditionalGeneration(config), processor)


def pixtral(folder: Path) -> Path:
    """Write a Pixtral: LLaVA's class with a tower that takes an image in its own shape, before a Mistral."""
    tokenizer = _tokenizer(folder, ["[IMG]", "[IMG_BREAK]", "[IMG_END]"])
    images = hf.PixtralImageProcessor(size={"longest_edge": 32}, patch_size={"height": 8, "width": 8})
    chat = _chat("<bos>[INST]", "[IMG]", "[/INST]", "")
    processor = hf.PixtralProcessor(images, tokenizer, patch_size=8, chat_template=chat)
    config = hf.LlavaConfig(
        text_config=TEXT | {"model_type": "mistral", "vocab_size": len(tokenizer)},
        vision_config=VISION | {"model_type": "pixtral"}, vision_feature_layer=-1, vision_feature_select_strategy="full",
        image_token_index=tokenizer.convert_tokens_to_ids("[IMG]"),
    )  # fmt: skip
    return _save(folder, hf.LlavaForConditionalGeneration(config), processor)


def pangea(folder: Path) -> Path:
    """Write a LLaVA-NeXT as Pangea has it: CLIP's tower, an image in tiles and as a whole, before a Qwen2."""
    tokenizer = _tokenizer(folder, ["<image>", "<|im_end|>"], end="<|im_end|>")
    grid = {"image_grid_pinpoints": [[32, 64], [64, 32], [64, 64]]}
    images = hf.LlavaNextImageProcessor(size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32}, **grid)
    settings = {"patch_size": 8, "vision_feature_select_strategy": "default", "num_additional_image_tokens": 1}
    processor = hf.LlavaNextProcessor(images, tokenizer, **settings)
    config = hf.LlavaNextConfig(
        text_config=TEXT | {"model_type": "qwen2", "vocab_size": len(tokenizer)},
        vision_config=VISION | {"model_type": "clip_vision_model", "projection_dim": 24},
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"), **grid,
    )  # fmt: skip
    return _save(folder, hf.LlavaNextForConditionalGeneration(config), processor)


def mllama(folder: Path) -> Path:
    """Write a Llama 3.2 Vision: the text looks across at an image's tiles, which have no place among its tokens."""
    tokenizer = _tokenizer(folder, ["<|image|>", "<|eot_id|>"], end="<|eot_id|>")
    images = hf.MllamaImageProcessor(size={"height": 32, "width": 32}, max_image_tiles=4)
    chat = _chat("<bos>user\n\n", "<|image|>", "<|eot_id|>", "assistant\n\n")
    vision = {"hidden_size": 32, "num_hidden_layers": 2, "num_global_layers": 1, "attention_heads": 4, "patch_size": 8}
    vision |= {"image_size": 32, "intermediate_size": 48, "vision_output_dim": 64, "intermediate_layers_indices": [0]}
    mark = tokenizer.convert_tokens_to_ids("<|image|>")
    text = TEXT | {"vocab_size": mark, "cross_attention_layers": [1]}  # the image's token has no score
    config = hf.MllamaConfig(vision_config=vision, text_config=text, image_token_index=mark)
    model = hf.MllamaForConditionalGeneration(config)
    return _save(folder, model, hf.MllamaProcessor(images, tokenizer, chat_template=chat))


def llama4(folder: Path) -> Path:
    """Write a Llama 4: an image in tiles, layers that are mixtures of experts, attention within pieces of the text."""
    places = ["<|image|>", "<|patch|>", "<|image_start|>", "<|image_end|>", "<|tile_x_separator|>"]
    tokenizer = _tokenizer(folder, [*places, "<|tile_y_separator|>", "<|eot|>"], end="<|eot|>")
    images = hf.Llama4ImageProcessor(size={"height": 32, "width": 32}, max_patches=4)
    chat = _chat("<bos>user\n\n", "<|image|>", "<|eot|>", "assistant\n\n")
    processor = hf.Llama4Processor(images, tokenizer, patch_size=8, chat_template=chat)
    text = TEXT | {"vocab_size": len(tokenizer), "head_dim": 8, "intermediate_size_mlp": 48, "num_local_experts": 4}
    vision = VISION | {"vision_output_dim": 32, "projector_input_dim": 32, "projector_output_dim": 32}
    vision |= {"intermediate_size": 128}  # the adapter takes what four patches hold
    mark = tokenizer.convert_tokens_to_ids("<|patch|>")
    text |= {"attention_chunk_size": 32, "no_rope_layers": [1, 0]}
    config = hf.Llama4Config(vision_config=vision, text_config=text, image_token_index=mark)
    return _save(folder, hf.Llama4ForConditionalGeneration(config), processor)


def _chat(start: str, image: str, end: str, answer: str) -> str:
    """Return a short chat template: what begins a turn, stands for an image, ends a turn and begins the answer."""
    return (
        f"{{% for message in messages %}}{start}{{% for part in message['content'] %}}{{% if part['type'] == 'image' %}}"
        f"{image}{{% else %}}{{{{ part['text'] }}}}{{% endif %}}{{% endfor %}}{end}{{% endfor %}}"
        f"{{% if add_generation_prompt %}}{answer}{{% endif %}}"
    )


def qwen_tokenizer(folder: Path) -> tuple:
    """Return a tokenizer with the marks of Qwen's models, and the ids of those that their configurations name."""
    tokenizer = _tokenizer(folder, ["<|im_start|>", "<|im_end|>", *QWEN_MARKS.values()], end="<|im_end|>")
    return tokenizer, {f"{role}_token_id": tokenizer.convert_tokens_to_ids(mark) for role, mark in QWEN_MARKS.items()}


def _tokenizer(folder: Path, marks: list[str] | dict[str, str], end: str = "<eos>"):
    """Return Gemma's tiny tokenizer without an end behind each text; `marks`: further tokens, by name or without."""
    tiny.gemma_tokenizer(folder)
    file = folder / "tokenizer.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"post_processor": None}))
    return hf.PreTrainedTokenizerFast(
        tokenizer_file=str(file), pad_token="<pad>", bos_token="<bos>", eos_token=end, unk_token="<unk>",
        extra_special_tokens=marks if isinstance(marks, dict) else {f"mark{n}": mark for n, mark in enumerate(marks)},
    )  # fmt: skip


def _save(folder: Path, model, processor) -> Path:
    tiny.random(model).save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder
