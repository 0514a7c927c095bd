"""Run one notebook with parameters.

`python -m babelatlas.workflow.run_notebook NOTEBOOK OUTPUT --parameters '{"seed": 1}'` does it.

Papermill does the work. Added to it: a parameter that the notebook does not declare stops the run, the output appears
whole or not at all, an error of the user's is told in one sentence, the page says how long it took and with what
parameters, what the notebook prints goes to a log as it goes (`--log`), and a job for a GPU takes one that is free
(`--gpu 1`). `papermill notebooks/NN_name.ipynb out.ipynb -p name value` works as well.
"""

import argparse
import json
import logging
import os
import platform
import shutil
import sys
import time
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TextIO

import nbformat

from babelatlas.base import checksums
from babelatlas.base.errors import InputError, remedy
from babelatlas.workflow import gpus
from babelatlas.workflow.kernels import kernel_manager
from babelatlas.workflow.notebooks import cells, check_parameters, declared

# Where Snakemake's storage plugin for file systems keeps copies.
COPIES = ".snakemake/storage/fs/"


def environment(folder: Path) -> dict[str, str]:
    """Return settings that keep a run inside `folder` and to one thread, whatever the user's home holds."""
    cache = folder.resolve() / "_build" / "cache"
    return {
        "IPYTHONDIR": str(cache / "ipython"),
        "JUPYTER_PREFER_ENV_PATH": "1",  # the kernel of this Python, not one of the user's home
        "JUPYTER_RUNTIME_DIR": str(cache / "jupyter"),
        "MPLBACKEND": "agg",
        "MPLCONFIGDIR": str(cache / "matplotlib"),
        "OMP_NUM_THREADS": "1",  # two processes with one thread each are faster than one with two
    }


def finish(notebook: nbformat.NotebookNode, name: str, parameters: dict, seconds: float) -> nbformat.NotebookNode:
    """Return the executed notebook as a page: all parameters in one folded cell; in its metadata how it was made."""
    given = [cell for cell in notebook.cells if "injected-parameters" in cell.metadata.get("tags", [])]
    notebook.cells = [cell for cell in notebook.cells if cell not in given]
    for cell in notebook.cells:
        tags = cell.metadata.get("tags", [])
        if {"inputs", "outputs"} & set(tags):
            cell.metadata["tags"] = [*tags, "hide-input"] if "hide-input" not in tags else tags
        if "parameters" in tags:
            values = "\n".join(line for cell in given for line in cell.source.splitlines() if line != "# Parameters")
            cell.source += f"\n\n# Given in this run:\n{values}" if values else ""
            cell.metadata["tags"] = ["parameters", "hide-input"]
    notebook.metadata["babelatlas"] = {"notebook": name, "parameters": parameters, "seconds": round(seconds, 1)}
    notebook.metadata["checksum"] = checksums.BLANK
    return notebook


def execute(
    source: str | os.PathLike,
    output: str | os.PathLike,
    parameters: dict,
    suffix: str = "",
    log: TextIO | None = None,
    warm: bool = False,
) -> float:
    """Run the notebook `source` with `parameters`, write the executed copy to `output`, return the seconds it took.

    What the cells print goes to `log` as they print it. `warm`: fork the kernel from this process, which has imported
    the libraries (see warm.py). Raises InputError with one sentence where a parameter is not declared or a cell raised
    InputError, and RuntimeError with the cell and the end of the traceback for any other failure; the copy as far as it
    got is kept next to the output as `<name>.failed.ipynb`.
    """
    source, output = Path(source), Path(output)
    check_parameters(source, parameters)
    for name, value in environment(Path.cwd()).items():
        os.environ.setdefault(name, value)
    Path(os.environ["IPYTHONDIR"]).mkdir(parents=True, exist_ok=True)
    import papermill  # after the settings: it reads them when imported
    from nbclient.exceptions import DeadKernelError

    output.parent.mkdir(parents=True, exist_ok=True)
    begin = output.with_name(f".{output.stem}.{os.getpid()}.source.ipynb")
    part = output.with_name(f".{output.stem}.{os.getpid()}.part.ipynb")
    failed = output.with_name(f"{output.stem}.failed.ipynb")
    for left in output.parent.glob(f".{output.stem}.*.ipynb"):
        if not _lives(left.name.split(".")[-3]):  # of a run that was killed
            left.unlink(missing_ok=True)
    started = time.monotonic()
    try:
        notebook = nbformat.read(source, as_version=4)
        if suffix:  # runs of one notebook have titles of their own
            first = notebook.cells[0]
            title, *rest = first.source.split("\n")
            first.source = "\n".join([f"{title}: {suffix}", *rest])
        nbformat.write(notebook, begin)
        quiet = {"progress_bar": False, "extra_arguments": ["--log-level=CRITICAL"]}
        logging.getLogger("papermill").setLevel(logging.ERROR)  # it knows of one cell of parameters only
        streams = {"stdout_file": log, "stderr_file": log}
        streams |= {"kernel_manager_class": kernel_manager()} if warm else {}
        papermill.execute_notebook(begin, part, parameters, kernel_name="python3", **quiet, **streams)
        seconds = time.monotonic() - started
        _check_written(source, parameters)
        nbformat.write(finish(nbformat.read(part, as_version=4), source.stem, parameters, seconds), part)
        checksums.stamp(part)
        part.replace(output)
        failed.unlink(missing_ok=True)
    except papermill.PapermillExecutionError as error:
        part.replace(failed)
        if error.ename == "InputError":
            raise InputError(error.evalue) from error
        if error.ename == "KeyboardInterrupt":
            raise KeyboardInterrupt from error
        if helps := remedy(error.evalue):
            reason = " ".join(error.evalue.split()).rstrip(".")
            raise InputError(f"A file cannot be read or written ({reason}): {helps}, and call again.") from error
        cell = "\n".join(f"    {line}" for line in error.source.strip().splitlines())
        raise RuntimeError(
            f"The notebook {source.stem} stopped in this cell:\n{cell}\n{error.ename}: {error.evalue}\n"
            f"The copy as far as it got, with the whole traceback: {failed}"
        ) from error
    except RuntimeError as error:  # DeadKernelError is one, and so is what jupyter_client raises while a kernel starts
        if not isinstance(error, DeadKernelError) and "Kernel died" not in str(error):
            raise
        raise RuntimeError(
            f"The process of the notebook {source.stem} ended: it was interrupted, or memory ran out; call again."
        ) from error
    finally:
        begin.unlink(missing_ok=True)
        part.unlink(missing_ok=True)
    return seconds


def _lives(process: str) -> bool:
    """Return whether a process of this number is at work on this machine."""
    try:
        os.kill(int(process), 0)
    except (ProcessLookupError, ValueError, OverflowError):
        return False
    except PermissionError:  # another user's
        return True
    return True


def history(folder: str | os.PathLike) -> list[dict]:
    """Return what the executed copies in `folder` say of themselves: page, notebook, seconds and parameters of each.

    Raises InputError for a damaged one.
    """
    pages = [path for path in sorted(Path(folder).glob("*.ipynb")) if not path.name.endswith(".failed.ipynb")]
    for path in pages:
        checksums.check(path)
        cells(path)
    notes = {path.stem: nbformat.read(path, as_version=4).metadata.get("babelatlas") for path in pages}
    return [{"page": name, **note} for name, note in notes.items() if note]


def _check_written(source: Path, parameters: dict) -> None:
    """Raise RuntimeError where a file that the parameters give as an output is not there."""
    for name in declared(source)["outputs"]:
        path = parameters.get(name, "")
        if Path(path).suffix and not Path(path).exists():
            from babelatlas.base import tables  # slow to import

            if tables.locate(path).exists():  # where a notebook looks for it that was started in a folder below
                continue
            raise RuntimeError(f"The notebook {source.stem} ended without writing its {name}, {path}: let it do so.")


def fail(sentence: str, log: TextIO | None = None) -> int:
    """Tell why something failed: now, in its log, and next to it in a file .failed for the end of the run; return 1."""
    print(f"  failed   {sentence}", file=sys.stderr, flush=True)
    if log:
        with suppress(OSError):  # the disk may be full
            print(f"failed: {sentence}", file=log, flush=True)
            Path(log.name).with_suffix(".failed").write_text(f"{sentence}\n", encoding="utf-8")
    return 1


def opened(path: str | os.PathLike) -> TextIO | None:
    """Return a log, begun afresh, that says where and when the job runs; None for an empty path."""
    if not str(path):
        return None
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".failed").unlink(missing_ok=True)
    log = path.open("w", encoding="utf-8", buffering=1)
    print(f"on {platform.node()}, process {os.getpid()}, {time.strftime('%Y-%m-%d %H:%M:%S %z')}", file=log)
    return log


def on_volume(paths: list[str]) -> tuple[Path, list[str]]:
    """Return the folder of the study and `paths` relative to it, where Snakemake hands a job copies of shared files.

    In a pod of Kubernetes, Snakemake's storage plugin `fs` gives a job local copies (.snakemake/storage/fs/study/...)
    of what lies on the shared volume (/study/...). A job works on the volume itself, where all files are, also those
    that Snakemake does not know of. Elsewhere the folder is "." and the paths stay as they are.

    >>> on_volume([".snakemake/storage/fs/study/results/full/logs/book.txt", "notebooks/a.ipynb"])
    (PosixPath('/study'), ['results/full/logs/book.txt', 'notebooks/a.ipynb'])
    """
    copies = [path.partition(COPIES)[2] for path in paths if path.startswith(COPIES)]
    study = next((path.split("/results/")[0] for path in copies if "/results/" in path), "")
    if not study:
        return Path(), paths
    return Path("/", study), [path.removeprefix(f"{COPIES}{study}/") for path in paths]


def hand_back(study: Path, place: Path, outputs: list[str]) -> None:
    """Copy what a job wrote in the folder `study` to where Snakemake waits for it, below `place`."""
    for output, path in zip(outputs, on_volume(outputs)[1], strict=True):
        if output != path:
            (place / output).parent.mkdir(parents=True, exist_ok=True)
            if (study / path).is_dir():
                shutil.copytree(study / path, place / output, dirs_exist_ok=True)
            else:
                shutil.copy2(study / path, place / output)


def main(arguments: list[str] | None = None, warm: bool = False) -> int:
    """Run from the command line; return the exit status: 0, or 1 after telling what went wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m babelatlas.workflow.run_notebook", description="Run one notebook with parameters."
    )
    parser.add_argument("notebook", help="the notebook to run")
    parser.add_argument("output", help="where the executed copy goes")
    parser.add_argument("--parameters", type=json.loads, default={}, help="a JSON object: name -> value")
    parser.add_argument("--files", type=json.loads, default={}, help="its inputs and outputs, likewise")
    parser.add_argument("--title-suffix", default="", help="added to the title of the page")
    parser.add_argument("--log", default="", help="a file for what the notebook prints and why it failed")
    parser.add_argument("--gpu", type=int, help="1: take a free GPU for the notebook, if there is any; 0: hide all")
    parser.add_argument("--outputs", nargs="*", default=[], help="all files that Snakemake waits for")
    given = parser.parse_args(arguments)
    place = Path.cwd()
    study, (given.output, given.log) = on_volume([given.output, given.log])
    os.chdir(study)
    parameters = given.parameters | dict(zip(given.files, on_volume(list(given.files.values()))[1], strict=True))
    name = f"{Path(given.notebook).stem} {given.title_suffix}".strip()
    device = {None: nullcontext(), 0: gpus.visible("")}.get(given.gpu) or gpus.claimed()
    try:
        with opened(given.log) or nullcontext() as log:
            try:
                with device as gpu:
                    print(f"  running  {name}{f' on {gpu}' if gpu else ''}", flush=True)
                    if log:
                        print(f"running: {name}, {gpu or 'no GPU'}, parameters {json.dumps(parameters)}", file=log)
                    seconds = execute(given.notebook, given.output, parameters, given.title_suffix, log, warm)
            except (InputError, RuntimeError) as error:
                if log and error.__cause__:
                    print(error.__cause__, file=log)
                return fail(f"{name}: {error}", log)
            except OSError as error:
                return fail(
                    f"{name}: a file cannot be read or written ({error}): make room, or correct its place.", log
                )
            except KeyboardInterrupt:
                logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # it would tell of the cell nobody waits for
                print(f"  stopped  {name}", flush=True)
                return 130
            print(f"  done     {name} ({seconds:.0f} s)", flush=True)
            if log:
                print(f"done: {seconds:.0f} s", file=log)
    except OSError as error:  # of the log
        helps = remedy(str(error)) or "correct its place"
        return fail(f"{name}: the log {given.log} cannot be written ({error.strerror}): {helps}, and call again.")
    hand_back(study, place, given.outputs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
