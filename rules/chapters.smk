# Chapters: each reads the tables of the run that its notebook lists, draws, and answers.

# Of the page that a first run renders before all else, and of its chapter.
EARLY = 100
# Eleven chapters read what 41_this_run writes, and the longest of all begin before
# others: at the end none is left alone at work.
PRIORITY = {"41_this_run": 3, "10_languages": 2, "11_leaderboard": 1}
first = study.first_page()

for chapter in study.chapters:
    study.jobs[chapter] = study.chapter_jobs(chapter)
    written = study.written(chapter)
    name = "_".join([chapter, "{model}"] if chapter == MODEL_PAGE else [chapter])

    rule:
        name:
            f"chapter_{chapter}"
        input:
            *code(chapter),
            tables=study.reads(chapter),
        output:
            **{
                key: path if Path(path).suffix else directory(path)
                for key, path in written.items()
            },
            page=page(name),
        log:
            log_of(name),
        wildcard_constraints:
            **only(chapter),
        params:
            **told(chapter, stage=False, **study.places(chapter)),
        resources:
            gpu=0,
        priority: EARLY if chapter == first else PRIORITY.get(chapter, 0)
        shell:
            RUN_NOTEBOOK
