"""The programs that each test may call: those of Debian's essential packages, and those of the packages that tests/run
installs, which are rows of cmake/prepare.sh. A test declares any other with `needs` of tests/support/common.bash, which
looks for it in RLCTL_TEST_PATH.

On a system that is not Debian's, where dpkg does not know these packages, a test may call every program in PATH.
"""

import os
import shutil
import subprocess
from pathlib import Path

from files import ROOT

GROUPS = ("build", "server", "test")
FOLDERS = ("/bin", "/sbin", "/usr/bin", "/usr/sbin")


def rows_of(*command):
    """The words of each line that the command prints, without empty lines. A command that is missing prints nothing."""
    if not shutil.which(command[0]):
        return []
    ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return [line.split() for line in ran.stdout.splitlines() if line]


def make_path(folder):
    """Fills the folder with links to the programs, and returns the PATH of tests."""
    table = rows_of("sh", "-c", 'root=$1; . "$root/cmake/prepare.sh"; needed', "sh", ROOT)
    rows = [row for row in table if row[0] in GROUPS]
    essential = [row[1] for row in rows_of("dpkg-query", "-W", "-f", "${Essential} ${Package}\n") if row[0] == "yes"]
    if not essential:
        return os.environ["PATH"]
    listed = [Path(row[0]) for row in rows_of("dpkg-query", "-L", *essential, *(row[1] for row in rows))]
    names = {path.name for path in listed if str(path.parent) in FOLDERS}
    # The signs of a package that has none of them are alternatives, such as awk, or programs that no package has installed.
    names.update(sign for row in rows if names.isdisjoint(row[2:]) for sign in row[2:] if "/" not in sign)
    folder.mkdir()
    for name in names:
        # Debian's python3 finds Debian's modules, and another one in PATH may not.
        if found := shutil.which(name, path=":".join(FOLDERS)) or shutil.which(name):
            (folder / name).symlink_to(found)
    return str(folder)
