"""A tiny Qwen3-VL-Embedding with random weights, in the form of its repository: sentence-transformers' modules."""

import json
from pathlib import Path

from tiny_huggingface import CORPUS, random

TEMPLATE = """{%- for message in messages -%}
<|im_start|>{{ message.role }}
{% if message.content is string %}{{ message.content }}{% else %}{% for part in message.content -%}
{%- if part.type == 'image' %}<|vision_start|><|image_pad|><|vision_end|>
{%- elif 'text' in part %}{{ part.text }}{% endif %}
{%- endfor %}{% endif %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
MODULES = ("Transformer", "Pooling", "Normalize")
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>"]
SPECIAL += ["<|video_pad|>"]


def qwen3_vl_embedding(folder: Path) -> Path:
    """Write the checkpoint: a Qwen3-VL without head, the last token's state of length 1, a chat around each input."""
    from transformers import Qwen3VLConfig, Qwen3VLModel

    ids = {token: number for number, token in enumerate(SPECIAL)}
    text = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
    text |= {"num_key_value_heads": 2, "head_dim": 8, "vocab_size": _tokenizer(folder), "max_position_embeddings": 512}
    text |= {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 1, 1]}}
    vision = {"hidden_size": 32, "intermediate_size": 48, "depth": 2, "num_heads": 4, "out_hidden_size": 32}
    vision |= {"patch_size": 16, "num_position_embeddings": 16, "deepstack_visual_indexes": [0]}
    marks = {f"{name}_token_id": ids[f"<|{name.replace('image', 'image_pad').replace('video', 'video_pad')}|>"]
             for name in ("image", "video", "vision_start", "vision_end")}  # fmt: skip
    model = random(Qwen3VLModel(Qwen3VLConfig(text_config=text, vision_config=vision, **marks)))
    model.save_pretrained(folder)
    picture = {"image_mean": [0.5] * 3, "image_std": [0.5] * 3, "patch_size": 16, "merge_size": 2}
    picture |= {"temporal_patch_size": 2, "size": {"shortest_edge": 1024, "longest_edge": 4096}}
    (folder / "preprocessor_config.json").write_text(
        json.dumps(picture | {"image_processor_type": "Qwen2VLImageProcessor", "processor_class": "Qwen3VLProcessor"})
    )
    (folder / "video_preprocessor_config.json").write_text(
        json.dumps(picture | {"video_processor_type": "Qwen3VLVideoProcessor", "processor_class": "Qwen3VLProcessor"})
    )
    (folder / "chat_template.jinja").write_text(TEMPLATE)
    places = ["", "1_Pooling", "2_Normalize"]
    modules = [
        {"idx": number, "name": str(number), "path": path, "type": f"sentence_transformers.models.{name}"}
        for number, (name, path) in enumerate(zip(MODULES, places, strict=True))
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    out = {"method": "forward", "method_output_name": "last_hidden_state"}
    kinds = dict.fromkeys(("text", "image", "video"), out) | {"message": out | {"format": "structured"}}
    settings = {"transformer_task": "feature-extraction", "modality_config": kinds}
    settings |= {"module_output_name": "token_embeddings", "unpad_inputs": False}
    settings |= {"processing_kwargs": {"chat_template": {"add_generation_prompt": True}}}
    (folder / "sentence_bert_config.json").write_text(json.dumps(settings))
    (folder / "1_Pooling").mkdir()
    pooling = {"embedding_dimension": 32, "pooling_mode": "lasttoken", "include_prompt": True}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    (folder / "2_Normalize").mkdir()
    prompts = {"default": "Represent the user's input."}
    said = {"prompts": prompts, "default_prompt_name": "default", "similarity_fn_name": "cosine"}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(said | {"model_type": "SentenceTransformer"}))
    return folder


def _tokenizer(folder: Path) -> int:
    """Write the files of a tokenizer of Qwen's kind, bytes and merges; return the number of ids."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    folder.mkdir(parents=True, exist_ok=True)
    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=SPECIAL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    inner.train_from_iterator(CORPUS, trainer)
    inner.save(str(folder / "tokenizer.json"))
    settings = {"tokenizer_class": "Qwen2Tokenizer", "pad_token": "<|endoftext|>", "eos_token": "<|im_end|>"}
    settings |= {"model_max_length": 512, "padding_side": "right", "add_prefix_space": False}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return inner.get_vocab_size()
