"""Runs files of tests as processes, several at a time."""

import concurrent.futures
import os
import re
import signal
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from files import AT_NIGHT, ROOT, TESTS, head, needs_server
from programs import make_path

LEAST_LIMIT = 300  # seconds of the clock that each file may take


@dataclass(frozen=True)
class Job:
    """A file of tests, on a server other than the installed one if `server` is the path of a program that starts it."""

    file: str
    server: str = ""
    tests: tuple[str, ...] = ()  # only these, by their names

    def __str__(self):
        return f"{self.file} on {Path(self.server).name}" if self.server else self.file


@dataclass(frozen=True)
class End:
    """How a job ended."""

    status: int  # -n for signal n
    hung: bool
    processor: float  # seconds, of the process and all that it has waited for
    clock: float


class Runner:
    """Starts jobs. Each leads a group of processes, which is ended with it."""

    def __init__(self, build, work, words, times, accept=False):
        self.build, self.work, self.words, self.times, self.accept = build, work, words, times, accept
        self.groups = set()
        # Some tests run a program as another user.
        work.chmod(0o711)
        # A process that a test kills leaves its temporary files, which go with this folder.
        (work / "t").mkdir()
        (work / "t").chmod(0o1777)
        self.variables = {"PATH": make_path(work / "programs"), "RLCTL_TEST_PATH": os.environ["PATH"],
                          "TMPDIR": str(work / "t")}
        # A file that does not say that it needs a server gets none.
        self.no_server = work / "no-server"
        self.no_server.write_text("#!/bin/sh\necho 'this file of tests has no line \"needs: server\"' >&2\nexit 1\n")
        self.no_server.chmod(0o755)

    def log(self, job):
        return self.work / (str(job).replace("/", "_") + (".again" if job.tests else ""))

    def command(self, job):
        if job.file.endswith(".cc"):
            command = [self.build / "tests/rlctl_tests", "--no-intro", f"--source-file=*/{job.file}"]
            if self.words:
                command.append(f"--test-case=*{self.words}*")
            if job.tests:
                command.append("--test-case=" + ",".join(name.replace(",", "\\,") for name in job.tests))
            return command
        if job.file.endswith(".t"):
            # A repetition runs all of them.
            return [self.build / "tests/rlctl_transcripts", *(["--accept"] if self.accept else []), TESTS / job.file,
                    *([self.words] if self.words else [])]
        command = ["bats", "--tap", "--print-output-on-failure"]
        if not AT_NIGHT:
            command += ["--filter-tags", "!night"]
        if self.words or job.tests:
            chosen = "|".join(f"^{as_pattern(name)}$" for name in job.tests)
            command += ["--filter", chosen or as_pattern(self.words)]
        return [*command, TESTS / job.file]

    def limit(self, job):
        """Seconds of the clock after which a job is ended. (bats's own timeout for a test does not kill what the test
        has started, and is itself a child for which a plain `wait` in a test would wait.)"""
        limit = max(LEAST_LIMIT, 20 * self.times.get(job.file, (0, 0))[1])
        return limit + 7200 if AT_NIGHT else limit

    def run(self, job):
        environment = {**os.environ, **self.variables}
        if not needs_server(job.file):
            environment["RLCTL_REDIS_SERVER"] = str(self.no_server)
        elif job.server:
            environment["RLCTL_REDIS_SERVER"] = job.server
        start, hung = time.monotonic(), threading.Event()
        with open(self.log(job), "wb") as log:
            process = subprocess.Popen(self.command(job), stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=ROOT,
                                       env=environment, process_group=0)
        self.groups.add(process.pid)

        def end_it():
            hung.set()
            end_group(process.pid)

        timer = threading.Timer(self.limit(job), end_it)
        timer.start()
        _, wait_status, usage = os.wait4(process.pid, 0)
        timer.cancel()
        self.groups.discard(process.pid)
        process.returncode = os.waitstatus_to_exitcode(wait_status)
        return End(process.returncode, hung.is_set(), usage.ru_utime + usage.ru_stime, time.monotonic() - start)

    def run_all(self, jobs, at_a_time):
        """Yields (job, its End) as they end."""
        with concurrent.futures.ThreadPoolExecutor(at_a_time) as pool:
            running = {pool.submit(self.run, job): job for job in jobs}
            try:
                for future in concurrent.futures.as_completed(running):
                    yield running[future], future.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                for group in list(self.groups):
                    end_group(group)
                raise


def end_group(group):
    """Ends a group of processes: by SIGTERM, on which bats cleans up, and ten seconds later by SIGKILL."""
    try:
        os.killpg(group, signal.SIGTERM)
        for _ in range(100):
            time.sleep(0.1)
            os.killpg(group, 0)
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass


def as_pattern(text):
    """A regular expression for bats that means this text."""
    return re.sub(r"[][\\.*^$(){}+?|]", r"\\\g<0>", text)


def is_alone(job):
    return "alone" in head(job.file)
