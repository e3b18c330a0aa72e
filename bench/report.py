"""What is printed: a heading and tables for each part, and one table of all goals."""

_goals = []  # its rows, in the order of the measurements
_part = 0


def begin_part(number, title):
    """Prints the heading of a part, to which goals belong from now on."""
    global _part
    _part = number
    print(f"## {number}. {title}\n")


def table(header, rows):
    """Prints a Markdown table with aligned columns, all but the first to the right."""
    rows = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    rules = [":" + "-" * (width - 1) if i == 0 else "-" * (width - 1) + ":"
             for i, width in enumerate(map(lambda width: max(width, 3), widths))]
    for row in [header, rules, *rows]:
        print("| " + " | ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths))) + " |")
    print()


def goal(text, measured, *holds):
    """Records for the table of all goals what was measured, and whether each figure of it holds."""
    _goals.append([text, _part, measured, " / ".join("yes" if each else "no" for each in holds)])


def print_goals():
    print("## Goals\n")
    table(["goal", "part", "measured", "holds"], _goals)
