"""The numbers of Kashani Motlagh et al. (2024), on CoMMuTE: the tables' identities and bounds, computed again."""

from babelatlas.scorecard import Definition

DEFINITIONS: tuple[Definition, ...] = ()
