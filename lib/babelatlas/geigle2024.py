"""The numbers of Geigle et al. (2024), Babel-ImageNet, computed again: its tables, Figures 3 and 4, and its text."""

from babelatlas.scorecard import Definition

DEFINITIONS: tuple[Definition, ...] = ()
