"""What tests cost in seconds of the processor, and what they may cost.

tests/times has the cost of each file, as `tests/run --record-times` measured it; tests/budget has what each folder may
cost. Both are in seconds of a machine on which tests/runner/calibrate takes one second of the processor: a run measures
that before and after its tests, so that a slow machine is not blamed. A machine whose neighbours are busy slows some work down
far more than that loop, and for a while; so the run is compared with itself, too: what the usual file costs above its
record, all may cost. (What slows all files down is then found by the budgets of .ci/run's parts, which know no usual file.)
"""

import hashlib
import statistics
import subprocess

from files import TESTS

TIMES = TESTS / "times"
BUDGET = TESTS / "budget"
NAMED, FAILED = 1.15, 1.40  # how much of its budget a folder uses when it is named, and when the run fails
FILE_NAMED, FILE_FAILED = 2.0, 4.0  # the same for a file, of its recorded cost
LEAST_TELLING = 1  # seconds that a file must cost to tell something of the usual one
FILE_SECONDS = 3  # a file that costs less than this above its record is not named, nor below twice that does it fail

HEADER = """# The cost of each file of tests: seconds of the processor, seconds of the clock, and its name.
# Written by tests/run --record-times, never by hand: the next line is the SHA-256 of the rows.
"""


def calibrate():
    """Seconds of the processor that the fixed work takes now."""
    return float(subprocess.run([TESTS / "runner/calibrate"], check=True, capture_output=True, text=True).stdout)


def read_times():
    """file → (processor, clock). Raises ValueError if the rows are not those that a run has written."""
    lines = TIMES.read_text().splitlines()
    rows = [line for line in lines if line and not line.startswith("#")]
    if f"# {digest(rows)}" not in lines:
        raise ValueError("tests/times was edited by hand; tests/run --record-times writes it")
    return {file: (float(processor), float(clock)) for processor, clock, file in map(str.split, rows)}


def write_times(costs):
    rows = [f"{processor:.1f} {clock:.0f} {file}" for file, (processor, clock) in sorted(costs.items())]
    TIMES.write_text(HEADER + f"# {digest(rows)}\n" + "\n".join(rows) + "\n")


def digest(rows):
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()


def read_budget():
    """folder → seconds. The rows that begin with .ci/ are parts of .ci/run."""
    rows = [line.split() for line in BUDGET.read_text().splitlines() if line and not line.startswith("#")]
    return {folder: float(seconds) for folder, seconds in rows}


def folder_of(file, budget):
    """The row of the budget that a file belongs to: the longest folder that it is in, or `rest`."""
    return max((folder for folder in budget if file.startswith(folder + "/")), key=len, default="rest")


def usual_excess(costs, recorded):
    """How many times its record the usual file costs; at least 1."""
    excesses = [costs[file] / recorded[file][0] for file in costs.keys() & recorded.keys()
                if recorded[file][0] >= LEAST_TELLING]
    return max(1, statistics.median(excesses or [1]))


def judge(costs, recorded, budget):
    """Compares the costs of a whole run (file → seconds) with the budget and the records. Returns the lines to print
    and the number of those that are failures."""
    excess = usual_excess(costs, recorded)
    costs = {file: cost / excess for file, cost in costs.items()}
    sums = dict.fromkeys((folder for folder in budget if not folder.startswith(".ci/")), 0.0)
    lines, failed = [f"costs: the usual file costs {excess:.2f} of its record, and so may all"], 0
    for file, cost in costs.items():
        sums[folder_of(file, budget)] += cost
        usual = recorded.get(file, (cost, 0))[0]
        if cost > FILE_FAILED * usual and cost > usual + 2 * FILE_SECONDS:
            failed += 1
            lines.append(f"FAILED budget: tests/{file} costs {cost:.1f} s of the processor, and {usual:.1f} s in "
                         "tests/times: make it cheaper, or record its time")
        elif cost > FILE_NAMED * usual and cost > usual + FILE_SECONDS:
            lines.append(f"costly: tests/{file} costs {cost:.1f} s of the processor, and {usual:.1f} s in tests/times")
    for folder, cost in sums.items():
        share = cost / budget[folder]
        said = f"tests/{folder} costs {cost:.0f} s of the processor; its budget is {budget[folder]:.0f} s"
        if share > FAILED:
            failed += 1
            lines.append(f"FAILED budget: {said}: make a test cheaper, or move one to the night")
        elif share > NAMED:
            lines.append(f"costly: {said}")
    return lines, failed
