"""Images, captions and ambiguous items."""
