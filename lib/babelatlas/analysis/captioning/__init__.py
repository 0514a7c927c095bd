"""Captions: what people wrote, how good they find them, and what scores say of models."""
