"""A Slurm of one machine for the tests: sbatch runs the job here at once, sacct tells
its state.

The test puts scripts named sbatch, sacct ... on the PATH that call this file with their
own name first. Jobs lie in the folder FAKE_SLURM: <number>.state, <number>.asked (what
sbatch was told).
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

JOBS = Path(os.environ["FAKE_SLURM"])


def value(words: list[str], *names: str) -> str:
    """The value of an option that is given as --name value, --name=value or -n value;
    "" where it is not.
    """
    for place, word in enumerate(words):
        if word in names:
            return words[place + 1]
        if word.partition("=")[0] in names and "=" in word:
            return word.partition("=")[2]
    return ""


def sbatch(words: list[str]) -> None:
    number = 1 + sum(1 for _ in JOBS.glob("*.asked"))
    (JOBS / f"{number}.asked").write_text("\n".join(words), encoding="utf-8")
    state = JOBS / f"{number}.state"
    state.write_text(f"RUNNING {value(words, '--job-name')}", encoding="utf-8")
    output = Path(value(words, "--output").replace("%j", str(number)))
    output.parent.mkdir(parents=True, exist_ok=True)
    script = (
        f'({value(words, "--wrap")}); echo "$? {value(words, "--job-name")}" >'
        f" {state}.part; mv {state}.part {state}"
    )
    with output.open("w") as log:
        subprocess.Popen(
            ["sh", "-c", script],
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
            cwd=value(words, "-D") or None,
            env=os.environ | {"SLURM_JOB_ID": str(number)},
            start_new_session=True,
        )
    print(number)


def sacct(words: list[str]) -> None:
    if "--noheader" in words and value(words, "--name"):
        for state in sorted(JOBS.glob("*.state")):
            word, name = state.read_text(encoding="utf-8").split()
            if name == value(words, "--name"):
                print(
                    f"{state.stem}|{ {'RUNNING': 'RUNNING', '0': 'COMPLETED'}.get(word, 'FAILED') }"
                )


def srun(words: list[str]) -> None:
    while words and words[0].startswith("-"):
        words = words[1:]
    os.execvp(words[0], words)


def main() -> None:
    name, *words = sys.argv[1:]
    if name == "sinfo":
        print("PARTITION\nhere*")
    elif name == "scontrol":
        print("MinJobAge               = 300 sec\nMaxArraySize            = 1001")
    elif name in ("sbatch", "sacct", "srun"):
        globals()[name](words)


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    main()
