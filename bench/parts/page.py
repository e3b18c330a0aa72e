"""The page of rlctl burst -o page.html: what it takes to draw."""

import json
import subprocess
import tempfile
from pathlib import Path

from common import ROOT, CannotRun
from processes import RLCTL
from report import goal, table


def drawing(_client, _quick):
    prepared = subprocess.run(["sh", "-c", 'root=$0; . "$root/cmake/prepare.sh"; prepare browser && prepare_npm', ROOT])
    if prepared.returncode:
        raise CannotRun("Chromium and playwright-core are needed")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "large.html")
        subprocess.run([RLCTL, "burst", "steady", "-q", "--model", "--limit", "1000/60s", "--rate", "100k/min",
                        "--duration", "60s", "-o", page], check=True)
        packages = ROOT / ".cache/npm/node_modules"
        ran = subprocess.run(["node", ROOT / "bench/page.mjs", packages, page], check=True, capture_output=True)
    took = json.loads(ran.stdout)
    print("A page with 100,000 requests, in headless Chromium; medians in ms.\n")
    table(["", "ms"], [["a frame while it plays", f"{took['frame']:.1f}"], ["after a zoom", f"{took['zoom']:.1f}"]])
    goal("a frame of 100,000 requests: 60 a second", f"{took['frame']:.1f} ms", took["frame"] < 1000 / 60)
    goal("a zoom of 100,000 requests: 50 ms", f"{took['zoom']:.1f} ms", took["zoom"] < 50)
