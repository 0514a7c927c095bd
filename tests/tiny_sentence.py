"""Tiny models in sentence-transformers' form: a Qwen3-VL-Embedding, and a text model
with its CLIP.
"""

from pathlib import Path

import torch
import transformers as tf

from tiny_huggingface import (
    TOWER,
    VISION,
    bert_vocabulary,
    clip_pictures,
    random,
    write_json,
)
from tiny_imagetext import qwen3_parts


def qwen3_vl_embedding(folder: Path) -> Path:
    """Write the checkpoint: a Qwen3-VL without head, the last token's state of length
    1, a chat around each input.
    """
    config, processor = qwen3_parts(folder, "Qwen3VL")
    random(tf.Qwen3VLModel(config)).save_pretrained(folder)
    processor.save_pretrained(folder)
    _modules(
        folder, {"": "Transformer", "1_Pooling": "Pooling", "2_Normalize": "Normalize"}
    )
    out = {"method": "forward", "method_output_name": "last_hidden_state"}
    kinds = dict.fromkeys(("text", "image", "video"), out) | {
        "message": out | {"format": "structured"}
    }
    settings = {
        "transformer_task": "feature-extraction",
        "modality_config": kinds,
        "unpad_inputs": False,
    }
    settings |= {"module_output_name": "token_embeddings"}
    settings |= {
        "processing_kwargs": {"chat_template": {"add_generation_prompt": True}}
    }
    write_json(folder / "sentence_bert_config.json", settings)
    pooling = {
        "embedding_dimension": 32,
        "pooling_mode": "lasttoken",
        "include_prompt": True,
    }
    write_json(folder / "1_Pooling" / "config.json", pooling)
    said = {
        "prompts": {"default": "Represent the user's input."},
        "default_prompt_name": "default",
    }
    write_json(
        folder / "config_sentence_transformers.json",
        said | {"model_type": "SentenceTransformer"},
    )
    (folder / "2_Normalize").mkdir()
    return folder


def multilingual_clip(folder: Path) -> Path:
    """Write a text model as sentence-transformers/clip-ViT-B-32-multilingual-v1, and
    its CLIP in "image".
    """
    sizes = {"vocab_size": bert_vocabulary(folder), "max_position_embeddings": 64}
    config = tf.DistilBertConfig(dim=32, hidden_dim=32, n_layers=2, n_heads=2, **sizes)
    random(tf.AutoModel.from_config(config)).save_pretrained(folder)
    _modules(folder, {"": "Transformer", "1_Pooling": "Pooling", "2_Dense": "Dense"})
    write_json(
        folder / "sentence_bert_config.json",
        {"max_seq_length": 48, "do_lower_case": False},
    )
    write_json(
        folder / "1_Pooling" / "config.json",
        {"word_embedding_dimension": 32, "pooling_mode_mean_tokens": True},
    )
    identity = {"activation_function": "torch.nn.modules.linear.Identity"}
    write_json(
        folder / "2_Dense" / "config.json",
        identity | {"in_features": 32, "out_features": 24, "bias": False},
    )
    torch.save(
        {"linear.weight": torch.randn(24, 32) / 4},
        folder / "2_Dense" / "pytorch_model.bin",
    )
    place, pieces = (
        folder / "image" / "0_CLIPModel",
        ["!", "a", "a</w>", "<|startoftext|>", "<|endoftext|>"],
    )
    text = TOWER | {
        "vocab_size": 5,
        "bos_token_id": 3,
        "eos_token_id": 4,
        "pad_token_id": 0,
    }
    config = tf.CLIPConfig(text_config=text, vision_config=VISION, projection_dim=24)
    random(tf.CLIPModel(config)).save_pretrained(place)
    tf.CLIPTokenizer(
        vocab={piece: row for row, piece in enumerate(pieces)}, merges=[]
    ).save_pretrained(place)
    clip_pictures(place, image_processor_type="CLIPImageProcessor")
    _modules(folder / "image", {"0_CLIPModel": "CLIPModel"})
    return folder


def _modules(folder: Path, kinds: dict[str, str]) -> None:
    rows = enumerate(kinds.items())
    named = [
        {"idx": row, "path": path, "type": f"sentence_transformers.models.{kind}"}
        for row, (path, kind) in rows
    ]
    write_json(
        folder / "modules.json", [one | {"name": str(one["idx"])} for one in named]
    )
