"""The traffic with which `rlctl burst` must notice what is wrong with a mutant of lua/sliding-window-log.lua, which it
runs as somebody's script. A run notices a mutant if an assertion does not hold, the script fails, or it never ends."""

import resource
import subprocess

FILE = "lua/sliding-window-log.lua"

# What no run changes or reaches: the checks of the arguments, refunds and peeks, keys of other types.
UNREACHED = [
    r"(local KEYS, ARGV.*?)local cost,",
    r"local cost, [^\n]*(, 0\n.*?)if now == ''",
    r"(if not \(now and[^\n]*)",
    r"if not \(limit(.*?)if kept",
    r"-- an error is a table(.*?)local oldest",
    r"if not \(newest(.*?)\n    if newest > now",
    r"if cost < 0 then(.*?)elseif cost >",
    r"if cost == 0 then (return [^\n]*)",
    r"if cost < 0 and gone == length then\n([^\n]*)",
    r"if cost < 0 then (return [^\n]*)",
]

ALLOWED = "r[1] == 1 and r[3] == 0 and r[5] == 0 and r[6] == 0"
DENIED = "r[1] == 0 and r[5] == 0 and r[6] == 1 and (r[3] > 0 or r[3] == -1)"
NOT_DENIED = f"not ({DENIED})"
NOTHING_LEFT_OR_ALLOWED = f"not ({DENIED} and r[2] == 0)"
ARGUMENTS = '{limit} {window_us} "" {cost} {now_us}'

BOUNDS = ["worst<=1"]
STATE = BOUNDS + ["remaining_too_many==0", "remaining_too_few==0", "reset_after_too_early_us==0",
                  "reset_after_too_late_us==0"]
# If requests are denied, and allowed again later.
PROMISES = STATE + ["retry_after_broken==0", "retry_after_too_early_us==0", "retry_after_too_late_us==0"]
SEARCH = BOUNDS + ["most_stepping_back<=1", "wrongly_denied==0"]


def run(traffic, arguments, assertions, *options, keys=(), allowed=ALLOWED, unit="us", reads=True):
    words = traffic.split()
    command = [*([] if words[0] == "adversary" else ["burst"]), *words, *options, "--args", arguments, "--allowed-when", allowed]
    for key in keys:
        command += ["--keys", "{key}:" + key]
    if reads:
        command += ["--head", "remaining r[2]", "--head", f"retry_after r[3] {unit}",
                    "--head", f"reset_after r[4] {unit}"]
    for assertion in assertions:
        command += ["--assert", assertion]
    return command


RUNS = {
    "ones": run("--replay ones.log --limit 3/20s", ARGUMENTS, PROMISES, allowed=NOTHING_LEFT_OR_ALLOWED),
    "costs": run("--replay costs.log --limit 5/20s", ARGUMENTS, PROMISES),
    "thousands": run("--replay thousands.log --limit 5000/60s", ARGUMENTS, STATE, allowed=NOT_DENIED),
    "clock": run("poisson --limit 4/6000s --cost 2 --requests 100", '{limit} {window_us} "" {cost}', PROMISES),
    "ttl": run("--replay ttl.log --limit 3/6000s", "{limit} {window_us}", STATE),
    "ttl_given": run("--replay ttl.log --limit 3/6000s", '{limit} {window_us} "" 9 {window_us} "" {cost} {now_us}',
                     STATE, keys="ab"),
    "first_key": run("--replay costs.log --limit 5/20s", '{limit} {window_us} "" 5 15000000 "" {cost} {now_us}',
                     PROMISES, keys="ab"),
    "last_key": run("--replay costs.log --limit 5/20s", '5 15000000 "" {limit} {window_us} "" {cost} {now_us}',
                    PROMISES, keys="ba"),
    "never": run("--replay costs.log --limit 3/20s", '{limit} {window_us} "" 5 {window_us} "" {cost} {now_us}',
                 PROMISES, keys="ab", allowed=NOT_DENIED),
    # A clock of its own, whose µs last a ms.
    "slow_clock": run("--replay ones.log --limit 3/20s",
                      '{limit} {window_ms} "" {limit} {window_ms} "" {cost} {now_ms}', PROMISES, keys="ab", unit="ms"),
    # Here the costs are limits, and windows.
    "limits": run("--replay costs.log", '{cost} 20000000 "" 1 {now_us}', ["allowed==119"],
                  allowed=NOTHING_LEFT_OR_ALLOWED, reads=False),
    "windows": run("--replay windows.log", '2 {cost}{cost}00000000 "" 1 {now_us}', ["allowed==242"], reads=False),
    "search": run("adversary --limit 3/60s --tries 300", ARGUMENTS, SEARCH, allowed=NOT_DENIED, reads=False),
}


def make_log(path, requests, unit, most, costs):
    """Whole units between the requests, so that they meet the edges of windows, and now and then a silence."""
    state, at, lines = 1, 1800000000, []

    def below(bound):
        nonlocal state
        state = (state * 1103515245 + 12345) % 2**31
        return (state >> 8) % bound

    for _ in range(requests):
        at += unit * (below(most) + (0 if below(25) else below(90)))
        lines.append(f"{at} k {costs[below(len(costs))]}\n")
    path.write_text("".join(lines))


def make_logs(folder):
    make_log(folder / "ones.log", 150, 1, 6, [1])
    make_log(folder / "costs.log", 250, 1, 4, [1, 2, 3, 4, 5, 6, 7])
    make_log(folder / "thousands.log", 60, 1, 15, [1000, 1001, 2000, 2500])
    make_log(folder / "windows.log", 400, 1000, 4, [1, 3, 5, 7])
    # For a window of 6000 s. The script sets TTLs of 7500 s or more, and again once less than 6000 s are left.
    offsets = [0, 1497, 1497, 7495, 7495, 7495, 100000, 104000, 107600, 107600, 107600]
    (folder / "ttl.log").write_text("".join(f"{1800000000 + offset} k\n" for offset in offsets))


class Judge:
    def __init__(self, build_folder, work, original):
        self.rlctl = build_folder / "cli/rlctl"
        self.work = work
        make_logs(work)
        for name in RUNS:
            if self.notices(name, original):
                raise RuntimeError(f"the run '{name}' finds something wrong with {original}")

    def fate(self, mutant):
        """The first run that notices the mutant, or 'survived'."""
        return next((name for name in RUNS if self.notices(name, mutant.path)), "survived")

    def notices(self, name, script):
        ran = subprocess.run([self.rlctl, "--timeout", "1h", *RUNS[name], "-q", script],
                             cwd=self.work, capture_output=True, text=True, preexec_fn=limit_cpu)
        # 1: an assertion does not hold; 5: the script failed; 3: the server ended.
        if ran.returncode not in (0, 1, 3, 5):
            raise RuntimeError(f"the run '{name}' of {script} ended with status {ran.returncode}: {ran.stderr}")
        return ran.returncode != 0


def limit_cpu():
    """A script that never ends does so with its server, however busy the machine is."""
    resource.setrlimit(resource.RLIMIT_CPU, (5, 5))
