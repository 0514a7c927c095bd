"""How long each step of a run took, in seconds, by the logs of its jobs.

    python benchmarks/steps.py --config config/demo.yml    after `make book` on an idle machine

It prints a table by rule, the longest first, and writes `steps.csv` next to this file,
from which a run tells what time is left (`atlas_study.workflow.progress`).
"""

import argparse
import re
from pathlib import Path

import pandas as pd

from atlas_study.workflow.graph import Graph

HERE = Path(__file__).resolve().parent
DONE = re.compile(r"^done: (\d+) s$", re.MULTILINE)


def durations(config: Path, results: Path) -> pd.DataFrame:
    """Return the jobs of a run whose logs say how long they took: columns rule, page
    and seconds.

    `results`: the folder of the run.
    """
    plan = Graph(config, HERE.parent).plan
    rows = []
    for rule, job in plan.all_jobs():
        page = plan.page(rule, job)
        log = results / "logs" / f"{page}.txt"
        text = log.read_text(encoding="utf-8") if log.is_file() else ""
        name = rule if rule in plan.rules else f"chapter_{rule}"
        rows += [(name, page, int(seconds)) for seconds in DONE.findall(text)[-1:]]
    return pd.DataFrame(rows, columns=["rule", "page", "seconds"])


def by_rule(jobs: pd.DataFrame) -> pd.DataFrame:
    """Return for each rule its number of jobs, the mean of their seconds, and the sum;
    the longest first.
    """
    table = jobs.groupby("rule", sort=False)["seconds"].agg(["size", "mean", "sum"])
    table.columns = ["jobs", "seconds", "all_seconds"]
    in_order = table.sort_values(
        ["all_seconds", "jobs"], ascending=False, kind="stable"
    )
    return in_order.round(1).reset_index()


def main() -> None:
    """Print and write the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--config", type=Path, default=Path("config/demo.yml"))
    parser.add_argument("--results", type=Path, default=Path("results/demo"))
    given = parser.parse_args()
    table = by_rule(durations(given.config, given.results))
    print(table.to_string(index=False))
    print(f"{table['all_seconds'].sum():.0f} s in {table['jobs'].sum()} jobs")
    table.to_csv(HERE / "steps.csv", index=False)


if __name__ == "__main__":
    main()
