"""How the book and its pages are cited: `CITATION.cff`, which a fork fills in once, as
text, BibTeX and tags that Google Scholar reads.
"""

import html
import re
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from atlas_study.pages.page_form import FOLD
from babelatlas.base.errors import InputError
from babelatlas.base.validation import Entry, validate
from babelatlas.report.formatting import escape

FILE = "CITATION.cff"
PLACE = "<!-- how to cite this book -->"  # where a page of prose says it
DOI = "https://doi.org/"


def _text(value) -> str:
    """Return a value of YAML as text, "" for an empty one."""
    return "" if value is None else str(value).strip()


Text = Annotated[str, BeforeValidator(_text)]
Address = Annotated[Text, Field(pattern=r"^(https?://\S+)?$")]


class Author(Entry):
    """A person, or with `name` alone a group."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    name: Text = ""
    given: Annotated[Text, Field(alias="given-names")] = ""
    particle: Annotated[Text, Field(alias="name-particle")] = ""
    family: Annotated[Text, Field(alias="family-names")] = ""

    def parts(self) -> tuple[str, str]:
        """Return family name, with its particle, and given names."""
        return f"{self.particle} {self.family}".strip(), self.given

    def text(self) -> str:
        """Return the name as one says it, "" where none was filled in."""
        family, given = self.parts()
        return self.name or f"{given} {family}".strip()


class Citation(BaseModel):
    """What `CITATION.cff` says: fields that are empty or left out are ""."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    title: Annotated[Text, Field(min_length=1)]
    authors: Annotated[list[Author], Field(min_length=1)]
    version: Text = ""
    date: Annotated[Text, Field(alias="date-released")] = ""
    # Of the book, and of the repository.
    url: Address = ""
    repository: Annotated[Address, Field(alias="repository-code")] = ""
    doi: Annotated[Text, Field(pattern=r"^(10\.\d+/\S+)?$")] = ""

    @property
    def year(self) -> str:
        """The year of the release."""
        return self.date[:4]

    @property
    def address(self) -> str:
        """Where the book is found: its DOI, else its address, else its repository."""
        return f"{DOI}{self.doi}" if self.doi else self.url or self.repository

    def names(self) -> list[str]:
        """Return the authors' names that were filled in."""
        return [author.text() for author in self.authors if author.text()]


def read(folder: Path) -> Citation:
    """Return what the `CITATION.cff` of a study's folder says.

    Raises InputError where there is none, or where a field cannot be cited.
    """
    path = folder / FILE
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"The file {path} cannot be read ({error.strerror}): the book takes authors"
            " and addresses from it; restore it from the repository."
        ) from error
    except ValueError as error:  # no UTF-8
        raise InputError(f"The file {path} is not text in UTF-8: {error}.") from error
    except yaml.YAMLError as error:
        what = " ".join(str(error).split())
        raise InputError(
            f"The file {path} is not YAML ({what}): correct it there."
        ) from error
    if not isinstance(values, dict):
        raise InputError(f"The file {path} has no 'key: value' lines: add a title.")
    cited = validate(Citation, values, FILE)
    if not cited.names():
        raise InputError(f"{FILE} names no author: fill in authors.")
    return cited


def sentence(cited: Citation) -> str:
    """Return how to cite the book as Markdown, without what is not known.

    >>> cited = Citation.model_validate({"title": "Atlas", "authors": [{"name": "We"}]})
    >>> sentence(cited)
    'We. *Atlas*.'
    """
    *first, last = map(escape, cited.names())
    names = f"{', '.join(first)} and {last}" if first else last
    year = f" ({escape(cited.year)})" if cited.year else ""
    version = f", version {escape(cited.version)}" if cited.version else ""
    title = escape(cited.title)
    end = "" if title.endswith("&#63;") and not version else "."
    address = f" <{cited.address}>" if cited.address else ""
    return f"{names}{year}. *{title}*{version}{end}{address}"


def bibtex(cited: Citation) -> str:
    """Return the BibTeX entry of the book.

    >>> values = {"title": "R & D", "authors": [{"family-names": "B", "given-names": "A"}]}
    >>> print(bibtex(Citation.model_validate(values)))
    @misc{babelatlas,
      title = {R \\& D},
      author = {B, A}
    }
    """
    version = f"Version {cited.version}" if cited.version else ""
    facts = {"title": _in_bibtex(cited.title), "note": _in_bibtex(version)}
    return _entry("misc", "babelatlas", facts | _shared(cited), cited.address)


def of_page(cited: Citation, name: str, title: str) -> str:
    """Return how to cite a page, folded; `title`: as Markdown."""
    version = f", version {cited.version}" if cited.version else ""
    book = f"{cited.title.partition(':')[0]}{version}"
    facts = {
        "title": _in_bibtex(html.unescape(title)),
        "booktitle": _in_bibtex(book),
    }
    key = re.sub(r"[^a-z0-9]+", "-", name.lower())
    address = f"{cited.url.rstrip('/')}/{name}.html" if cited.url else ""
    entry = _entry("incollection", f"babelatlas-{key}", facts | _shared(cited), address)
    return FOLD.format("Cite this page", f"```bibtex\n{entry}\n```")


def section(cited: Citation) -> str:
    """Return the section that says how to cite the book, as Markdown."""
    return f"{sentence(cited)}\n\n```bibtex\n{bibtex(cited)}\n```"


def tags(cited: Citation, title: str, page: str) -> str:
    """Return the tags of a page's head by which Google Scholar knows it, as HTML.

    `title`: of the page, as text; `page`: the name of its file.
    """
    named = [("citation_title", title)]
    named += [("citation_author", name) for name in cited.names()]
    named += [
        ("citation_inbook_title", cited.title),
        ("citation_publication_date", cited.date.replace("-", "/")),
        ("citation_doi", cited.doi),
        ("citation_public_url", cited.url and f"{cited.url.rstrip('/')}/{page}"),
    ]
    return "".join(
        f'<meta name="{name}" content="{html.escape(value)}" />\n'
        for name, value in named
        if value
    )


def with_addresses(config: dict, cited: Citation) -> dict:
    """Return the settings of the book with the authors and addresses of the citation,
    which Sphinx shows in links and cards.
    """
    sphinx = config["sphinx"]
    options = sphinx["config"] | {"ogp_site_url": cited.url}
    return config | {
        "author": ", ".join(cited.names()),
        "html": config["html"] | {"baseurl": cited.url},
        "repository": {"url": cited.repository},
        "sphinx": sphinx | {"config": options},
    }


def _shared(cited: Citation) -> dict[str, str]:
    """Return the fields of BibTeX that the book and its pages share."""
    names = [_bibtex_name(author) for author in cited.authors if author.text()]
    return {
        "author": " and ".join(names),
        "year": _in_bibtex(cited.year),
        "doi": cited.doi,
    }


def _bibtex_name(author: Author) -> str:
    """Return a name as BibTeX sorts it; that of a group stays whole."""
    family, given = author.parts()
    if author.name or not (family and given):
        return f"{{{_in_bibtex(author.text())}}}"
    return _in_bibtex(f"{family}, {given}")


def _in_bibtex(text: str) -> str:
    """Return text in which no sign is one of LaTeX's."""
    return re.sub(r"([&%$#_{}])", r"\\\1", text.replace("\\", " "))


def _entry(kind: str, key: str, facts: dict[str, str], address: str) -> str:
    """Return an entry of BibTeX, without the fields that are empty."""
    fields = {**facts, "url": address}
    filled = [f"  {name} = {{{value}}}" for name, value in fields.items() if value]
    lines = ",\n".join(filled)
    return f"@{kind}{{{key},\n{lines}\n}}"
