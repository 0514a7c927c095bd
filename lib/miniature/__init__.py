"""Drawings, scenes and tiny towers that are trained on them: a world whose truth is
known.
"""
