"""What faults do to a run: killed at random moments, disks full or read-only, two runs
at once, downloads cut.

    python benchmarks/faults.py            at most an hour; called again, it goes on where it was
    python benchmarks/faults.py --quick    a few minutes, to see that it works; writes no
                                           figures unless told

A small study is run once undisturbed. A copy of it then loses the outputs of some jobs,
drawn by the seed, and is run again and killed at random moments until it is complete;
then all of its files are compared with those of the undisturbed run, byte by byte, and
the next jobs are drawn, from the kinds that were killed least. Two sorts of kill: of
the whole run (SIGKILL to Snakemake and the jobs at once) and of one job (its notebook's
process or its kernel, as the system does where memory runs out), after which the run
goes on and repeats the job. After each kill of a run every table that was finished
before must be there, unchanged. Half of the files that were being made are then
replaced by half of their true bytes under the final name, as a program that writes in
place would leave them. After each such round one of the other faults is tried
(fault_cases.py).

The folder of the campaign holds the two runs and `state.json`. The tables name the
commit, so a campaign is of one.
"""

import argparse
import json
import random
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import yaml

import fault_cases
import fault_outcomes
from babelatlas.base import tables
from babelatlas.base.errors import InputError
from fault_runs import (
    ROOT,
    Study,
    asked,
    at_work,
    complete,
    damage,
    keep_differences,
    kill_job,
    kill_run,
    read_jobs,
    remove,
    restore,
    result_files,
    said,
    same,
    start,
    unfinished,
    wait_for_work,
)

KILLS = {"run": "whole run killed", "job": "one job killed"}
# Chapters of the small study: at least one that reads each kind of table.
CHAPTERS = [
    "00_summary",
    "30_labels",
    "40_miniature",
    "41_this_run",
    "42_disambiguation",
    "18_training_languages",
    "22_reasoning",
    "24_captioning",
    "26_models",
    "43_model",
    "10_languages",
]
DRAWN = 3  # jobs that a round makes again
STARTS = 6  # of a round; then it is left to end
LONGEST = 4.0  # seconds until a kill, once a job is at work


# --- Rounds
# --------------------------------------------------------------------------------------


def draw(
    jobs: dict, kills: list[dict], chance: random.Random, n: int = DRAWN
) -> list[str]:
    """Return the logs of the jobs to make again: most of the kinds that were killed
    least, one of any kind.
    """
    hit = Counter(kind for kill in kills for kind in kill["kinds"])
    logs = sorted(jobs)
    chance.shuffle(logs)
    fewest = sorted(
        {job["kind"] for job in jobs.values()},
        key=lambda kind: (hit[kind], chance.random()),
    )
    chosen = [
        next(log for log in logs if jobs[log]["kind"] == kind)
        for kind in fewest[: n - 1]
    ]
    return list(dict.fromkeys([*chosen, logs[0]]))


def plant(study: Study, chance: random.Random) -> int:
    """Write half of the true bytes to some outputs of killed jobs, as writing in place
    would; return the number.
    """
    planted = 0
    for name in sorted(unfinished(study.disturbed)):
        mine, true = study.disturbed / name, study.undisturbed / name
        if (
            true.suffix in (".parquet", ".npz", ".safetensors", ".csv")
            and not mine.exists()
            and chance.random() < 0.5
        ):
            mine.parent.mkdir(parents=True, exist_ok=True)
            mine.write_bytes(true.read_bytes()[: true.stat().st_size // 2])
            planted += 1
    return planted


def disturb(
    study: Study,
    jobs: dict,
    targets: list[str],
    kills: list[dict],
    limit: int,
    seed: str,
) -> bool:
    """Start a run and kill some of its jobs, then the run, at random moments; return
    whether it completed before.

    A job that was killed alone is left to end afterwards, so that the next kinds of
    jobs have their turn.

    Appends to `kills`, up to `limit` of them: the fault, the `kinds` of the jobs at
    work, seconds waited, damage.
    """
    chance = random.Random(seed)
    finished = {
        name for name in result_files(study.disturbed, study.run) if same(study, name)
    }
    began = time.time()
    run = start(study, targets)
    early = chance.random() < 0.1  # while it starts, before the first job
    plans = [] if early else ["job"] * chance.choice([0, 2, 4, 6])
    killed = {kill["log"] for kill in kills if "log" in kill}
    for sort in [*plans, "run"]:
        if len(kills) >= limit:
            break
        if early:
            time.sleep(chance.uniform(0, 5))
        elif not wait_for_work(run, study, jobs, began):
            break
        wait = chance.uniform(0, LONGEST)
        time.sleep(wait)
        busy = at_work(study.disturbed, jobs, began)
        if not (busy or early):
            busy = wait_for_work(run, study, jobs, began)
        kill = {"fault": KILLS[sort], "wait": round(wait, 2), "damage": []}
        if sort == "job" and (open_ := sorted({*busy} - killed)):
            log = chance.choice(open_)
            if victim := kill_job(busy[log], chance):
                killed.add(log)
                kills.append(
                    kill | {"kinds": [jobs[log]["kind"]], "victim": victim, "log": log}
                )
        elif sort == "run" and run.poll() is None:
            ended = kill_run(run, study.disturbed)
            kinds = sorted({jobs[log]["kind"] for log in busy}) or ["between jobs"]
            lost = damage(study, jobs, finished, began)
            lost += ["processes of the run go on"] if ended == float("inf") else []
            planted = plant(study, chance)
            kills.append(
                kill
                | {
                    "kinds": kinds,
                    "ended": round(ended, 2),
                    "damage": lost,
                    "planted": planted,
                }
            )
            return False
    return complete(run, study)


def play_round(
    study: Study, jobs: dict, drawn: list[str], kills: list[dict], limit: int, seed: str
) -> list[dict]:
    """Make the drawn jobs again, killed at random moments until they are done; return
    the kills with their outcomes.
    """
    names = [name for log in drawn for name in jobs[log]["outputs"]]
    remove(study.disturbed, names)
    played, before = [], list(kills)
    for number in range(STARTS):
        if len(before) + len(played) >= limit or disturb(
            study,
            jobs,
            asked(study, jobs, names),
            played,
            limit - len(before),
            f"{seed} {number}",
        ):
            break
    completed = complete(start(study, asked(study, jobs, names)), study)
    wrong = keep_differences(study)
    left = [
        str(path) for path in (study.disturbed / study.run / "notebooks").glob(".*")
    ]
    wrong += left + ([] if completed else ["the run did not complete"])
    for kill in played:
        notes = [*kill.pop("damage"), *wrong]
        kill |= {"outcome": "lost" if notes else "recovered", "note": "; ".join(notes)}
    return played


# --- The campaign
# --------------------------------------------------------------------------------------


def write_config(path: Path) -> Path:
    """Write the config of the small study: the tests' (tests/tiny.yml) with fewer
    chapters and adapters.
    """
    tiny = yaml.safe_load((ROOT / "tests" / "tiny.yml").read_text(encoding="utf-8"))
    tiny |= {
        "chapters": CHAPTERS,
        "adaptations": {
            "picto-multi": {"languages": ["de"], "objectives": {"mse": [0]}}
        },
    }
    path.write_text(yaml.safe_dump(tiny, sort_keys=False), encoding="utf-8")
    return path


def placed(folder: Path) -> Study:
    """Return where a campaign in `folder` has its study."""
    return Study(folder / "study.yml", folder / "undisturbed", folder / "disturbed")


def prepare(folder: Path, say: Callable) -> Study:
    """Return the study of a campaign; makes its undisturbed run and the copy where they
    are not there yet.
    """
    folder.mkdir(parents=True, exist_ok=True)
    study = placed(folder)
    fault_cases.clear(study)
    if not study.config.exists():
        write_config(study.config)
    if not study.disturbed.exists():
        study.undisturbed.mkdir(exist_ok=True)
        (
            study.undisturbed / "Snakefile"
        ).touch()  # where relative paths start, not at the checkout around it
        say("Making the undisturbed run.")
        if start(study, folder=study.undisturbed).wait():
            raise InputError(
                f"The undisturbed run failed: see {said(study.undisturbed)}, mend it,"
                " and call this again."
            )
        copy(study)
    return study


def copy(study: Study) -> None:
    """Copy the undisturbed run, without caches, to where it is disturbed."""
    passing = shutil.ignore_patterns("cache", "log", "locks", "tmp*")
    part = study.disturbed.with_name(f"{study.disturbed.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    shutil.copytree(study.undisturbed, part, ignore=passing)
    part.replace(study.disturbed)


def campaign(
    folder: Path,
    seed: int,
    n_kills: int,
    tries: int,
    minutes: float,
    say: Callable,
    study: Study | None = None,
) -> dict:
    """Return the state of a campaign after `n_kills` kills of the small study and
    `tries` of each other fault.

    `study`: a run that there is, and its copy; left out, both are made in `folder`.
    Stops, to be called again, when the time is over or it is interrupted.
    """
    ends = time.monotonic() + 60 * minutes
    commit = tables.provenance()["commit"]
    place = folder / "state.json"
    state = {"seed": seed, "commit": commit, "rounds": 0, "kills": [], "cases": []}
    if place.exists():
        state = json.loads(place.read_text(encoding="utf-8"))
    if (state["commit"], state["seed"]) != (commit, seed):
        raise InputError(
            f"The campaign in {folder} is of commit {state['commit'][:12]} and seed"
            f" {state['seed']}, and this is commit {commit[:12]} and seed {seed}: go"
            " back to that one, or delete the folder to begin a new campaign."
        )
    study = study or prepare(folder, say)
    jobs = read_jobs(study.undisturbed)
    _keep(place, state)
    while time.monotonic() < ends:
        done = Counter(case["fault"] for case in state["cases"])
        open_cases = [case for case in fault_cases.CASES if done[case.fault] < tries]
        if len(state["kills"]) >= n_kills and not open_cases:
            break
        number = state["rounds"]
        chance = random.Random(f"{seed} {number}")
        restore(study)
        if len(state["kills"]) < n_kills:
            drawn = draw(jobs, state["kills"], chance)
            state["kills"] += play_round(
                study, jobs, drawn, state["kills"], n_kills, f"{seed} {number}"
            )
            restore(study)
        if open_cases:
            state["cases"] += fault_cases.attempt(
                min(open_cases, key=lambda case: done[case.fault]), study, jobs, chance
            )
        state["rounds"] += 1
        _keep(place, state)
        lost = sum(
            one["outcome"] == "lost" for one in [*state["kills"], *state["cases"]]
        )
        say(
            f"{len(state['kills'])} kills, {len(state['cases'])} other faults, {lost}"
            " lost something."
        )
    return state


def _keep(place: Path, state: dict) -> None:
    part = place.with_suffix(".part")
    part.write_text(json.dumps(state, indent=1), encoding="utf-8")
    part.replace(place)


def main(arguments: list[str] | None = None) -> int:
    """Kill and disturb a small study and count what is lost; return the exit status: 0,
    or 1 where anything is.
    """
    parser = argparse.ArgumentParser(
        prog="python benchmarks/faults.py", description=main.__doc__
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="8 kills and each other fault once; kept only with --output",
    )
    parser.add_argument("--kills", type=int, default=200, help="how many kills")
    parser.add_argument(
        "--tries", type=int, default=3, help="how many tries of each other fault"
    )
    parser.add_argument(
        "--minutes",
        type=float,
        default=60,
        help="when to stop at the latest, to go on another time",
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="decides jobs, moments and victims"
    )
    parser.add_argument(
        "--folder",
        default="",
        help="of the campaign; left out, _build/faults, or _build/faults-quick",
    )
    parser.add_argument(
        "--output", default="", help="the table to write; left out, the one that ships"
    )
    given = parser.parse_args(arguments)
    n_kills, tries = (8, 1) if given.quick else (given.kills, given.tries)
    folder = (
        ROOT / (given.folder or f"_build/faults{'-quick' if given.quick else ''}")
    ).resolve()
    began = time.monotonic()

    def say(text: str) -> None:
        print(f"{time.monotonic() - began:5.0f} s  {text}", flush=True)

    try:
        state = campaign(folder, given.seed, n_kills, tries, given.minutes, say)
        table = fault_outcomes.count(state["kills"], state["cases"])
        print(table.to_string(index=False))
        if given.output or not given.quick:
            path = tables.locate(given.output or fault_outcomes.OUTPUT)
            fault_outcomes.write(table, path)
            say(f"Written to {path}.")
        if lost := [
            one
            for one in [*state["kills"], *state["cases"]]
            if one["outcome"] == "lost"
        ]:
            print(
                f"{len(lost)} of them lost something, the first: {lost[0]}",
                file=sys.stderr,
            )
            return 1
    except (InputError, RuntimeError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        fault_cases.clear(placed(folder))
        print("Stopped: call it again to go on.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
