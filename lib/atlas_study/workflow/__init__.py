"""Config, notebooks and the book."""
