# The book: all executed notebooks and the prose, rendered; or one page by itself.

FOLDERS = [path for path in study.all_files() if not Path(path).suffix]


def sources_of_pages():
    "Return what each page is made from: its prose, or its notebook."
    prose = {path.stem: [path] for path in (HERE / "book").glob("*.md")}
    # The explorer also shows what chapters write for it.
    prose.get("explorer", []).extend(FOLDERS)
    return prose | {name: [page(name)] for name in study.all_pages()}


def first_page():
    "Return the page that is rendered by itself while the rest of the first book is made."
    name = study.first_page()
    is_first = not Path("_build/html/index.html").exists()
    return [f"_build/page/html/{name}.html"] if name and is_first else []


PAGES = sources_of_pages()
ASKED = re.findall(r"^_build/page/html/(.*)\.html$", "\n".join(sys.argv), re.MULTILINE)
if unknown := [name for name in ASKED if name not in PAGES]:
    sys.exit(f"There is no page {unknown[0]!r}: {near(unknown[0], PAGES)}")


rule book:
    "Collect the executed notebooks and the prose, and render the book."
    input:
        pages=[page(name) for name in study.all_pages()],
        folders=FOLDERS,
        prose=[
            from_here(path)
            for path in sorted((HERE / "book").rglob("*"))
            if path.is_file()
        ],
        contents=[HERE / name for name in ("_config.yml", "_toc.yml", "CITATION.cff")],
        code=[
            from_here(path)
            for path in notebooks.module_files("atlas_study.workflow.book")
        ],
    output:
        "_build/html/index.html",
    log:
        log_of("book"),
    params:
        failed=failures.without(),
        go_on=failures.command(workflow.configfiles[0]) if failures.without() else "make book",
    resources:
        gpu=0,
    shell:
        "{PYTHON:q} -m atlas_study.workflow.book {HERE:q} _build {input.pages:q} {input.folders:q} --log {log:q}"
        " --failed {params.failed:q} --go-on {params.go_on:q} --outputs {output:q}"


rule page:
    "Render one page by itself, in seconds."
    input:
        pages=lambda wildcards: PAGES[wildcards.page],
        contents=rules.book.input.contents,
        code=rules.book.input.code,
        style=[path for path in rules.book.input.prose if not path.endswith(".md")],
    output:
        "_build/page/html/{page}.html",
    log:
        log_of("page_{page}"),
    wildcard_constraints:
        page="[^/]+",
    resources:
        gpu=0,
    priority: EARLY
    shell:
        "{PYTHON:q} -m atlas_study.workflow.book {HERE:q} _build/page {input.pages:q} --only {wildcards.page:q} --log {log:q}"
        " --outputs {output:q}"
