"""The cleaning rules: what is done to the words of a lexicon before one of them becomes a label.

A rule is a function of one word and its language that returns the word as it should be, or "" where it should go.
`RULES` names them in the order in which they are applied.
"""
