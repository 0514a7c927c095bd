"""Results and label sets in the form of other tools: data-set folders, Croissant, Every Eval Ever."""
