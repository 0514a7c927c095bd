"""Training: the tiny dual encoders of the miniature, and adapters that teach a model a
further language.
"""
