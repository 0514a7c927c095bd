"""The study's own code: what its chapters, its pages, its workflow and its command need
beyond the library.
"""
