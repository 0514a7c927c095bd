"""Tiny translation models with random weights, in folders as the real ones are."""

from pathlib import Path

import torch
import transformers as tf

LETTERS = ["<s>", "<pad>", "</s>", "<unk>", "▁", *"abcdefghijklmnopqrstuvwxyz{}<>/X."]
CODES = ["eng_Latn", "deu_Latn", "swh_Latn", "zho_Hans"]


def nllb(folder: Path) -> Path:
    """Write an NLLB: M2M-100's network, and NLLB's tokenizer with four languages."""
    vocabulary = {piece: place for place, piece in enumerate(LETTERS)}
    tokenizer = tf.NllbTokenizer(
        vocab=vocabulary, merges=[], extra_special_tokens=CODES
    )
    sizes = {
        "encoder_layers": 1,
        "decoder_layers": 1,
        "encoder_attention_heads": 2,
        "decoder_attention_heads": 2,
        "encoder_ffn_dim": 16,
        "decoder_ffn_dim": 16,
        "max_position_embeddings": 256,
        "d_model": 16,
    }
    # Large first weights, so that the output depends on the input.
    config = tf.M2M100Config(vocab_size=len(tokenizer), init_std=1.0, **sizes)
    torch.manual_seed(0)
    tf.M2M100ForConditionalGeneration(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
