"""Failed steps of a run: which they are, why they failed, and a book from all that
there is.

Snakemake goes on with what does not need a failed step and then stops, before it has
rendered anything. The rest of the study can still be read: `without` names the pages of
failed steps to the next plan, which leaves out these and all that needs what they
write, and the book says what is missing.
"""

import json
import os
import re
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from atlas_study.workflow import collector, step_logs
from atlas_study.workflow import config as configs
from atlas_study.workflow.notebooks import STOPPED
from atlas_study.workflow.plan import TITLE_PAGE, run_name
from babelatlas.report.formatting import counted, escape, literal

# The variable by which Snakemake's main process, and its jobs, know which pages a run
# goes on without.
WITHOUT = "BABELATLAS_WITHOUT"
PAGE = "failed-steps"
BOOK = "_build/html/index.html"
# Where readers are told that steps of their run failed: the book's title page, and the
# page on the run.
WARNED = (TITLE_PAGE, "41_this_run")
NO_TITLE_PAGE = (
    "# Babel Atlas\n\nThe step that makes the home page failed; the contents list the"
    " other pages.\n"
)
# Options after which no book is expected.
PARTIAL = {
    "-n",
    "--dry-run",
    "--dryrun",
    "-U",
    "--until",
    "--omit-from",
    "-h",
    "--help",
    "--unlock",
    "--lint",
}


class Failure(NamedTuple):
    """A step that failed: the name of its page, and why."""

    page: str
    reason: str


def without() -> tuple[str, ...]:
    """Return the pages of the steps that this run goes on without."""
    return tuple(filter(None, os.environ.get(WITHOUT, "").split(",")))


def is_dry(words: Sequence[str]) -> bool:
    """Return whether words of Snakemake's command line ask for a dry run.

    >>> is_dry(["snakemake", "-np"]), is_dry(["snakemake", "--cores", "2"])
    (True, False)
    """
    return any(re.fullmatch(r"-\w*n\w*|--dry-?run", word) for word in words)


def expects_book(words: Sequence[str]) -> bool:
    """Return whether the words of a call of Snakemake ask for the whole book, and for
    no part or list of it.
    """
    return not PARTIAL.intersection(words) and not any(
        word.endswith(".html") for word in words
    )


def logs_since(folder: str | os.PathLike, began: float) -> dict[str, list[str]]:
    """Return the logs of a run's steps that were begun at a time or later: page ->
    lines.

    `folder`: of the run; `began`: seconds since 1970.
    """
    files = sorted(Path(folder, "logs").glob("*.txt"))
    recent = [file for file in files if file.stat().st_mtime >= began]
    return {file.stem: step_logs.lines_of(file) for file in recent}


def failed(
    folder: str | os.PathLike, pages: Sequence[str], began: float = 0.0
) -> list[Failure]:
    """Return which of a run's steps have failed since a time, and why, in the order of
    `pages`.

    None where the user stopped the run: its log then ends in `STOPPED`. A log with
    neither an end nor a reason is that of a process that was killed. Where a job of
    Slurm has several steps and one fails, those after it never begin, and Snakemake
    writes an empty log for each: they have not failed, unless nothing else has.
    """
    logs = logs_since(folder, began)
    if any(lines[-1:] == [STOPPED] for lines in logs.values()):
        return []
    steps = [
        page for page in pages if page in logs and not step_logs.is_done(logs[page])
    ]
    begun = [page for page in steps if logs[page]]
    return [Failure(page, step_logs.reason(logs[page])) for page in begun or steps]


def command(config: str | os.PathLike) -> str:
    """Return the command that goes on with a run: it repeats what failed, and what
    needs it.
    """
    profile = os.environ.get("PROFILE", "")
    path = os.path.relpath(config)
    words = ["make", "book", f"CONFIG={config if path.startswith('..') else path}"]
    words += [f"PROFILE={profile}"] if profile else []
    return shlex.join(words)


def page(failures: Sequence[Failure], go_on: str, logs: str) -> str:
    """Return the page on failed steps in Markdown: each with its reason, where its log
    is, and how to go on.
    """
    lines = [
        f"# {counted(len(failures), 'step')} of this run failed",
        "",
        (
            "This book is made from the other steps. What failed, and what would read"
            " it, is missing here: a chapter may stand on fewer models, data sets or"
            " languages than its configuration names, or be absent."
        ),
        "",
        (
            "After the cause is removed, this command repeats what failed and what"
            " needs it, and nothing else:"
        ),
        "",
        f"```text\n{go_on}\n```",
        "",
        f"The log of each is in `{logs}`, below its name.",
        "",
    ]
    lines += [
        f"- {literal(failure.page)}: {escape(failure.reason)}" for failure in failures
    ]
    return "\n".join(lines) + "\n"


def warning(failures: Sequence[Failure]) -> str:
    """Return the box, in Markdown, by which a page says that steps of its run failed."""
    steps = counted(len(failures), "step")
    return (
        f":::{{warning}}\n{steps} of this run failed, so that results are missing here:"
        f" [which, and why]({PAGE}).\n:::\n"
    )


def with_warnings(
    pages: Sequence[Path],
    folder: Path,
    failures: Sequence[Failure],
    go_on: str,
    logs: str,
) -> list[Path]:
    """Return the pages of a book with one on its run's failed steps, and the first ones
    with a warning.

    What is new or changed is written to `folder`. Where the home page itself failed, a
    sentence takes its place. `go_on` is the command that repeats what failed, `logs`
    the folder of the run's logs.
    """
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    for path in pages:
        if path.stem in WARNED:
            changed = folder / path.name
            changed.write_text(
                with_warning(path.read_text(encoding="utf-8"), failures),
                encoding="utf-8",
            )
            found.append(changed)
        else:
            found.append(path)

    written = folder / f"{PAGE}.md"
    written.write_text(page(failures, go_on, logs), encoding="utf-8")
    found.append(written)
    if TITLE_PAGE not in [path.stem for path in pages]:
        index = folder / "index.md"
        index.write_text(f"{NO_TITLE_PAGE}\n{warning(failures)}", encoding="utf-8")
        found.append(index)
    return found


def with_warning(text: str, failures: Sequence[Failure]) -> str:
    """Return an executed notebook, JSON, with the warning below its title."""
    notebook = json.loads(text)
    title, _, rest = "".join(notebook["cells"][0]["source"]).partition("\n")
    notebook["cells"][0]["source"] = f"{title}\n\n{warning(failures)}\n{rest}"
    return json.dumps(notebook, ensure_ascii=False)


def run(words: list[str]) -> int:
    """Call Snakemake; where steps fail, go on until there is a book from the others;
    return the first exit status.

    `words`: those of Snakemake's command line. In the end the failed steps are printed,
    with the command that goes on.
    """
    collector.look_seldom()
    began, status = time.time(), _snakemake(words)
    if not status or not expects_book(words) or "--configfile" not in words:
        return status

    config = words[words.index("--configfile") + 1]
    folder = _folder(config)
    known: list[Failure] = []
    try:
        while newly_failed := _new(failed(folder, _steps(folder), began), known):
            known += newly_failed
            print(
                f"  {counted(len(known), 'step')} failed: the book is made from the"
                " others.",
                file=sys.stderr,
            )
            os.environ[WITHOUT] = ",".join(failure.page for failure in known)
            began = time.time()
            if not _snakemake(words):
                _tell(known, command(config))
                break
    finally:
        os.environ.pop(WITHOUT, None)
    return status


def _snakemake(words: list[str]) -> int:
    """Run Snakemake in this process, so that it ends with it; return its exit status."""
    from snakemake import cli
    from snakemake.exceptions import print_exception

    from atlas_study.workflow import progress

    progress.register()
    in_lines = [] if is_dry(words) or "--logger" in words else ["--logger", "lines"]
    try:
        parser, settings = cli.parse_args([*words, *in_lines])
        _without_default_limit(parser, settings)
        return 0 if cli.args_to_api(settings, parser) else 1
    except SystemExit as done:
        if isinstance(done.code, str):  # a sentence of the Snakefile on what is wrong
            print(done.code, file=sys.stderr)
            return 1
        return done.code or 0
    except Exception as error:  # as Snakemake's own command does
        print_exception(error)
        return 1


def _without_default_limit(parser, settings) -> None:
    """Take the limit of jobs a second out of Snakemake's settings, unless it was set.

    To keep the limit Snakemake looks again one second after each look, and after each
    job that ends it looks once more: with 80 jobs 80 times a second, at the files of
    all jobs, which takes a fifth of a processor.
    """
    from snakemake.settings.types import MaxJobsPerTimespan

    default = parser.get_default("max_jobs_per_timespan")
    limit = settings.max_jobs_per_timespan
    if vars(limit) == vars(MaxJobsPerTimespan.parse_choice(default)):
        settings.max_jobs_per_timespan = None


def _folder(config: str) -> Path:
    """Return the folder of a config's run."""
    values = configs.read(config)
    return Path("results", run_name(values["run"], values.get("limit")))


def _steps(folder: Path) -> list[str]:
    """Return the pages of a run's steps, which have its logs' names; rendering the book
    is one, `book`.
    """
    return sorted(file.stem for file in (folder / "logs").glob("*.txt"))


def _new(failures: Sequence[Failure], known: Sequence[Failure]) -> list[Failure]:
    """Return the failures of steps that are not among the known ones."""
    pages = {failure.page for failure in known}
    return [failure for failure in failures if failure.page not in pages]


def _tell(failures: Sequence[Failure], go_on: str) -> None:
    """Print what failed, why, and how to go on."""
    lines = [
        f"{counted(len(failures), 'step')} of this run failed; the book is made from"
        " the others:"
    ]
    lines += [f"  {failure.page}: {failure.reason}" for failure in failures]
    lines += [
        f"`{go_on}` goes on: it repeats what failed and what needs it.",
        f"The book: {Path(BOOK).resolve()}",
    ]
    print("\n".join(lines), file=sys.stderr)
