# ruff: noqa: F401
"""One function per figure: a table in, Axes out; `figures.forest(...)` and the others
stand in one file a kind.
"""

from babelatlas.report.figures.bars import stacked_shares
from babelatlas.report.figures.charts import Axis, chart, chart_points, model_link
from babelatlas.report.figures.curves import at_least, by_classes
from babelatlas.report.figures.forests import (
    forest,
    group_means,
    groups_of_models,
    ranks,
)
from babelatlas.report.figures.heatmaps import (
    language_heatmap,
    overlap_heatmap,
    two_triangles,
)
from babelatlas.report.figures.intervals import (
    class_counts,
    means_with_intervals,
    profile,
    strips,
)
from babelatlas.report.figures.look import (
    COLOURS,
    LINES,
    MARKERS,
    SEQUENTIAL,
    look_of,
    percent_axis,
    show,
    style,
    with_data,
)
from babelatlas.report.figures.maps import (
    STEPS,
    accuracy_map,
    accuracy_steps,
    map_of_states,
    map_points,
    step_looks,
    world_map,
)
from babelatlas.report.figures.pictures import contact_sheet
from babelatlas.report.figures.scatter import (
    correlation_panels,
    cost_fronts,
    two_ways,
)
