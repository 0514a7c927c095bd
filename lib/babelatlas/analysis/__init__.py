"""Outcomes to comparisons."""
