"""open_clip's cleaning of texts, quick where it changes nothing but spaces.

Cleaning takes longer than tokenising, in Python alone, so that threads do not share it:
it would limit how many texts a GPU is given. It is ftfy's repair of wrongly decoded
texts, HTML's characters, and spaces. Most texts pass the repair unchanged, which a few
quick questions tell. Loads open_clip and ftfy only when called.
"""

import html
from collections.abc import Callable
from unicodedata import is_normalized


def quick(clean: Callable[[str], str]) -> Callable[[str], str]:
    """Return what gives the same texts as open_clip's cleaning `clean`, faster where
    that is the one called "whitespace", and `clean` itself where it is another.
    """
    import ftfy
    from ftfy.badness import is_bad
    from open_clip.tokenizer import get_clean_fn

    if clean is not get_clean_fn("whitespace"):
        return clean
    stable: set[str] = set()  # characters that are never changed one by one

    def is_stable(character: str) -> bool:
        # An ampersand may begin a character of HTML; lines are repaired one by one.
        alone = html.unescape(ftfy.fix_text(character))
        return alone == character and character not in "&\n"

    def cleaned(text: str) -> str:
        characters = set(text)
        if not characters <= stable:
            stable.update(filter(is_stable, characters - stable))
            if not characters <= stable:
                return clean(text)
        # What else ftfy does: it composes characters, and decodes anew what is bad.
        is_composed = is_normalized("NFC", text)
        if is_composed and (text.isascii() or not is_bad(text)):
            return " ".join(text.split())
        return clean(text)

    return cleaned
