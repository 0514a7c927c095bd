"""The numbers of Thapliyal et al. (2022), Crossmodal-3600: Tables 1, 2, 4, 5 and 6 and the text, computed again.

Four models (BB+CC, BB, Bg, Lg) wrote captions in four languages. Table 4 compares them in pairs: people's judgement of
two captions side by side, and the difference in CIDEr with three sets of references. Table 5 has CIDEr itself, so that
two columns of Table 4 follow from it; Table 6 correlates the columns of Table 4. `assignment` finds which pair of
models a printed row of Table 4 has the numbers of; `corrected` is the table that all printed numbers agree with.
"""
# ruff: noqa: F401 (the names that others use)

from babelatlas.papers import definitions
from babelatlas.papers.thapliyal2022 import recomputed as _recomputed
from babelatlas.papers.thapliyal2022.inconsistencies import errata
from babelatlas.papers.thapliyal2022.judgements import correlations, report, superiority, tie_orders
from babelatlas.papers.thapliyal2022.recomputed import text_parameters
from babelatlas.papers.thapliyal2022.tables import (
    JUDGED,
    MODELS,
    SOURCE,
    assignment,
    captions,
    cider,
    comparisons,
    corrected,
    differences,
    met,
    ratings,
    released_captions,
    through_others,
)

DEFINITIONS = definitions.read(SOURCE, "thapliyal2022", vars(_recomputed))
