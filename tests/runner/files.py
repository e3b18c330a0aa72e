"""The files of tests: which there are, and what each says of itself.

A comment in a file's first lines may hold a word and, behind a colon, what it says:

    needs: server   The file starts servers. Only such a file can, and it can be repeated on other servers.
    alone: WHY      The file needs a quiet machine. It runs after all others, two at a time.
    night: WHY      The file runs only at night (RLCTL_TEST_ALL=1).
    threads: WHAT   This has threads. The file runs under ThreadSanitizer, in a program of its own.
"""

import fnmatch
import functools
import os
import re
import subprocess
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
ROOT = TESTS.parent

# The tests of the project itself (documents, layers, packages), and of mutants and random limiters: they run once, with
# the release build and the installed server.
OF_PROJECT = ("project/", "packaging/", "night/exactness/", "night/mutation/", "night/differential/")
AT_NIGHT = bool(os.environ.get("RLCTL_TEST_ALL"))


def git(*words):
    """What git prints, without the line's end, or None where it fails: if git is missing, if the project was unpacked from
    an archive, or if git distrusts the tree because another user owns it. The tests must not depend on git."""
    try:
        run = subprocess.run(["git", "-C", ROOT, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    except FileNotFoundError:
        return None
    return run.stdout.rstrip("\n") if run.returncode == 0 else None


@functools.cache
def head(file):
    """The words of a file's first lines, with what each says."""
    with open(TESTS / file, encoding="utf-8") as lines:
        first = [line for line, _ in zip(lines, range(10))]
    return dict(match.groups() for line in first if (match := re.match(r"(?:#|//) (needs|alone|night|threads): (.+)", line)))


def needs_server(file):
    return "server" in head(file).get("needs", "").split()


def is_of_project(file):
    return file.startswith(OF_PROJECT)


def runs_on_servers(file):
    """Whether it runs on each server of RLCTL_TEST_SERVERS."""
    return needs_server(file) and not is_of_project(file)


def is_named(file, name):
    """Whether a name that the user has given means this file: its path or the end of it, with or without the suffix,
    or a folder, or a pattern; of a name that begins with tests/, the whole path."""
    name = name.removeprefix("./").rstrip("/")
    name = "/" + name.removeprefix("tests/") if name.startswith("tests/") else "*/" + name
    return any(fnmatch.fnmatchcase("/" + file, name + end) for end in ("", ".bats", ".cc", ".t", "/*"))


def find(names):
    """The files that the names mean, or all, without those that a name with a ! before it means. Raises ValueError for a
    name that means none."""
    paths = [path for form in ("*_test.cc", "*.bats", "*.t") for path in TESTS.rglob(form)]
    files = sorted(str(path.relative_to(TESTS)) for path in paths)
    for name in names:
        if not any(is_named(file, name.removeprefix("!")) for file in files):
            raise ValueError(f"no such test: {name}; tests/run --list shows all")
    wanted = [name for name in names if not name.startswith("!")] or ["*"]
    left_out = [name[1:] for name in names if name.startswith("!")]
    return [file for file in files if any(is_named(file, name) for name in wanted)
            and not any(is_named(file, name) for name in left_out)]
