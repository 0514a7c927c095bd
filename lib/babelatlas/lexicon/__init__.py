"""Words: lexicons to senses, senses to labels, labels to prompts."""
