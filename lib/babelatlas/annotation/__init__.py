"""Sheets that people fill in."""
