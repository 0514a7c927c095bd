"""Run one notebook with parameters: `python -m atlas_study.workflow.run_notebook
NOTEBOOK OUTPUT --parameters JSON`.

Papermill does the work. Added to it: parameters are checked, the output appears whole
or not at all, an error of the user's is told in one sentence, the page says with what
parameters it was made, and what is printed goes to a log.
"""

import argparse
import json
import logging
import os
import platform
import re
import shutil
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TextIO

import nbformat

from atlas_study.workflow import collector
from atlas_study.workflow.gpus import VISIBLE, claim_gpu
from atlas_study.workflow.notebooks import STOPPED, check_parameters
from babelatlas.base import extras, installed
from babelatlas.base.errors import InputError, remedy

# Where Snakemake's storage plugin for file systems keeps copies.
COPIES = ".snakemake/storage/fs/"
# Set where the run itself tells what its jobs do (`progress`).
QUIET = "BABELATLAS_QUIET_JOBS"


def environment(folder: Path) -> dict[str, str]:
    """Return settings that keep a run inside `folder` and to one thread, whatever the
    user's home holds.
    """
    cache = folder.resolve() / "_build" / "cache"
    return {
        "IPYTHONDIR": str(cache / "ipython"),
        # the kernel of this Python, not one of the user's home
        "JUPYTER_PREFER_ENV_PATH": "1",
        "JUPYTER_RUNTIME_DIR": str(cache / "jupyter"),
        "MPLBACKEND": "agg",
        "MPLCONFIGDIR": str(cache / "matplotlib"),
        # tqdm, of bars that a page does not show
        "PYTHONWARNINGS": "ignore:IProgress not found",
        # two processes with one thread each are faster than one with two
        "OMP_NUM_THREADS": "1",
    }


def finish(
    notebook: nbformat.NotebookNode, suffix: str, made: dict
) -> nbformat.NotebookNode:
    """Return the executed notebook as a page: all parameters in one folded cell; in its
    metadata how it was `made`.

    `suffix` is added to the title, since runs of one notebook have titles of their own.
    """
    title, *rest = notebook.cells[0].source.split("\n")
    notebook.cells[0].source = "\n".join(
        [f"{title}: {suffix}" if suffix else title, *rest]
    )
    given = [
        cell
        for cell in notebook.cells
        if "injected-parameters" in cell.metadata.get("tags", [])
    ]
    values = "\n".join(
        line
        for cell in given
        for line in cell.source.splitlines()
        if line != "# Parameters"
    )
    notebook.cells = [cell for cell in notebook.cells if cell not in given]
    for cell in notebook.cells:
        tags = cell.metadata.get("tags", [])
        if {"inputs", "outputs", "parameters"} & set(tags):
            cell.metadata["tags"] = list(dict.fromkeys([*tags, "hide-input"]))
        if "parameters" in tags and values:
            cell.source += f"\n\n# Given in this run:\n{values}"
    notebook.metadata["babelatlas"] = made
    return notebook


def execute(
    source: str | os.PathLike,
    output: str | os.PathLike,
    parameters: dict,
    suffix: str = "",
    log: TextIO | None = None,
) -> float:
    """Run the notebook `source` with `parameters`, write the executed copy to `output`,
    return the seconds it took.

    `suffix` is added to the title; what the cells print goes to `log` as they print it.
    Raises InputError with one sentence where a parameter is not declared or a cell
    raised InputError, and RuntimeError with the cell for any other failure; the copy as
    far as it got is kept next to the output as `<name>.failed.ipynb`. A file that is
    there is written over only if a run made it: InputError otherwise.
    """
    source, output = Path(source), Path(output)
    parameters = check_parameters(source, parameters)
    _check_replaceable(output, source)
    for name, value in environment(Path.cwd()).items():
        os.environ.setdefault(name, value)
    papermill = _papermill()  # after the settings: it reads them when imported
    for folder in (output.parent, Path(os.environ["IPYTHONDIR"])):
        folder.mkdir(parents=True, exist_ok=True)
    _remove_parts(output)
    part = output.with_name(f".{output.stem}.{os.getpid()}.part.ipynb")
    failed = output.with_name(f"{output.stem}.failed.ipynb")
    # It knows of one cell of parameters only.
    logging.getLogger("papermill").setLevel(logging.ERROR)
    started = time.monotonic()
    try:
        page = papermill.execute_notebook(
            source,
            part,
            parameters,
            stdout_file=log,
            stderr_file=log,
            kernel_name="python3",
            progress_bar=False,
            # What a failed cell left is kept anyhow, and one that is killed runs again.
            request_save_on_cell_execute=False,
            # Asked to end, one kernel in fifteen waits for itself, for seconds.
            shutdown_kernel="immediate",
            extra_arguments=[
                "--log-level=CRITICAL",
                f"--IPKernelApp.exec_lines={collector.LINE}",
            ],
        )
        seconds = time.monotonic() - started
        made = {
            "notebook": source.stem,
            "parameters": parameters,
            "seconds": round(seconds, 1),
            "versions": installed.versions(),
        }
        nbformat.write(finish(page, suffix, made), part)
        part.replace(output)
        failed.unlink(missing_ok=True)
        return seconds
    except papermill.PapermillExecutionError as error:
        part.replace(failed)
        raise _told(error, source, failed) from error
    except RuntimeError as error:
        raise _told_of_kernel(error, source) from error
    finally:
        part.unlink(missing_ok=True)


def _papermill():
    """Return papermill, imported without the file systems that it asks pyarrow for.

    They take a tenth of a second, numpy with them, and are for notebooks on Hadoop.
    """
    sys.modules.setdefault("pyarrow.fs", None)
    try:
        import papermill
    finally:
        if sys.modules["pyarrow.fs"] is None:
            del sys.modules["pyarrow.fs"]
    return papermill


def _check_replaceable(output: Path, source: Path) -> None:
    """Raise InputError for a file that is the notebook itself, or that no run made."""
    if not output.exists():
        return
    made = False
    with suppress(ValueError, LookupError, TypeError):  # no notebook
        made = "babelatlas" in json.loads(output.read_bytes())["metadata"]
    if not made or output.samefile(source):
        raise InputError(
            f"{output} is the notebook itself or a file that no run made: give another"
            " output."
        )


def _remove_parts(output: Path) -> None:
    """Remove what processes that were killed left beside an output."""
    for left in output.parent.glob(f".{output.stem}.*.ipynb"):
        process = left.name.split(".")[-3]
        if not Path("/proc", process).exists():
            left.unlink(missing_ok=True)


def _told(error, source: Path, failed: Path) -> BaseException:
    """Return what is raised for the error of a cell: one sentence where it is the
    user's, the cell and the error where it is not.

    `error`: papermill's; `failed`: the copy of the notebook as far as it got.
    """
    if error.ename == "KeyboardInterrupt":
        return KeyboardInterrupt()
    missing = re.fullmatch(r"No module named '([\w.]+)'", error.evalue)
    if how_to_install := extras.how_to_install(missing[1]) if missing else "":
        return InputError(how_to_install)
    reason = " ".join(error.evalue.split()).rstrip(".")
    if remedy(reason):
        return InputError(f"{reason}: {remedy(reason)}")
    if error.ename == "InputError":
        return InputError(error.evalue)
    cell = "\n".join(f"    {line}" for line in error.source.strip().splitlines())
    return RuntimeError(
        f"The notebook {source.stem} stopped in this cell:\n{cell}\n{error.ename}:"
        f" {error.evalue}\nThe copy as far as it got, with the whole traceback:"
        f" {failed}"
    )


def _told_of_kernel(error: RuntimeError, source: Path) -> RuntimeError:
    """Return a sentence for the end of a notebook's process, else the error itself.

    DeadKernelError is a RuntimeError, and so is what jupyter_client raises while a
    kernel starts.
    """
    from nbclient.exceptions import DeadKernelError

    if not isinstance(error, DeadKernelError) and "Kernel died" not in str(error):
        return error
    return RuntimeError(
        f"The process of the notebook {source.stem} ended: it was interrupted, or memory"
        " ran out; run the command again."
    )


def fail(sentence: str, log: TextIO | None = None) -> int:
    """Tell why something failed, now and in its log; return the exit status 1."""
    if not (log and os.environ.get(QUIET)):
        print(f"  failed   {sentence}", file=sys.stderr, flush=True)
    if log:
        with suppress(OSError):  # the disk may be full
            print(f"failed: {sentence}", file=log, flush=True)
    return 1


def tell(line: str) -> None:
    """Print a line, unless the run does (`progress`)."""
    if not os.environ.get(QUIET):
        print(line, flush=True)


def opened(path: str | os.PathLike) -> TextIO | None:
    """Return a log, begun afresh, that says where and when the job runs; None for an
    empty path.
    """
    if not str(path):
        return None
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    log = Path(path).open("w", encoding="utf-8", buffering=1)  # noqa: SIM115 - its job closes it
    print(
        f"on {platform.node()}, process {os.getpid()},"
        f" {time.strftime('%Y-%m-%d %H:%M:%S %z')}",
        file=log,
    )
    return log


def on_volume(paths: list[str]) -> tuple[Path, list[str]]:
    """Return the folder of the study and `paths` relative to it, where Snakemake hands
    a job copies of shared files.

    In a pod of Kubernetes, Snakemake's storage plugin `fs` gives a job local copies
    (.snakemake/storage/fs/study/...) of what lies on the shared volume (/study/...),
    where it is to work. Elsewhere the folder is ".".

    >>> on_volume([".snakemake/storage/fs/study/results/full/logs/book.txt", "notebooks/a.ipynb"])
    (PosixPath('/study'), ['results/full/logs/book.txt', 'notebooks/a.ipynb'])
    """
    copies = [path.partition(COPIES)[2] for path in paths if path.startswith(COPIES)]
    study = next(
        (path.split("/results/")[0] for path in copies if "/results/" in path), ""
    )
    return Path("/", study) if study else Path(), [
        path.removeprefix(f"{COPIES}{study}/") for path in paths
    ]


def hand_back(study: Path, place: Path, outputs: list[str]) -> None:
    """Copy what a job wrote in the folder `study` to where Snakemake waits for it,
    below `place`.
    """
    for output, path in zip(outputs, on_volume(outputs)[1], strict=True):
        if output != path:
            (place / output).parent.mkdir(parents=True, exist_ok=True)
            copy = shutil.copytree if (study / path).is_dir() else shutil.copy2
            copy(study / path, place / output)


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line; return the exit status: 0, or 1 after telling what
    went wrong.
    """
    parser = argparse.ArgumentParser(description="Run one notebook with parameters.")
    parser.add_argument("notebook", help="the notebook to run")
    parser.add_argument("output", help="where the executed copy goes")
    parser.add_argument(
        "--parameters", type=json.loads, default={}, help="a JSON object: name -> value"
    )
    parser.add_argument(
        "--title-suffix", default="", help="added to the title of the page"
    )
    parser.add_argument(
        "--log",
        default="",
        help="a file for what the notebook prints and why it failed",
    )
    parser.add_argument(
        "--gpu",
        type=int,
        help="1: take a free GPU for the notebook, if there is any; 0: hide all",
    )
    parser.add_argument(
        "--outputs", nargs="*", default=[], help="all files that Snakemake waits for"
    )
    given = parser.parse_args(arguments)
    collector.look_seldom()
    here, name, log = (
        Path.cwd(),
        f"{Path(given.notebook).stem} {given.title_suffix}".strip(),
        None,
    )
    study, (output, log_path) = on_volume([given.output, given.log])
    os.chdir(study)
    try:
        log = opened(log_path)
        if given.gpu == 0:
            os.environ[VISIBLE] = ""
        gpu = claim_gpu() if given.gpu else ""
        tell(f"  running  {name}{f' on {gpu}' if gpu else ''}")
        print(
            f"running: {name}, {gpu or 'no GPU'}, parameters"
            f" {json.dumps(given.parameters)}",
            file=log or sys.stderr,
        )
        seconds = execute(
            given.notebook, output, given.parameters, given.title_suffix, log
        )
        print(f"done: {seconds:.0f} s", file=log or sys.stderr)
    except (InputError, RuntimeError, OSError) as error:
        return fail(f"{name}: {error}", log)
    except KeyboardInterrupt:
        tell(f"  stopped  {name}")
        print(STOPPED, file=log or sys.stderr)
        return 130
    finally:
        if log:
            log.close()
    tell(f"  done     {name} ({seconds:.0f} s)")
    hand_back(study, here, given.outputs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
