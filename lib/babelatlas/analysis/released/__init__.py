"""What the released results of real models say: one module a question, and the readers of the results."""
