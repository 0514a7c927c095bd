"""What five papers report, recomputed: claims, definitions, errata; `python -m
papercheck` rebuilds what ships.
"""
