"""Files the results of `dataplane-emu demo --json` under the names of the first project.

Usage: old-results.py WORK MIDDLE DEEPEST

Reads WORK/demo.json; writes one log per stage into WORK/logs, and copies what fio said to x_qdN.json (kernel) and
fuse_qdN.json in the current folder. A result that is not there says why.
"""

import json
import shutil
import sys
from pathlib import Path

STAGES = [
    ("kernel", "[Stage 1]", "x"),
    ("fuse", "[Stage 2]", "fuse"),
    ("driver", "[Stage 3]", None),
]


def log_of(row, middle, deepest):
    """The old log that a row belongs in; stage 3 had one for each depth."""
    if row["id"] == "kernel":
        return "arm_neoverse_base.log"
    if row["id"] == "fuse":
        return "arm_neoverse_fuse.log"
    # A row that did not run may have no depth.
    depths = {deepest: "iops", middle: "mid", 1: "lat"}
    return f"arm_neoverse_bdevperf_{depths.get(row.get('qd'), 'lat')}.log"


def was_measured(row):
    """Whether a row has its figures."""
    return not row.get("not_run") and row.get("iops") is not None and row.get("mean_us") is not None


def line_of(stage, row):
    """One line for people."""
    depth = f", QD={row['qd']}" if row.get("qd") else ""
    begin = f"{stage} {row.get('label') or row['id']}{depth}"
    if not was_measured(row):
        return f"{begin}: not run: {row.get('not_run') or 'the demo gave no reason'}"
    return f"{begin}: {row['iops']:.0f} IOPS, {row['mean_us']:.2f} us mean"


def keep_fio(row, prefix):
    """Copies fio's own output of a row; says why when there is none."""
    if not was_measured(row) or row.get("generator", "fio") != "fio":
        return
    name = f"{prefix}_qd{row['qd']}.json"
    source = row.get("fio_json")
    if source and Path(source).is_file():
        shutil.copyfile(source, name)
    else:
        print(f"{name}: not written: fio's output was not kept")


def main(work, middle, deepest):
    rows = json.loads((work / "demo.json").read_text())["rows"]
    logs = work / "logs"
    for door, stage, prefix in STAGES:
        for row in (row for row in rows if row["id"] == door):
            line = line_of(stage, row)
            with (logs / log_of(row, middle, deepest)).open("a") as log:
                log.write(f"{line}\n{json.dumps(row, indent=2)}\n")
            if prefix:
                keep_fio(row, prefix)


main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
