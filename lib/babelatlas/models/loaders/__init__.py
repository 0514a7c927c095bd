"""One loader for each kind of checkpoint."""
