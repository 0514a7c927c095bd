"""Model and data to outcomes per item."""
