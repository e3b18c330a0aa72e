"""rlctl debug: traces, and `continue` over many lines."""

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from common import ROOT
from processes import RLCTL, in_turn, tool
from report import goal, table


def run_freely(client, folder, turns, rounds):
    """The time of `continue` over a loop of three lines, and of the loop without a debugger."""
    script = os.path.join(folder, "free.lua")
    with open(script, "w") as file:
        file.write(f"local a, b, c = 0, 0, 0\nfor i = 1, {turns} do\n  a = a + i\n  b = b + a % 7\n"
                   "  c = c + b\nend\nreturn c\n")
    debug = [RLCTL, "-u", "private:", "debug", script, "-q", "--commands"]
    commands = {}
    for name, lines in {"": "continue\n", ", a condition": "break 4 if a < 0\ncontinue\n"}.items():
        file = os.path.join(folder, f"commands{len(commands)}")
        Path(file).write_text(lines)
        commands[f"`continue` over {turns:,} turns of three lines{name}"] = [*debug, file]
    commands["the same by `redis-cli --eval`, for comparison"] = [
        tool("redis-cli"), "-s", client.path, "--eval", script]
    wall, _ = in_turn(commands, rounds)
    return {name: statistics.median(each) for name, each in wall.items()}


def in_editor(folder, quick):
    """Times of `--dap`: a first stop, a step, and 10,000 turns of a loop with a breakpoint that does not stop."""
    sys.path.insert(0, os.path.join(ROOT, "tests", "support"))
    from dap import Client
    script, rounds, turns = os.path.join(folder, "dap.lua"), 2 if quick else 11, 100 if quick else 10_000
    with open(script, "w") as file:
        file.write("local sum = 0\nlocal function twice(n) return n * 2 end\n"
                   f"for i = 1, {turns} do\n  sum = sum + i\nend\nreturn sum\n")
    os.environ["PATH"] = os.path.dirname(RLCTL) + ":" + os.environ["PATH"]
    breakpoints = {
        f"a condition that is false {turns:,} times": {"condition": "i < 0"},
        "the same, with a function call": {"condition": "twice(i) < 0"},
        f"{turns:,} messages": {"logMessage": "i is {i}"},
    }
    times = {name: [] for name in ("the first stop", "a step", *breakpoints)}
    for _ in range(rounds):
        begin = time.monotonic()
        with Client("-u", "private:") as editor:
            editor.launch(script, stopOnEntry=True)
            editor.stopped()
            times["the first stop"].append(time.monotonic() - begin)
            begin = time.monotonic()
            for _ in range(100):
                editor.ask("next", threadId=1)
                editor.stopped()
            times["a step"].append((time.monotonic() - begin) / 100)
        for name, wanted in breakpoints.items():
            with Client("-u", "private:") as editor:
                editor.launch(script, stopOnEntry=True)
                editor.stopped()
                editor.breakpoints(script, [{"line": 4, **wanted}])
                begin = time.monotonic()
                editor.ask("continue", threadId=1)
                editor.ended()
                times[name].append(time.monotonic() - begin)
    return {name: 1e3 * statistics.median(each) for name, each in times.items()}


def traces(client, quick):
    rounds, turns = (2, 100) if quick else (41, 10_000)
    call = ["debug", "sliding-window-log", "k", "--limit", "5/60s", "--trace", "-q"]
    with tempfile.TemporaryDirectory(prefix="rlctl-bench.") as folder:
        loop = os.path.join(folder, "loop.lua")
        with open(loop, "w") as file:
            file.write(f"local sum = 0\nfor i = 1, {turns} do\n  sum = sum + i\nend\nreturn sum\n")
        commands = {
            "a private server, the key copied": [RLCTL, "-s", client.path, *call],
            "`--attach`": [RLCTL, "-s", client.path, *call, "--attach"],
            "`redis-cli PING`, for comparison": [tool("redis-cli"), "-s", client.path, "PING"],
        }
        wall, _ = in_turn(commands, rounds)
        whole = {name: statistics.median(each) for name, each in wall.items()}
        steps = {f"{2 * turns:,} lines of a loop": [RLCTL, "-u", "private:", "debug", loop,
                                                    "--trace", "-q"]}
        many, _ = in_turn(steps, 2 if quick else 5)
        whole |= {name: statistics.median(each) for name, each in many.items()}
        whole |= run_freely(client, folder, 20_000 if quick else 2_000_000, 2 if quick else 5)
        editor = in_editor(folder, quick)
    print(f"`rlctl debug sliding-window-log k --limit 5/60s --trace`, and scripts that consist of a "
          f"loop, traced\nor run with `continue`; the time of the whole process. {rounds} rounds, "
          "alternating; medians.\n")
    table(["", "ms"], [[name, f"{each:.0f}"] for name, each in whole.items()])
    names = list(whole)
    goals = {names[0]: ("a trace with a private server: less than 150 ms", 150),
             names[1]: ("a trace with `--attach`: less than 30 ms", 30),
             names[3]: (f"a trace of {2 * turns:,} lines: less than 0.5 s", 500),
             **{name: (f"{name}: less than 4 s", 4000) for name in names[4:6]}}
    for name, (text, most) in goals.items():
        goal(text, f"{whole[name]:.0f} ms", whole[name] < most)
    print("\n`rlctl -u private: debug --dap`, driven by a client in Python, which parses all that it gets.\n")
    table(["", "ms"], [[name, f"{each:.1f}"] for name, each in editor.items()])
    for name, most in zip(editor, (60, 1, 100, 1000, 2000)):
        goal(f"`--dap`: {name}: less than {most:,} ms", f"{editor[name]:.1f} ms", editor[name] < most)
