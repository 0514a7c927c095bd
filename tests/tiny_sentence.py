"""Tiny models in sentence-transformers' form: a Qwen3-VL-Embedding, and a text model with its CLIP."""

from pathlib import Path

import torch
import transformers as tf

from tiny_huggingface import TOWER, VISION, bert_vocabulary, clip_pictures, random, write_json
from tiny_imagetext import QWEN_CHAT, qwen_tokenizer


def qwen3_vl_embedding(folder: Path) -> Path:
    """Write the checkpoint: a Qwen3-VL without head, the last token's state of length 1, a chat around each input."""
    tokenizer, marks = qwen_tokenizer(folder)
    text = TOWER | {"num_key_value_heads": 2, "head_dim": 8, "vocab_size": len(tokenizer)}
    text |= {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 1, 1]}}
    vision = {"hidden_size": 32, "intermediate_size": 48, "depth": 2, "num_heads": 4, "out_hidden_size": 32}
    vision |= {"patch_size": 16, "num_position_embeddings": 16, "deepstack_visual_indexes": [0]}
    random(tf.Qwen3VLModel(tf.Qwen3VLConfig(text_config=text, vision_config=vision, **marks))).save_pretrained(folder)
    sizes = {"patch_size": 16, "merge_size": 2, "temporal_patch_size": 2}
    images = tf.Qwen2VLImageProcessor(size={"shortest_edge": 1024, "longest_edge": 4096}, **sizes)
    videos = tf.Qwen3VLVideoProcessor(**sizes)
    tf.Qwen3VLProcessor(images, tokenizer, videos, chat_template=QWEN_CHAT).save_pretrained(folder)
    _modules(folder, {"": "Transformer", "1_Pooling": "Pooling", "2_Normalize": "Normalize"})
    out = {"method": "forward", "method_output_name": "last_hidden_state"}
    kinds = dict.fromkeys(("text", "image", "video"), out) | {"message": out | {"format": "structured"}}
    settings = {"transformer_task": "feature-extraction", "modality_config": kinds, "unpad_inputs": False}
    settings |= {"module_output_name": "token_embeddings"}
    settings |= {"processing_kwargs": {"chat_template": {"add_generation_prompt": True}}}
    write_json(folder / "sentence_bert_config.json", settings)
    pooling = {"embedding_dimension": 32, "pooling_mode": "lasttoken", "include_prompt": True}
    write_json(folder / "1_Pooling" / "config.json", pooling)
    said = {"prompts": {"default": "Represent the user's input."}, "default_prompt_name": "default"}
    write_json(folder / "config_sentence_transformers.json", said | {"model_type": "SentenceTransformer"})
    (folder / "2_Normalize").mkdir()
    return folder


def multilingual_clip(folder: Path) -> Path:
    """Write a text model as sentence-transformers/clip-ViT-B-32-multilingual-v1, and its CLIP in "image"."""
    sizes = {"vocab_size": bert_vocabulary(folder), "max_position_embeddings": 64}
    config = tf.DistilBertConfig(dim=32, hidden_dim=32, n_layers=2, n_heads=2, **sizes)
    random(tf.AutoModel.from_config(config)).save_pretrained(folder)
    _modules(folder, {"": "Transformer", "1_Pooling": "Pooling", "2_Dense": "Dense"})
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": 48, "do_lower_case": False})
    write_json(folder / "1_Pooling" / "config.json", {"word_embedding_dimension": 32, "pooling_mode_mean_tokens": True})
    identity = {"activation_function": "torch.nn.modules.linear.Identity"}
    write_json(folder / "2_Dense" / "config.json", identity | {"in_features": 32, "out_features": 24, "bias": False})
    torch.save({"linear.weight": torch.randn(24, 32) / 4}, folder / "2_Dense" / "pytorch_model.bin")
    place, pieces = folder / "image" / "0_CLIPModel", ["!", "a", "a</w>", "<|startoftext|>", "<|endoftext|>"]
    text = TOWER | {"vocab_size": 5, "bos_token_id": 3, "eos_token_id": 4, "pad_token_id": 0}
    config = tf.CLIPConfig(text_config=text, vision_config=VISION, projection_dim=24)
    random(tf.CLIPModel(config)).save_pretrained(place)
    tf.CLIPTokenizer(vocab={piece: row for row, piece in enumerate(pieces)}, merges=[]).save_pretrained(place)
    clip_pictures(place, image_processor_type="CLIPImageProcessor")
    _modules(folder / "image", {"0_CLIPModel": "CLIPModel"})
    return folder


def _modules(folder: Path, kinds: dict[str, str]) -> None:
    rows = enumerate(kinds.items())
    named = [{"idx": row, "path": path, "type": f"sentence_transformers.models.{kind}"} for row, (path, kind) in rows]
    write_json(folder / "modules.json", [one | {"name": str(one["idx"])} for one in named])
