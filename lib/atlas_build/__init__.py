"""What makes the files that ship with the study: for who updates its data."""
