"""Links to the issue forms of the repository, where the book names one."""

import re

# [text](form:labels.yml?language=Swahili)
LINK = re.compile(r"\[([^\]]*)\]\(form:([\w.-]+)((?:\?[\w%&=.-]*)?)\)")
# A place in a page of prose for `where_to_send`.
PLACE = "<!-- where to send labels -->"
WHERE = "label-sets"  # the page that says what to do without an address


def with_address(text: str, repository: str) -> str:
    """Return Markdown whose links to forms open an issue of a repository; `repository`:
    its address, "" where it is not known, and they lead to the page that says what to
    do.

    >>> text = "[send it](form:labels.yml?language=Swahili)"
    >>> with_address(text, "https://github.com/ana/atlas/")
    '[send it](https://github.com/ana/atlas/issues/new?template=labels.yml&language=Swahili)'
    >>> with_address(text, "")
    '[send it](label-sets)'
    """

    def address(link: re.Match) -> str:
        words, name, filled_in = link.groups()
        if not repository:
            return f"[{words}]({WHERE})"
        query = f"template={name}{filled_in.replace('?', '&')}"
        return f"[{words}]({repository.rstrip('/')}/issues/new?{query})"

    return LINK.sub(address, text).replace(PLACE, where_to_send(repository))


def where_to_send(repository: str) -> str:
    """Return where a filled sheet goes, as Markdown.

    >>> where_to_send("https://github.com/ana/atlas")[:77]
    'Send it with the [issue form](https://github.com/ana/atlas/issues/new?templat'
    """
    if repository:
        address = f"{repository.rstrip('/')}/issues/new?template=labels.yml"
        return f"Send it with the [issue form]({address}), which takes the CSV file."
    return (
        "This copy of the book names no public repository. Send the CSV file to whoever"
        " gave you the book, or, where its repository is public, with the issue form"
        " “Labels that a speaker has judged” there. Whoever publishes the book sets the"
        " repository’s address, and all pages then link to the form."
    )
