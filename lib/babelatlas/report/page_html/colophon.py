"""How to cite a page, and what changed on it."""

import html
import re

NUMBERED = re.compile(r"\b(?:[Cc]hapters?|[Nn]otebooks?) ((?:\d\d(?:, | and | to )?)+)")
FENCE = "``````"


def citation(name: str, title: str, version: str, year: str, address: str = "") -> str:
    """Return how to cite a page, in BibTeX; `title`: as Markdown; `address`: of the book, "" where it is not public.

    >>> print(citation("86_ranks", "How many models differ", "0.1.0", "2026"))
    @incollection{babelatlas-86-ranks,
      title = {How many models differ},
      booktitle = {Babel Atlas, version 0.1.0},
      author = {{The Babel Atlas authors}},
      year = {2026}
    }
    """
    facts = {
        "title": html.unescape(title),
        "booktitle": f"Babel Atlas, version {version}",
        "author": "{The Babel Atlas authors}",
        "year": year,
    }
    facts |= {"url": f"{address.rstrip('/')}/{name}.html"} if address else {}
    key = re.sub(r"[^a-z0-9]+", "-", name.lower())
    return f"@incollection{{babelatlas-{key},\n" + ",\n".join(f"  {k} = {{{v}}}" for k, v in facts.items()) + "\n}"


def changes(text: str) -> dict[str, list[str]]:
    """Return, of a changelog in Markdown, the numbers of chapters and notebooks -> the entries that name them.

    >>> changes("- New: chapter 86.\\n- Chapters 20 and 86 show\\n  families.\\n- Other.")
    {'86': ['New: chapter 86.', 'Chapters 20 and 86 show families.'], '20': ['Chapters 20 and 86 show families.']}
    """
    found: dict[str, list[str]] = {}
    for entry in re.findall(r"^- (.+(?:\n  .+)*)", text, re.MULTILINE):
        entry = " ".join(entry.split())
        numbers = [number for named in NUMBERED.finditer(entry) for number in re.findall(r"\d\d", named[1])]
        for number in dict.fromkeys(numbers):
            found.setdefault(number, []).append(entry)
    return found


def folded(cited: str, changed: list[str]) -> str:
    """Return the two as Markdown that opens at a click: how to cite, and the changes where there are any."""
    parts = [f"{FENCE}{{dropdown}} Cite this page\n```bibtex\n{cited}\n```\n{FENCE}"]
    if changed:
        lines = "\n".join(f"- {entry}" for entry in changed)
        parts.append(f"{FENCE}{{dropdown}} Changes of this page\n{lines}\n{FENCE}")
    return "\n\n".join(parts)
