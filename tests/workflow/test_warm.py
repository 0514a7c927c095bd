"""A job in a copy of a warm process: the same page, the job's own exit status, and a sentence where it is killed."""

import json
import os
import signal
import subprocess
import sys
import time

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from babelatlas.workflow import warm

CODE = "import os, time\nopen('pid', 'w').write(str(os.getpid()))\ntime.sleep(wait)\nwhole / divisor"


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A folder with a notebook, and the environment of a run whose warm processes have been started."""
    folder = tmp_path_factory.mktemp("warm")
    cells = [
        new_markdown_cell("# Division\n\nHow often does it fit?"),
        new_code_cell("divisor = 2\nwhole = 10\nwait = 0.0", metadata={"tags": ["parameters"]}),
        new_code_cell(CODE),
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(new_notebook(cells=cells, metadata={"kernelspec": kernel}), folder / "05_division.ipynb")
    script = f"""
import os, time
from babelatlas.workflow import warm
warm.MODELS[:] = []
warm.start()
print(os.environ["{warm.ADDRESS}"], flush=True)
time.sleep(600)
"""
    run = subprocess.Popen([sys.executable, "-c", script], cwd=folder, stdout=subprocess.PIPE, text=True)
    address = run.stdout.readline().strip()
    for _ in range(600):
        if os.path.exists(f"{address}/tables"):
            break
        time.sleep(0.1)
    yield folder, os.environ | {warm.ADDRESS: address}
    run.kill()
    run.wait()
    run.stdout.close()
    for _ in range(100):
        if not os.path.exists(address):
            break
        time.sleep(0.1)
    assert not os.path.exists(address), "the warm processes outlive their run"


def job(study, **parameters) -> subprocess.Popen:
    folder, environment = study
    words = ["05_division.ipynb", "page.ipynb", "--parameters", json.dumps(parameters), "--log", "logs/page.txt"]
    command = [sys.executable, "-m", "babelatlas.workflow.warm", *words]
    return subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True)


def test_a_notebook_in_a_copy_has_its_result_and_its_kernel_ends_with_it(study):
    done = job(study, divisor=5)
    assert done.communicate(timeout=120)[1] == ""
    assert done.returncode == 0
    page = nbformat.read(study[0] / "page.ipynb", as_version=4)
    assert page.cells[-1].outputs[0].data["text/plain"] == "2.0"
    with pytest.raises(ProcessLookupError):
        os.kill(int((study[0] / "pid").read_text()), 0)


def test_an_error_of_the_notebook_is_the_jobs(study):
    done = job(study, divisor=0)
    assert "ZeroDivisionError" in done.communicate(timeout=120)[1]
    assert done.returncode == 1


def waiting(study) -> tuple[subprocess.Popen, int]:
    """A job whose notebook waits, and the process of its kernel."""
    (study[0] / "pid").unlink(missing_ok=True)
    begun = job(study, wait=300.0)
    for _ in range(600):
        if (study[0] / "pid").is_file() and (study[0] / "pid").read_text():
            break
        time.sleep(0.1)
    return begun, int((study[0] / "pid").read_text())


def ends(process: int) -> bool:
    """Whether a process is gone within ten seconds."""
    for _ in range(100):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False


def test_a_job_that_is_killed_takes_its_kernel_with_it(study):
    begun, kernel = waiting(study)
    begun.send_signal(signal.SIGKILL)
    begun.communicate(timeout=60)
    assert ends(kernel), "the kernel of a killed job goes on"


def test_a_kernel_ends_with_the_killed_process_that_forked_it(study):
    begun, kernel = waiting(study)
    first = (study[0] / "logs" / "page.txt").read_text(encoding="utf-8").splitlines()[0]
    os.kill(int(first.partition(", process ")[2].partition(",")[0]), signal.SIGKILL)
    assert "05_division: it was killed" in begun.communicate(timeout=60)[1]
    assert ends(kernel), "the kernel of a killed run goes on"


def test_a_kernel_that_is_killed_ends_its_job_with_a_sentence(study):
    begun, kernel = waiting(study)
    os.kill(kernel, signal.SIGKILL)
    assert "05_division" in begun.communicate(timeout=120)[1]
    assert begun.returncode != 0
    assert "05_division" in (study[0] / "logs" / "page.failed").read_text(encoding="utf-8")
