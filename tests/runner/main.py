"""Runs the tests; tests/run installs what is needed, describes the options, and starts this."""

import argparse
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import costs
import files
import flaky
from files import git
from jobs import Job, Runner, is_alone
from results import read_bats, read_doctest

ROOT, TESTS = files.ROOT, files.TESTS
MOST_SHOWN = 100  # lines of a log


def read_options(arguments):
    parser = argparse.ArgumentParser(prog="tests/run", add_help=False, allow_abbrev=False)
    parser.add_argument("names", nargs="*")
    parser.add_argument("-f", dest="words", default="")
    parser.add_argument("-j", dest="jobs", type=int, default=3 * os.cpu_count())
    parser.add_argument("--preset", default="release", choices=["release", "dev", "sanitize", "thread"])
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--only-servers", action="store_true")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--judge-costs", action="store_true")
    parser.add_argument("--record-times", action="store_true")
    parser.add_argument("--accept", action="store_true")
    options = parser.parse_intermixed_args(arguments)
    options.is_complete = not (options.names or options.words or options.only_servers) and options.preset == "release"
    return options


def shell(command, *words):
    """Runs a command of cmake/prepare.sh or tests/support/servers.bash. A signal that ends this process ends the command."""
    script = 'root=$1; shift; . "$root/cmake/prepare.sh"; . "$root/tests/support/servers.bash"; "$@"'
    process = subprocess.Popen(["bash", "-c", script, "bash", ROOT, command, *words], process_group=0)
    try:
        return process.wait()
    except BaseException:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()
        raise


def offset():
    """A number that the commit chooses, for tests that try a part of something, and at the next commit another part.
    Without a commit, as in an unpacked archive, it is 0."""
    return str(int(git("rev-parse", "HEAD") or "0", 16) % 1000)


def chosen_files(options):
    chosen = files.find(options.names)
    if options.preset != "release":
        chosen = [file for file in chosen if not files.is_of_project(file)]
    if options.preset == "thread":
        chosen = [file for file in chosen if "threads" in files.head(file)]
    if not files.AT_NIGHT:
        at_night = [file for file in chosen if "night" in files.head(file)]
        for file in at_night:
            if any(files.is_named(file, name) and "/" in name for name in options.names):
                print(f"not run: {file} runs only at night: RLCTL_TEST_ALL=1 runs it now")
        chosen = [file for file in chosen if file not in at_night]
    if options.only_servers:
        chosen = [file for file in chosen if files.runs_on_servers(file)]
    return chosen


def make_jobs(options, chosen, build):
    """A job for each file, and for each server of RLCTL_TEST_SERVERS."""
    jobs = [] if options.only_servers else [Job(file) for file in chosen]
    servers = os.environ.get("RLCTL_TEST_SERVERS")
    if options.only_servers and not servers:
        raise ValueError("--only-servers: RLCTL_TEST_SERVERS names none")
    if servers:
        wrappers = build / "servers"
        shutil.rmtree(wrappers, ignore_errors=True)
        wrappers.mkdir(parents=True)
        if shell("make_wrappers", servers, wrappers):
            raise ValueError(f"no servers in {servers}")
        for file in chosen:
            if files.runs_on_servers(file):
                jobs += [Job(file, str(wrapper)) for wrapper in sorted(wrappers.iterdir())]
    for name in options.names:
        if not name.startswith("!") and not any(files.is_named(job.file, name) for job in jobs):
            raise ValueError(f"{name}: nothing to run" + (
                ": no file says that it needs a server" if options.only_servers else ""))
    return jobs


class Suite:
    """Runs jobs, prints what becomes of them, and counts."""

    def __init__(self, runner, total, build):
        self.runner, self.total, self.build = runner, total, build
        self.listed = flaky.read()
        self.passed = self.failed = self.ended = self.not_run = 0
        self.skipped, self.flaky, self.failures, self.ends = [], [], [], {}

    def run(self, jobs, at_a_time):
        for job, end in self.runner.run_all(jobs, at_a_time):
            self.ended += 1
            self.report(job, end)

    def read(self, job, end):
        log_file = self.runner.log(job)
        log = log_file.read_text(errors="replace")
        result = read_doctest(log) if job.file.endswith(".cc") else read_bats(log, (TESTS / job.file).read_text())
        if end.status and not result.failed:
            result.failed.append("a program that ended with a failure")
        if not result.total and result.not_run <= 0 and not self.runner.words:
            result.failed.append("no test in it")
        if any(not why.startswith("needs ") for why in result.skipped):
            result.failed.append("a test that is skipped and does not say what it needs")
        if end.hung:
            with open(log_file, "a") as file:
                file.write(f"ended after {end.clock:.0f} s: what comes after the last result did not end by itself\n")
        return result, log

    def report(self, job, end):
        result, log = self.read(job, end)
        repeated = flaky.may_repeat(self.listed, job, result, end, log) and self.repeat(job, result)
        self.ends[job] = (end, result)
        self.not_run += max(result.not_run, 0) if not self.runner.words else 0
        self.skipped += result.skipped
        self.passed += result.passed + (len(result.failed) if repeated else 0)
        place = f"{self.ended:{len(str(self.total))}}/{self.total}"
        took = f"{end.clock:.0f} s"
        if repeated:
            self.flaky += [f"{job}: {name}" for name in result.failed]
            print(f"{place} flaky  {job!s:<46} {len(result.failed)} of {result.total}, {took}")
        elif result.failed:
            self.failed += len(result.failed)
            self.failures.append(job)
            print(f"{place} FAILED {job!s:<46} {len(result.failed):4} of {result.total}, {took}, status {end.status}")
        elif result.total:
            print(f"{place} ok     {job!s:<46} {result.total:4} tests, {took}")

    def repeat(self, job, result):
        again = Job(job.file, job.server, tuple(result.failed))
        second, _ = self.read(again, self.runner.run(again))
        return second.passed == len(result.failed) and not second.failed

    def show(self, job):
        """Everything that a job printed, except the tests that passed, up to a reasonable length."""
        lines = [line for line in self.runner.log(job).read_text(errors="replace").splitlines()
                 if not line.startswith(("ok ", "1.."))]
        print("\n".join("    " + line for line in lines[:MOST_SHOWN]))
        if len(lines) > MOST_SHOWN:
            logs = self.build / "test-logs"
            logs.mkdir(exist_ok=True)
            shutil.copy(self.runner.log(job), logs)
            print(f"    … all of it: {logs / self.runner.log(job).name}")


def validate_json(options, suite):
    """Validates the JSON that rlctl wrote in the tests. None may have been written."""
    folder = os.environ.get("RLCTL_TEST_JSON")
    if not folder or not (options.is_complete or any(Path(folder).iterdir())):
        return
    command = [TESTS / "schema/validate", *(["--complete"] if options.is_complete else []), folder]
    ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    *said, last = ran.stdout.splitlines()
    print("FAILED" if ran.returncode else "ok    ", f"schemas: {last}")
    for line in said:
        print("    " + line)
    if ran.returncode:
        suite.failed += 1
    else:
        suite.passed += 1


def report_costs(options, suite, times, before):
    """Lists what the files cost, and compares it with their budgets or records it, as far as the options say so. Only a
    complete run can be compared or recorded."""
    spent = {job.file: end.processor for job, (end, _) in suite.ends.items()}
    if options.profile:
        print("  clock  processor  tests")
        for job, (end, result) in sorted(suite.ends.items(), key=lambda item: -item[1][0].processor):
            print(f"{end.clock:7.0f} {end.processor:10.1f} {result.total:6}  {job}"
                  + "".join(f"; {result.skipped.count(why)} {why}" for why in sorted(set(result.skipped))))
        print(f"{sum(end.clock for end, _ in suite.ends.values()):7.0f} {sum(spent.values()):10.1f}         all")
    if not before:
        return
    slowness = max(before, costs.calibrate())
    spent = {file: cost / slowness for file, cost in spent.items()}
    budget = costs.read_budget()
    lines, failed = costs.judge(spent, times, budget)
    if not options.judge_costs:
        lines = [line.removeprefix("FAILED ") for line in lines]
    print("\n".join([*lines, f"costs: {sum(spent.values()):.0f} s of the processor, with one second for "
                            f"{slowness:.2f} s of this machine"]))
    suite.failed += failed if options.judge_costs else 0
    if options.record_times:
        if suite.failures or suite.flaky:
            print("the times were not recorded, because not all files passed")
            suite.failed += 1
            return
        # A file whose tests were skipped keeps its time.
        kept = {job.file for job, (_, result) in suite.ends.items() if len(result.skipped) == result.total}
        costs.write_times({job.file: times[job.file] if job.file in kept & times.keys() else
                           (spent[job.file], end.clock) for job, (end, _) in suite.ends.items()})


def main():
    options = read_options(sys.argv[1:])
    if options.accept and os.environ.get("CI"):
        raise ValueError("--accept: not where CI is set, since somebody must read the diff")
    chosen = chosen_files(options)
    if options.accept:
        chosen = [file for file in chosen if file.endswith(".t")]
    if options.list:
        print("\n".join(chosen))
        return 0
    times = costs.read_times()
    build = ROOT / "build" / options.preset
    if options.preset == "sanitize":
        # Each level of a recursion takes several times as much of the stack as in an optimized program.
        resource.setrlimit(resource.RLIMIT_STACK, (64 << 20, resource.getrlimit(resource.RLIMIT_STACK)[1]))
    targets = ["rlctl_tests"] if options.preset == "thread" else ["rlctl", "rlctl_tests", "man"]
    if files.AT_NIGHT and options.preset == "release":
        targets += ["rlctl_mutants", "rlctl_mutant_tests"]
    if shell("build", options.preset, *targets):
        return 1
    jobs = sorted(make_jobs(options, chosen, build), key=lambda job: -times.get(job.file, (0, 0))[1])
    os.environ["RLCTL_BUILD"] = str(build)
    os.environ.setdefault("RLCTL_TEST_SEED", "1")
    os.environ.setdefault("RLCTL_TEST_OFFSET", offset())
    # The user's own connection settings must not reach the tests.
    for name in ("RLCTL_URL", "RLCTL_CONFIG", "REDISCLI_AUTH", "RLCTL_TEST_JSON"):
        os.environ.pop(name, None)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        work = Path(folder)
        # A sanitizer must be the first library that is loaded, and so cannot have the recorder's before it.
        if options.preset not in ("sanitize", "thread"):
            (work / "json").mkdir()
            os.environ["RLCTL_TEST_JSON"] = str(work / "json")
        suite = Suite(Runner(build, work, options.words, times, options.accept), len(jobs), build)
        looks_at_costs = options.profile or options.judge_costs or options.record_times
        is_usual = options.is_complete and not files.AT_NIGHT and not os.environ.get("RLCTL_TEST_SERVERS")
        before = costs.calibrate() if looks_at_costs and is_usual else None
        suite.run([job for job in jobs if not is_alone(job)], options.jobs)
        suite.run([job for job in jobs if is_alone(job)], min(options.jobs, 2))
        validate_json(options, suite)
        report_costs(options, suite, times, before)
        for why, count in sorted(Counter(suite.skipped).items()):
            print(f"skipped: {count} tests {why.replace('needs', 'need', 1)}" if count > 1 else f"skipped: 1 test {why}")
        for job in suite.failures:
            print(f"FAILED: {job}:")
            suite.show(job)
        for line in suite.flaky:
            print(f"flaky: {line}: it failed, and passed when it was repeated")
    if suite.not_run:
        print(f"only at night: {suite.not_run} tests of these files")
    print(f"flaky: {len(suite.flaky)}")
    print(f"{suite.passed} passed, {suite.failed} failed, {len(suite.skipped)} skipped")
    return 0 if suite.passed and not suite.failed else 1


if __name__ == "__main__":
    # Whoever starts this in the background may have made it ignore these signals, and all that it starts would too.
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    sys.stdout.reconfigure(line_buffering=True)
    try:
        sys.exit(main())
    except ValueError as error:
        print(f"tests/run: {error}", file=sys.stderr)
        sys.exit(2)
