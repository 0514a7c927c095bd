"""The look of the study's figures, as settings of matplotlib.

`WHITE_GRID` is seaborn's theme "whitegrid" in the context "notebook", written out: to
ask seaborn for it would import scipy.stats with it, a second of nearly every chapter. A
test compares it with the theme.
"""

WHITE_GRID = {
    "axes.axisbelow": True,
    "axes.edgecolor": ".8",
    "axes.facecolor": "white",
    "axes.grid": True,
    "axes.labelcolor": ".15",
    "axes.labelsize": 12,
    "axes.linewidth": 1.25,
    "axes.spines.bottom": True,
    "axes.spines.left": True,
    "axes.titlesize": 12,
    "figure.facecolor": "white",
    "font.size": 12,
    "grid.color": ".8",
    "grid.linestyle": "-",
    "grid.linewidth": 1,
    "legend.fontsize": 11,
    "legend.title_fontsize": 12,
    "lines.linewidth": 1.5,
    "lines.markersize": 6,
    "lines.solid_capstyle": "round",
    "patch.edgecolor": "w",
    "patch.facecolor": "C0",
    "patch.force_edgecolor": True,
    "patch.linewidth": 1,
    "text.color": ".15",
    "xtick.bottom": False,
    "xtick.color": ".15",
    "xtick.direction": "out",
    "xtick.labelsize": 11,
    "xtick.major.size": 6,
    "xtick.major.width": 1.25,
    "xtick.minor.size": 4,
    "xtick.minor.width": 1,
    "xtick.top": False,
    "ytick.color": ".15",
    "ytick.direction": "out",
    "ytick.labelsize": 11,
    "ytick.left": False,
    "ytick.major.size": 6,
    "ytick.major.width": 1.25,
    "ytick.minor.size": 4,
    "ytick.minor.width": 1,
    "ytick.right": False,
}
# What the study has otherwise.
OWN = {
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.dpi": 100,
    "figure.figsize": (7.2, 4.2),
    "font.family": "DejaVu Sans",
    "legend.frameon": False,
    "savefig.bbox": "tight",
    "svg.fonttype": "path",
    "svg.hashsalt": "babelatlas",
}
