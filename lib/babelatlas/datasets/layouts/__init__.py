"""Readers of single data sets in the layout in which they are published."""
