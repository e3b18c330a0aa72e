"""Reads what bats and doctest print about the tests of a file."""

import re
from dataclasses import dataclass, field


@dataclass
class Result:
    """What became of the tests of a job."""

    passed: int = 0
    failed: list[str] = field(default_factory=list)  # names
    skipped: list[str] = field(default_factory=list)  # for each test, "needs …"
    not_run: int = 0  # tests that only run at night

    @property
    def total(self):
        return self.passed + len(self.failed) + len(self.skipped)


def read_bats(log, source):
    """TAP, and the test file, which may have more tests than bats has planned."""
    result = Result()
    for line in log.splitlines():
        if match := re.match(r"ok \d+ .* # skip ?(.*)$", line):
            result.skipped.append(match[1])
        elif re.match(r"ok \d+ ", line):
            result.passed += 1
        elif match := re.match(r"not ok \d+ (.*?)(?: # in .*)?$", line):
            result.failed.append(match[1])
    planned = re.search(r"^1\.\.(\d+)$", log, re.MULTILINE)
    missing = int(planned[1]) - result.total if planned else 0
    result.failed += ["a test that did not run"] * missing
    result.not_run = len(re.findall(r"^@test ", source, re.MULTILINE)) - result.total
    return result


def read_doctest(log):
    """doctest's own report. A program that crashed has not printed its counts."""
    result = Result()
    result.skipped = re.findall(r"MESSAGE: skipped: (.*)", log)
    if counts := re.search(r"^\[doctest\] test cases: .*\| *(\d+) passed \| *(\d+) failed", log, re.MULTILINE):
        result.passed = int(counts[1]) - len(result.skipped)
    for block in re.split(r"^={20,}$", log, flags=re.MULTILINE):
        name = re.search(r"^TEST CASE:  (.*)$", block, re.MULTILINE)
        if name and re.search(r"\bERROR: ", block) and name[1] not in result.failed:
            result.failed.append(name[1])
    if counts:
        result.failed += ["a test"] * (int(counts[2]) - len(result.failed))
    return result
