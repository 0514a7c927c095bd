"""Captions and captioning: home advantage, statistics of captions, comparisons side by side."""
