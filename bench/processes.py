"""Times programs as whole processes, and compares them."""

import json
import os
import shutil
import statistics
import subprocess
import sys
import time

from common import ROOT, CannotRun

RLCTL = str(ROOT / "build/release/cli/rlctl")


def tool(name):
    """The path of a program that this system has, perhaps by Valkey's name."""
    found = shutil.which(name) or shutil.which(name.replace("redis", "valkey"))
    if not found:
        raise CannotRun(f"there is no {name}")
    return os.path.realpath(found) if name == "redis-cli" else found


def timed(command):
    """Runs a command and discards its output; returns its wall time and its CPU time, in ms."""
    actions = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_WRONLY, 0) for fd in (1, 2)]
    start = time.perf_counter()
    process = os.posix_spawn(command[0], command, os.environ, file_actions=actions)
    _, status, usage = os.wait4(process, 0)
    wall = time.perf_counter() - start
    if status != 0:
        raise CannotRun(f"{' '.join(command)} ended with status {os.waitstatus_to_exitcode(status)}")
    return 1000 * wall, 1000 * (usage.ru_utime + usage.ru_stime)


def in_turn(commands, rounds, before=lambda: None):
    """Runs each command once a round, and `before` before each; returns the wall and CPU ms of each, by name."""
    wall, cpu = {name: [] for name in commands}, {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            before()
            milliseconds, used = timed(command)
            wall[name].append(milliseconds)
            cpu[name].append(used)
    return wall, cpu


def median_ratio(mine, theirs):
    """The median of the rounds' ratios, which differ less than the times if the machine is busy."""
    return statistics.median(a / b for a, b in zip(mine, theirs) if b)


# The peak of a process counts what its parent had when it started it, so a small process starts it.
MEASURING = """
import json, resource, subprocess, sys, time
start = time.perf_counter()
status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
wall, usage = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([status, wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024]))
"""


def measured(command):
    """Runs a command; returns its seconds, the CPU seconds of it and its children, and its peak memory in MB."""
    done = subprocess.run([sys.executable, "-S", "-c", MEASURING, *command], capture_output=True, check=True)
    status, *usage = json.loads(done.stdout)
    if status != 0:
        raise CannotRun(f"{' '.join(command)} ended with status {status}")
    return usage
