"""`make bench`: time everything in one run, print the table, write JSON, fail if a row is short.

    python -m tests.benchmarks [--sizes small,medium,large] [--rounds N] [--json FILE]

Rows are ratios to Hermes Agent 0.19.0 on the same tree in the same run; where its wheel can't be
had they are *missing*, and the run fails.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from tests.benchmarks.rivals import fetch_hermes
from tests.benchmarks.suite import Row, run
from tests.benchmarks.trees import LARGE, MEDIUM, SMALL

_SIZES = {"small": SMALL, "medium": MEDIUM, "large": LARGE}


def main() -> int:
    """Run the suite; 0 if no row is short or missing."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks")
    parser.add_argument("--sizes", default="small,medium,large")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", type=Path, default=Path(".benchmarks/result.json"))
    parser.add_argument("--cache", type=Path, default=Path(".benchmarks"))
    options = parser.parse_args()
    options.cache.mkdir(parents=True, exist_ok=True)
    hermes = fetch_hermes(options.cache.resolve())
    if hermes is None:
        print("Hermes Agent 0.19.0 can't be fetched: the ratios to it are missing.")
    scratch = Path(tempfile.mkdtemp(prefix="bench-", dir="/var/tmp"))
    try:
        rows: list[Row] = []
        for size in options.sizes.split(","):
            for row in run(_SIZES[size], scratch / size, hermes, options.rounds):
                rows.append(row)
                print(row, flush=True)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps([asdict(r) for r in rows], indent=1), encoding="utf-8")
    short = [row for row in rows if not row.good]
    print(f"\n{len(rows) - len(short)} rows reach their bound, {len(short)} do not.")
    for row in short:
        print("  short: " + str(row))
    return 1 if short or hermes is None else 0


if __name__ == "__main__":
    sys.exit(main())
