"""The tests that may be repeated once after a failure: the rows of tests/flaky.

A row is `FILE | TEST | WHY | COMMIT`, where COMMIT is the one since which the test is listed. A test that hangs, crashes,
or fails with a wrong count is never repeated.
"""

import re

from files import TESTS, git

MOST = 5
# A failure that speaks of these may be a wrong count, which is the worst fault that rlctl can have.
COUNTS = re.compile(r"allowed|denied|\bunits\b|Sanitizer|runtime error:|test case CRASHED|core dumped")


def read():
    """(file, test) of each row. Raises ValueError if a row is wrong, or one too many."""
    rows = [line for line in (TESTS / "flaky").read_text().splitlines() if line and not line.startswith("#")]
    if len(rows) > MOST:
        raise ValueError(f"tests/flaky has {len(rows)} rows, and {MOST} at most: mend a test")
    listed = set()
    for row in rows:
        file, test, why, commit = ([cell.strip() for cell in row.split("|")] + [""] * 4)[:4]
        path = TESTS / file
        if not file or not path.is_file() or test not in path.read_text() or not why:
            raise ValueError(f"tests/flaky: there is no such test, or no reason: {row}")
        has_history = git("rev-parse", "--is-shallow-repository") == "false"
        if not commit or has_history and git("cat-file", "-e", f"{commit}^{{commit}}") is None:
            raise ValueError(f"tests/flaky: there is no commit '{commit}': {row}")
        listed.add((file, test))
    return listed


def may_repeat(listed, job, result, ended, log):
    """Whether each test of the job that failed is listed, and failed in a way that a busy machine may explain."""
    return (bool(result.failed) and all((job.file, name) in listed for name in result.failed)
            and not ended.hung and 0 <= ended.status < 128 and not COUNTS.search(log))
