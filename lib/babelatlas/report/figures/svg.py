"""A figure as a small SVG file with two palettes: `file.svg` is light, `file.svg#dark` is dark."""

import io
import re

from matplotlib.collections import Collection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

MANY = 600  # points; from there on they are one picture within the file
LARGE = 200_000  # bytes; where a file would be larger, all but its text becomes pictures
DARK = "#121212"  # the ground that the dark palette is made for
# The colours of `look.COLOURS`, brighter, with a contrast of at least 3 : 1 on DARK.
BRIGHTER = {
    "#0072b2": "#3d9be9",
    "#d55e00": "#ff8a3c",
    "#009e73": "#2cc79a",
    "#cc79a7": "#e8a3c9",
    "#56b4e9": "#9adcff",
    "#e69f00": "#ffc145",
}
GREY = re.compile(r"#([0-9a-f]{2})\1\1\b")
# What a page does not need: the prologue, metadata, comments and digits that nobody sees.
NEEDLESS = re.compile(r"<\?xml.*?\?>|<!DOCTYPE.*?>|<metadata>.*?</metadata>|<!--.*?-->", re.DOTALL)
# Letters are drawn by references to their outlines, most of a file: the same with fewer characters.
SHORTER = [
    (re.compile(r"xlink:href="), "href="),
    (re.compile(r'(["#])DejaVuSans-'), r"\1g"),
    (re.compile(r'(<use href="#g[\w-]+") transform="translate\((-?\d+)(?:\.\d+)? 0\)"/>'), r'\1 x="\2"/>'),
    (re.compile(r"\n([LQCMz]) ?(?=[-\d\n])"), r"\1"),
    (re.compile(r'( d="M) '), r"\1"),
    # The outline of a marker: what draws it has the colour, and only there a palette reaches it.
    (re.compile(r'(<path id="m\w+"[^>]*style="[^"]*?)stroke: #[0-9a-f]{6};? ?'), r"\1"),
]
GLYPH = re.compile(r'(<path id="g[\w-]+" d=")([^"]*)" transform="scale\(0\.015625\)"')
DIGITS = re.compile(r"(?<![\w.])(-?[1-9]\d*\.\d)\d+")


def svg(figure: Figure, dpi: int = 150) -> str:
    """Return a figure as the text of an SVG file, in which clouds of many points are pictures of `dpi`."""
    for axis in figure.axes:
        for artist in axis.get_children():
            points = artist.get_offsets() if isinstance(artist, Collection) else ()
            points = artist.get_xdata() if isinstance(artist, Line2D) and artist.get_marker() else points
            artist.set_rasterized(artist.get_rasterized() or len(points) > MANY)
    text = _saved(figure, dpi)
    if len(text) > LARGE:
        for axis in figure.axes:
            for artist in [*axis.collections, *axis.lines, *axis.patches]:
                artist.set_rasterized(True)
        text = _saved(figure, dpi)
    return text


def _saved(figure: Figure, dpi: int) -> str:
    """Return the text of an SVG file of a figure, light in bytes, with its rules for the dark."""
    made = io.StringIO()
    figure.savefig(made, format="svg", dpi=dpi, metadata={"Date": None, "Creator": None})
    text = DIGITS.sub(r"\1", NEEDLESS.sub("", made.getvalue()))
    text = re.sub(r"\s*\n\s*", "\n", text).strip()
    for longer, shorter in SHORTER:
        text = longer.sub(shorter, text)
    text = GLYPH.sub(lambda found: f'{found[1]}{_relative(found[2])}" transform="scale(.125)"', text)
    used = set(re.findall(r"#([\w-]+)", text))
    text = re.sub(r' id="([\w.-]+)"', lambda found: found[0] if found[1] in used else "", text)
    for place, name in enumerate(sorted(set(re.findall(r'id="([mp][0-9a-f]{10})"', text)))):
        text = text.replace(name, f"{name[0]}{place}")
    text = re.sub(r'(?<=style=")[^"]*', lambda found: found[0].replace(": ", ":").replace("; ", ";"), text)
    text = text.replace(">\n<", "><")
    head, rest = text.split(">", 1)
    return f'{head} id="dark"><style>{"".join(rules(text))}</style>{rest}'


def _relative(path: str) -> str:
    """Return an outline in steps from point to point, in eighths of its units, whole: half the characters.

    >>> _relative("M794 531L1825 531Q2034 4250 1301 3770z")
    'M99 66l129 0q26 465-65 405z'
    """
    made, here = "", (0, 0)
    for command, numbers in re.findall(r"([MLQCz])([^MLQCz]*)", path):
        whole = [round(float(number) / 8) for number in numbers.split()]
        steps = whole if command == "M" else [number - here[place % 2] for place, number in enumerate(whole)]
        made += (command if command == "M" else command.lower()) + " ".join(map(str, steps)).replace(" -", "-")
        here = tuple(whole[-2:]) or here
    return made


def rules(text: str) -> list[str]:
    """Return the rules of style that recolour an SVG file where its root is the target of its address.

    Greys are turned over, so that ink is light; a white ground goes. Black and white text stays as it is: it stands on
    the colour of a cell.

    >>> rules('<path style="fill:#0072b2;stroke:#262626"/>')[0]
    ':target [style*="fill:#0072b2"],:target [fill="#0072b2"]{fill:#3d9be9!important}'
    """
    found = sorted(set(re.findall(r"#[0-9a-f]{6}\b", text)))
    made = []
    for colour in found:
        new, grey = BRIGHTER.get(colour), GREY.fullmatch(colour)
        if grey and colour not in ("#000000", "#ffffff"):
            value = int(grey[1], 16)
            turned = round(0xE6 - (0xE6 - 0x20) * max(0, value - 0x26) / (0xFF - 0x26))
            new = f"#{turned:02x}{turned:02x}{turned:02x}"
        if new:
            made.append(f':target [style*="fill:{colour}"],:target [fill="{colour}"]{{fill:{new}!important}}')
            made.append(f':target [style*="stroke:{colour}"]{{stroke:{new}!important}}')
    whites = ",:target ".join(f'{tag}[style*="fill:#ffffff"]' for tag in ("path", "use"))
    made.append(f":target {whites}{{fill:{DARK}!important}}")
    made.append(':target path[style="fill:#ffffff"]{fill:none!important}')
    made.append(f':target [style*="stroke:#ffffff"]{{stroke:{DARK}!important}}')
    made.append(':target [style*="stroke:#000000"]{stroke:#d9d9d9!important}')
    return made


def size_of(text: str) -> tuple[int, int]:
    """Return width and height of an SVG file in CSS pixels."""
    width, height = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', text).groups()
    return round(float(width) * 96 / 72), round(float(height) * 96 / 72)
