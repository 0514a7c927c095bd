"""The numbers of Geigle et al. (2024) on training, computed again: Tables 1, 4, 6, 7, Figures 5 to 7, Appendix C."""

from babelatlas.scorecard import Definition

DEFINITIONS: tuple[Definition, ...] = ()
