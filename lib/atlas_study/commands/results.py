"""The commands that make data: adapted models, what ships, and results of others;
`babelatlas COMMAND`.

Each imports what it needs when it is called. `commands.main` has the others, and what
all have in common.
"""

import click

SEED, COUNT = click.IntRange(0, 2**32 - 1), click.IntRange(1)


def option(name: str, default="", text: str = "", **more):
    """Return an option that shows its default, where it has one."""
    return click.option(
        name,
        default=default,
        show_default=default not in ("", False),
        help=text,
        **more,
    )


@click.command()
@click.argument("model")
@click.argument("language")
@click.option(
    "--texts",
    required=True,
    help="A table (CSV, TSV, Parquet) with the columns text and english.",
)
@option("--output", "results/adapted", "The folder to put the new model in.")
@option("--checkpoint", text="The folder of the model; left out, the published one.")
@option("--remote-code", text="The repository whose code may run here.")
@option(
    "--objective",
    "mse",
    "mse, text-contrastive or simcse; after lora-, LoRA takes the bottlenecks' place.",
    type=click.Choice(
        [
            kind + loss
            for kind in ("", "lora-")
            for loss in ("mse", "text-contrastive", "simcse")
        ]
    ),
)
@option("--epochs", 15, "Passes over the captions.", type=COUNT)
@option("--batch-size", 192, "Captions in a step.", type=COUNT)
@option("--rate", 0.001, "The highest learning rate.")
@option(
    "--reduction",
    16,
    "How many times narrower an adapter is than its layer.",
    type=COUNT,
)
@option("--rank", 16, "The rank of LoRA's matrices.", type=COUNT)
@option("--alpha", 8.0, "LoRA's matrices are multiplied by alpha / rank.")
@option("--seed", 0, "Decides first weights, order and what is held out.", type=SEED)
@option("--device", "auto", "auto, cpu or cuda.")
def adapt(
    model, language, texts, output, checkpoint, remote_code, device, **settings
) -> None:
    """Teach a model a language from parallel captions.

    A tenth of the captions, drawn at random and at most 500, is held out: how often is
    the vector of each nearest to that of its own original, before and after? Stopped,
    the training goes on where it was when it is called again with the same settings;
    with others, a new model takes the place of the old.

    Example: babelatlas adapt openclip-xlmr-b32 si --texts data/captions-si.csv
    """
    from babelatlas.analysis import adapter_gains
    from babelatlas.base import languages
    from babelatlas.base.validation import validate
    from babelatlas.evaluation import embedding
    from babelatlas.models import loading, registry
    from babelatlas.models.training import adaptation

    lang = languages.canonical(language)
    recipe = validate(adaptation.Recipe, settings, "The recipe of an adaptation")
    base = registry.get_model(model).name
    name = registry.adapted_name(base, lang, recipe.objective, recipe.seed)
    folder = f"{output}/{name}"
    pairs = adaptation.check_parallel(adaptation.read_texts(texts, lang), lang)
    n_held = max(2, min(500, len(pairs) // 10))
    held = pairs.drop_duplicates("english").sample(frac=1, random_state=recipe.seed)
    held = held[:n_held]
    is_held = pairs["english"].isin(held["english"])
    rows = pairs[~is_held].reset_index(drop=True)
    print(
        f"{len(pairs):,} pairs of captions: {len(rows):,} to train on,"
        f" {is_held.sum():,} held out.",
        flush=True,
    )
    encoder = loading.load(
        registry.get_model(model), checkpoint, device, "float32", remote_code
    )
    cache = f"{output}/{model}-english"
    english, own = (
        embedding.embed_texts(encoder, part["english"].tolist(), cache, "en")
        for part in (rows, held)
    )
    before = embedding.embed_texts(encoder, held["text"].tolist(), lang=lang)
    captions = adaptation.Captions(rows, lang, english)
    adapted, row = adaptation.adapt(encoder, captions, folder, recipe, checkpoint)
    after = embedding.embed_texts(adapted, held["text"].tolist(), lang=lang)
    print(
        f"{folder}: {row['n_parameters']:,} weights, {row['steps']:,} steps,"
        f" {row['seconds']:.0f} s"
    )
    print(
        "Share of held-out captions that are nearest to their own original, with 95 %"
        " intervals:"
    )
    print(
        adapter_gains.caption_matching(before, after, own)
        .round(4)
        .to_string(na_rep="–")
    )


@click.command()
@click.argument("name", default="")
@option(
    "--folder",
    text="A copy of the files that it is made from; left out, in BABELATLAS_MIRROR.",
)
def ship(name: str, folder: str) -> None:
    """Make again what ships with the library, or list what can be.

    Example: babelatlas ship labels
    """
    from atlas_build import shipped

    print(shipped.rebuild(name, folder) if name else shipped.overview())


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--origin", required=True, help="Who computed the tables; leaderboards show it."
)
@option("--run", "demo", "Into which run, as in results/RUN.")
@option(
    "--model",
    text="The name of a model that the study does not know, for scores and logs.",
)
@click.option(
    "--check",
    is_flag=True,
    help="Write nothing: check, and print the ranks by language.",
)
def merge(
    files: tuple[str, ...], origin: str, run: str, model: str, check: bool
) -> None:
    """Take tables that another person computed into a run.

    FILE is a table of zeroshot, retrieval or scores, Parquet or CSV, or what mteb,
    CLIP_benchmark, lmms-eval or VLMEvalKit wrote of a data set with languages, such as
    MTVQA. Then `make book` makes the leaderboard anew.

    Example: babelatlas merge msiglip-b16_imagenet-1k.parquet --origin "Ana, My Lab"
    --run full
    """
    from atlas_build import merged

    print("\n".join(merged.merge(files, origin, f"results/{run}", model, check)))


@click.command()
@click.argument("table", type=click.Path())
@option("--output", "results/scratch/report", "The folder to write to.")
def report(table: str, output: str) -> None:
    """Write a retrieval table as COCO-SM's two reports.

    They are report.csv, with a row for each language and translator, and
    report_reduced.csv, with means over these.

    Example: babelatlas report msiglip-b16_coco-sm.parquet
    """
    from babelatlas.base import tables
    from papercheck import cocosm2023

    for path in cocosm2023.write_reports(tables.read(table, "retrieval"), output):
        print(path)
