"""Start notebooks without waiting for imports: a process that has imported the libraries once is copied for each.

Snakemake starts a pair of such processes with the run (`serve`): one for chapters, one that has torch too. A job
(`main`) asks one of them, through a socket that the environment names, to run its notebook; the copy is forked, and
forks the notebook's kernel in turn, so that every notebook still has a kernel of its own that nothing else has used.
Where no such process is there (on a cluster, or by hand) the job runs the notebook itself, with the same result.
"""

import gc
import importlib
import json
import os
import re
import signal
import socket
import sys
import threading
import traceback
from contextlib import nullcontext
from pathlib import Path

from babelatlas.workflow import kernels

ADDRESS = "BABELATLAS_WARM"  # the folder of the sockets
# What each process imports: for chapters, and for stages that load or train models.
TABLES = [
    *("babelatlas.workflow.run_notebook", "papermill", "nbclient.exceptions", "ipykernel.kernelapp"),
    *("matplotlib.pyplot", "matplotlib_inline.backend_inline", "numpy", "pandas", "pyarrow.parquet", "scipy.stats"),
    *("seaborn", "statsmodels.api", "nltk.corpus", "yaml", "PIL.Image"),
]
MODELS = ["torch", "open_clip", "timm", "tokenizers", "safetensors.torch", "transformers"]
HURRY = 0.2  # seconds between looks at whether the run still lives


def start() -> None:
    """Start the processes in the background, for the jobs of this run; they end with it."""
    import subprocess
    import tempfile

    os.environ[ADDRESS] = tempfile.mkdtemp(prefix="babelatlas-")
    words = [sys.executable, "-c", "from babelatlas.workflow import warm; warm.serve()", str(os.getpid())]
    subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def serve() -> None:
    """Import the libraries and run notebooks for jobs until the process that started this one has ended."""
    import shutil

    from babelatlas.workflow.run_notebook import environment

    above, folder = int(sys.argv[1]), Path(os.environ.pop(ADDRESS))
    os.environ |= environment(Path.cwd())
    listeners = {name: _listen(folder / name) for name in ("tables", "models")}
    try:
        _load(TABLES)
        name = "tables" if os.fork() else "models"
        if name == "models":
            above = os.getppid()
            _load(MODELS)
        _answer(listeners[name], above)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


def _load(names: list[str]) -> None:
    """Import modules; those that are not installed are left to the notebooks to miss."""
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError:
            continue
    gc.freeze()


def _listen(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen(64)
    listener.settimeout(HURRY)
    return listener


def _answer(listener: socket.socket, above: int) -> None:
    """Fork a process for each job that connects, as long as the process `above` is the parent of this one."""
    while os.getppid() == above:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            pass
        try:
            connection, _ = listener.accept()
        except TimeoutError:
            continue
        if os.fork() == 0:
            listener.close()
            _work(connection)
        connection.close()


def _work(connection: socket.socket) -> None:
    """Run one job in this process, with the job's streams, folder and environment, and send its exit status back."""
    from babelatlas.workflow import run_notebook

    connection.settimeout(None)
    message, streams, _, _ = socket.recv_fds(connection, 1 << 20, 3)
    while not message.endswith(b"\n"):
        message += connection.recv(1 << 20)
    asked = json.loads(message)
    for place, stream in enumerate(streams):
        os.dup2(stream, place)
    sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
    os.environ.clear()
    os.environ.update(asked["environment"])
    os.chdir(asked["folder"])
    threading.Thread(target=_watch, args=(connection,), daemon=True).start()
    status = 1
    try:
        status = run_notebook.main(asked["words"], warm=True)
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        connection.send(bytes([status & 255]))
        os._exit(status)


def _watch(connection: socket.socket) -> None:
    """End this process and its kernel when the job that asked for it is gone."""
    if not connection.recv(1):
        for process in kernels.KERNELS:
            process.kill()
        os._exit(128 + signal.SIGKILL)


def main(words: list[str]) -> int:
    """Run a notebook for a job, in a warm process if there is one, and return the exit status."""
    folder = os.environ.get(ADDRESS, "")
    place = Path(folder, _kind(words[0])) if folder and words else None
    if place is None or not place.exists():
        from babelatlas.workflow import run_notebook

        signal.signal(signal.SIGINT, signal.default_int_handler)
        return run_notebook.main(words)
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(place))
        asked = {"words": words, "folder": os.getcwd(), "environment": dict(os.environ)}
        message = json.dumps(asked).encode() + b"\n"
        sent = socket.send_fds(connection, [message], [0, 1, 2])
        connection.sendall(message[sent:])
        status = connection.recv(1)
    return status[0] if status else _killed(words)


def _killed(words: list[str]) -> int:
    """Say, also in the note next to the job's log, that the process of a job has ended without an exit status."""
    from babelatlas.workflow import run_notebook

    log = words[words.index("--log") + 1] if "--log" in words[:-1] else ""
    with open(log, "a", encoding="utf-8") if log else nullcontext() as file:
        run_notebook.fail(
            f"{Path(words[0]).stem}: it was killed: memory ran out, or somebody ended it; call again.", file
        )
    return 128 + signal.SIGKILL


def _kind(notebook: str) -> str:
    """Return which process a notebook is for: "models" for a stage that imports the rooms of models."""
    path = Path(notebook)
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    models = path.parent.name == "stages" and re.search(r"from babelatlas\.(models|evaluation)\b", text)
    return "models" if models else "tables"


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it without a traceback; who runs the notebook says so
    sys.exit(main(sys.argv[1:]))
