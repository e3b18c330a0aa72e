"""The programs that each test may call: those of Debian's essential packages, and those of the packages that tests/run
installs, which are rows of cmake/prepare.sh. A test declares any other with `needs` of tests/support/common.bash, which
looks for it in RLCTL_TEST_PATH.

Without dpkg, which knows the essential packages, a test may call every program in PATH.
"""

import os
import shutil
import subprocess
from pathlib import Path

from files import ROOT

GROUPS = ("build", "server", "test")
FOLDERS = ("/bin", "/sbin", "/usr/bin", "/usr/sbin")


def rows_of(*command):
    """The words of each line that the command prints, but for empty lines."""
    ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return [line.split() for line in ran.stdout.splitlines() if line]


def make_path(folder):
    """Fills the folder with links to the programs, and returns the PATH of tests."""
    if not shutil.which("dpkg-query"):
        return os.environ["PATH"]
    table = rows_of("sh", "-c", 'root=$1; . "$root/cmake/prepare.sh"; needed', "sh", ROOT)
    rows = [row for row in table if row[0] in GROUPS]
    essential = [row[1] for row in rows_of("dpkg-query", "-W", "-f", "${Essential} ${Package}\n") if row[0] == "yes"]
    # A row's sign may be an alternative, such as awk, or a program that no package has installed.
    names = {sign for row in rows for sign in row[2:] if "/" not in sign}
    listed = [Path(row[0]) for row in rows_of("dpkg-query", "-L", *essential, *(row[1] for row in rows))]
    names.update(path.name for path in listed if str(path.parent) in FOLDERS)
    folder.mkdir()
    for name in names:
        # Debian's python3 finds Debian's modules, and another one in PATH may not.
        if found := shutil.which(name, path=":".join(FOLDERS)) or shutil.which(name):
            (folder / name).symlink_to(found)
    return str(folder)
