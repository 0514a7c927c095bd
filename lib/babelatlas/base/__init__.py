"""The ground: tables, languages, downloads, published numbers."""
