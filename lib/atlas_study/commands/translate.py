"""The commands that translate by a model: `babelatlas translate texts`, `babelatlas
translate prompts`.
"""

from pathlib import Path

import click

from atlas_study.commands.outputs import check_ending, check_not_read
from atlas_study.commands.results import COUNT, option

MODEL = option(
    "--model",
    "facebook/nllb-200-distilled-1.3B",
    "On the hub, perhaps with @ and a commit; or a folder.",
)
BEAMS = option("--beams", 1, "1 is greedy search.", type=COUNT)
BATCH_SIZE = option(
    "--batch-size", 16, "Texts that are translated at once.", type=COUNT
)
DEVICE = option("--device", "auto", "auto, cpu or cuda.")


@click.group()
def translate() -> None:
    """Translate captions, statements or prompts, by NLLB or M2M-100.

    Example: babelatlas translate texts captions.csv --into si --output si.csv
    """


@translate.command()
@click.argument("file")
@click.option("--into", required=True, help="The language to translate into.")
@click.option(
    "--output", required=True, help="The CSV file to write, and to go on with."
)
@option("--column", "text", "The column of FILE that is translated.")
@option("--language", "en", "Of the texts, where FILE has no column lang.")
@option(
    "--sample",
    0,
    "Translate so many, drawn at random; 0 for all.",
    type=click.IntRange(0),
)
@MODEL
@BEAMS
@BATCH_SIZE
@DEVICE
def texts(
    file, into, output, column, language, sample, model, device, **settings
) -> None:
    """Translate a table of texts from English, or into English.

    FILE is CSV, TSV, Parquet or JSON. The output has the columns text, english and lang,
    as `babelatlas adapt` takes them, and the other columns of FILE. Stopped, it goes on
    where it was when it is called again.

    Example: babelatlas translate texts blip.json --column caption --sample 100000 --into
    si --output data/captions/si.csv
    """
    from babelatlas.models import machine_translation

    check_ending(output, [".csv"])
    check_not_read(output, [file])
    table = machine_translation.read_table(file, column, language)
    if 0 < sample < len(table):
        table = table.sample(sample, random_state=0)
    loaded = machine_translation.load(model, device)
    translated = machine_translation.translate_table(
        loaded, table, into, output, **settings
    )
    print(f"{output}: {len(translated):,} of {len(table):,} texts.")


@translate.command()
@click.argument("languages", nargs=-1, required=True, metavar="LANGUAGE...")
@click.option("--output", required=True, help="The Parquet file to write.")
@option("--templates", "openai-80", "A set of English prompts, or a file, one a line.")
@option("--name", text="What results call the prompts; left out, the model and number.")
@MODEL
@BEAMS
@BATCH_SIZE
@DEVICE
def prompts(languages, output, templates, name, model, device, **settings) -> None:
    """Translate prompt templates, whatever a model does to their braces.

    Languages that the model does not know are left to the fallback prompts of a run.
    Called again with more languages, it translates these.

    Example: babelatlas translate prompts de sw --output mine/templates.parquet
    """
    from babelatlas.base import languages as language_table
    from babelatlas.lexicon import prompts as prompt_sets
    from babelatlas.models import machine_translation

    check_ending(output, [".parquet"])
    check_not_read(output, [templates])
    english = prompt_sets.read_templates(templates)
    langs = [language_table.canonical(lang) for lang in languages]
    short_name = Path(model.partition("@")[0]).name
    name = name or f"{short_name}-{len(english)}"
    loaded = machine_translation.load(model, device)
    table = machine_translation.translate_templates(
        loaded, english, langs, output, name, **settings
    )
    print(f"{output}: {table['lang'].nunique()} languages.")
