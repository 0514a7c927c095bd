"""Weights to vectors and log-probabilities."""
