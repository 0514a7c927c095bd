"""How often Python looks for cycles of garbage in the processes of a run.

Imports, tables and pages make many objects and hardly any cycle: looking for them as
often as by default took an eighth of rendering the book and a twentieth of a chapter,
and freed no memory.
"""

import gc

# Objects between two looks at the youngest, and looks of one age before one at the next.
THRESHOLDS = (50_000, 10, 10)
# The same for another process, as a line of Python.
LINE = f"__import__('gc').set_threshold(*{THRESHOLDS})"


def look_seldom() -> None:
    """Let this process look for cycles of garbage seldom."""
    gc.set_threshold(*THRESHOLDS)
