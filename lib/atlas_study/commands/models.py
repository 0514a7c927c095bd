"""The commands that list models, translators and captioners, and fetch them: `babelatlas
models`, `translators`, `captioners`, `fetch`.
"""

import click

CSV = click.option("--csv", is_flag=True, help="Print the rows as CSV.")


@click.command()
@click.argument("name", default="")
@CSV
def models(name: str, csv: bool) -> None:
    """List the models, or print all that is known of one.

    Example: babelatlas models msiglip-b16
    """
    from babelatlas.models import registry

    if csv:
        rows = registry.table()
        print(
            (
                rows[rows["name"] == registry.get_model(name).name] if name else rows
            ).to_csv(index=False),
            end="",
        )
    else:
        print(registry.details(name) if name else registry.overview())


@click.command()
@click.argument("name", default="")
def translators(name: str) -> None:
    """List the translators, or print all that is known of one.

    Example: babelatlas translators llava-1.5-7b
    """
    from babelatlas.models import translators

    for one in map(translators.get_translator, [name] if name else translators.names()):
        terms = ", to be accepted on the hub first" if one.gated else ""
        print(
            f"{one.name}: {one.source.repository} at {one.source.revision}, licence"
            f" {one.licence or '-'}{terms}"
        )
        for row in translators.sources(name) if name else ():
            print(f"  {row['field']}: {row['value']} ({row['source']})")


@click.command()
@click.argument("name", default="")
def captioners(name: str) -> None:
    """List the captioners, or print all that is known of one.

    Example: babelatlas captioners blip-base
    """
    from babelatlas.models import captioners

    names = [name] if name else list(captioners.listed())
    for entry in map(captioners.get_captioner, names):
        terms = ", to be accepted on the hub first" if entry.gated else ""
        written = ", ".join(entry.languages) or "as its prompt asks"
        print(
            f"{entry.name}: {entry.source.repository} at {entry.source.revision},"
            f" licence {entry.licence}{terms}; languages: {written}"
        )
        for row in captioners.sources(name) if name else ():
            print(f"  {row['field']}: {row['value']} ({row['source']})")


@click.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
def fetch(names: tuple[str, ...]) -> None:
    """Download models, translators, captioners or tuxpaint-stamps.

    Models come at their pinned revisions; files that are there are compared with the
    SHA-256 that the hub gives.

    Example: babelatlas fetch msiglip-b16
    """
    from babelatlas.datasets import registry as datasets
    from babelatlas.datasets import stamps
    from babelatlas.models import captioners, hub, registry, translators

    if "tuxpaint-stamps" in names:
        print(
            "tuxpaint-stamps:"
            f" {stamps.fetch(datasets.get_dataset('tuxpaint-stamps').places)}",
            flush=True,
        )
        names = tuple(name for name in names if name != "tuxpaint-stamps")
    for name in names:
        if name in translators.names():
            # It may be a captioner, too, from the same files.
            entry = translators.get_translator(name)
        elif name in captioners.listed():
            entry = captioners.get_captioner(name)
        else:
            entry = registry.get_model(name)
        for line in hub.fetch(entry):
            print(line, flush=True)
