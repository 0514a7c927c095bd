"""Several pictures on one sheet, each with a caption."""

import functools
from pathlib import Path

from matplotlib import get_data_path
from PIL import Image, ImageDraw, ImageFont


@functools.cache
def _font(points: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(
        str(Path(get_data_path(), "fonts", "ttf", "DejaVuSans.ttf")), points
    )


def contact_sheet(
    pictures: list[Image.Image], captions: list[str], columns: int = 12
) -> Image.Image:
    """Return one image with all pictures in rows of `columns`, each twice as large,
    with a caption below it.
    """
    side = max(picture.width for picture in pictures) * 2
    cell, line = side + 12, 22
    sheet = Image.new(
        "RGB", (columns * cell, -(-len(pictures) // columns) * (cell + line)), "white"
    )
    pen, font = ImageDraw.Draw(sheet), _font(15)
    for index, (picture, caption) in enumerate(zip(pictures, captions, strict=True)):
        left, top = index % columns * cell + 6, index // columns * (cell + line) + 6
        sheet.paste(picture.resize((side, side), Image.Resampling.LANCZOS), (left, top))
        while font.getlength(caption) > cell - 2 and len(caption) > 2:
            caption = caption[:-2] + "…"
        pen.text(
            (left + side / 2 - font.getlength(caption) / 2, top + side + 2),
            caption,
            fill="black",
            font=font,
        )
    return sheet
