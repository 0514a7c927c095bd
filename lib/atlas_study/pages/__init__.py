"""The pages of the book that no notebook shows: languages, models, the explorer, and
the form of every page.
"""
