"""The numbers of Liu et al. (2021), MaRVL: Tables 1 to 5, Figure 9 and the statistics of captions, computed again."""

from babelatlas.scorecard import Definition

DEFINITIONS: tuple[Definition, ...] = ()
