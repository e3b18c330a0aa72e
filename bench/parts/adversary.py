"""rlctl adversary: the search for the worst schedule, and the proof by all schedules."""

import json
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from common import ALGORITHMS
from processes import RLCTL, in_turn, median_ratio
from report import goal, table


def search(_client, quick):
    rounds = 1 if quick else 11
    names = [name for name in ALGORITHMS if name != "concurrency"]
    command = [RLCTL, "adversary", "-q"]
    scripts, _ = in_turn({name: [*command, name] for name in names}, rounds)
    models, _ = in_turn({name: [*command, name, "--model"] for name in names}, rounds)
    print(f"`rlctl adversary`, limit 5/60s, the default --tries; the time of the whole process, "
          f"including\nthe start of a private server. {rounds} rounds, alternating; medians in ms.\n")
    of_scripts = {name: statistics.median(scripts[name]) for name in names}
    table(["", "scripts", "`--model`"],
          [[f"`{name}`", f"{of_scripts[name]:.0f}", f"{statistics.median(models[name]):.0f}"]
           for name in names])
    whole = of_scripts["fixed-window"]
    goal("`rlctl adversary fixed-window`: less than 1 s", f"{whole:.0f} ms", whole < 1000)


def exhaustive_run(command):
    """How many schedules an exhaustive search tried, and how long its whole process took."""
    begun = time.monotonic()
    done = subprocess.run([*command, "--json"], capture_output=True, check=True)
    return json.loads(done.stdout)["runs"][0]["tried"], time.monotonic() - begun


def every_schedule(_client, quick):
    rounds, requests, deep = (1, 4, 5) if quick else (7, 6, 8)
    burst = [RLCTL, "adversary", "--limit", "2/60s"]
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "ttl.lua")
        script.write_text("local n = redis.call('INCR', KEYS[1])\n"
                          "if n == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end\n"
                          "return n <= tonumber(ARGV[2]) and 1 or 0\n")
        limiters = {"`fixed-window`": ["fixed-window"],
                    "`sliding-window-log`": ["sliding-window-log"],
                    "`gcra`": ["gcra"],
                    "a counter with a TTL": [str(script), "--args", "{window_ms} {limit}"]}
        rows, ratios = [], []
        for name, words in limiters.items():
            every, replays, schedules = [], [], 0
            for _ in range(rounds):
                schedules, seconds = exhaustive_run([*burst, *words, "--exhaustive", str(requests)])
                every.append(seconds / schedules)
                # As many requests as a tenth of these schedules have, each from its beginning.
                tries = schedules * requests // 10
                begun = time.monotonic()
                subprocess.run([*burst, *words, "--monotonic", "--tries", str(tries), "-q"], check=True)
                replays.append((time.monotonic() - begun) / (schedules / 10))
            ratio = median_ratio(replays, every)
            ratios.append(ratio)
            rows.append([name, f"{1 / statistics.median(every):,.0f}", f"{1 / statistics.median(replays):,.0f}",
                         f"{ratio:.0f} ×"])
        model_rates = []
        for _ in range(rounds):
            tried, seconds = exhaustive_run([*burst, "sliding-window-log", "--model",
                                             "--exhaustive", str(deep - 1)])
            model_rates.append(tried / seconds)
    print(f"Schedules a second, of up to {requests} requests, through scripts; the time of the whole process. Beside "
          f"it, as many\nrequests in schedules that are replayed from their beginning (of other lengths, by a random "
          f"search). {rounds} rounds.\n")
    table(["limiter", "`--exhaustive`", "replayed", "ratio"], rows)
    rate = statistics.median(model_rates)
    goal("`--exhaustive --model`: a million schedules a second on one core", f"{rate / 1e6:.1f} million", rate >= 1e6)
    goal("`--exhaustive` through scripts: 10 × as fast as replaying each schedule", f"{min(ratios):.0f} × or more",
         min(ratios) >= 10)
