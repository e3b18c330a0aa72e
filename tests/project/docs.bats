# needs: server
load ../support/common
load ../support/readme

setup_file() { start_server; }
setup() { cd "$project" || return; }

# blocks LANGUAGE FILE: the contents of the fenced blocks in this language.
blocks() { awk -v fence="\`\`\`$1" '$0 == fence { on = 1; next } /^```/ { on = 0 } on' "$2"; }

# The tests are already running.
without_the_tests() { sed -E 's|^(\./)?tests/run( .*)?$|tests/run --list >/dev/null|'; }

@test "every command in the README can be run as it is" {
  blocks sh README.md | without_the_tests >"$BATS_TEST_TMPDIR/commands"
  run -0 bash -euo pipefail "$BATS_TEST_TMPDIR/commands" </dev/null
  assert_line --regexp '^  fixed-window +2000 +2000 '
}

@test "every command in CONTRIBUTING can be run as it is" {
  blocks sh CONTRIBUTING.md | without_the_tests >"$BATS_TEST_TMPDIR/commands"
  run -0 timeout 600 bash -euo pipefail "$BATS_TEST_TMPDIR/commands" </dev/null
  assert_line --partial 'fixed-window.lua:30'
  assert_line --regexp '^= [{]1, 4, 0, '
}

# examples FILE: writes each block of a page's sections EXAMPLE and EXAMPLES to a file NUMBER.sh here.
examples() {
  awk -v folder="$BATS_TEST_TMPDIR" '
    /^# / { inside = $0 ~ /^# EXAMPLES?$/ }
    inside && /^```$/ { open = !open; if (open) file = folder "/" ++n ".sh"; next }
    inside && open { gsub(/\\\\/, "\\"); print >file }' "$1"
}

@test "every example in the manual can be run as it is" {
  local page example tried=0
  # In a folder with the files that they name, where their output may stay. The folder has no build/, because
  # a build started here would take it for another project's and remove it.
  mkdir "$BATS_TEST_TMPDIR/scratch"
  cp -r lua examples "$BATS_TEST_TMPDIR/scratch"
  # redis-cli, too, talks to the server of this test.
  redis-cli() { command redis-cli -s "$socket" "$@"; }
  export -f redis-cli
  export socket
  cd "$BATS_TEST_TMPDIR/scratch"
  for page in "$project"/man/*.scd; do
    rm -f "$BATS_TEST_TMPDIR"/*.sh
    # Nothing that another page's examples have left may have expired in the meantime, or not.
    cli FLUSHALL >/dev/null
    examples "$page"
    for example in "$BATS_TEST_TMPDIR"/*.sh; do
      if [[ ! -e $example ]]; then
        # Pages without examples have no such section.
        if grep -qxE '# EXAMPLES?' "$page"; then fail "no example was found in $page"; fi
        continue
      fi
      tried=$((tried + 1))
      expect_status 0 timeout 600 bash -euo pipefail "$example" </dev/null ||
        fail "in $page: $(cat "$example")"
    done
  done
  # Each command has a page with examples.
  ((tried >= $(commands | grep -vxc version))) || fail "only $tried examples were found"
}

# Sizes differ from server to server, and the width of columns with the times in them.
without_sizes() { without_times | sed -E 's/[0-9]+ bytes/N bytes/; s/ +/ /g'; }

@test "the output shown in the README is correct" {
  cli FLUSHALL
  readme_is_true README.md without_sizes
}

@test "every command in the README's table can be run as it is" {
  local command tried=0
  cd "$BATS_TEST_TMPDIR"
  # The files and the user that the commands name.
  printf '%s\n' "local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return count <= tonumber(ARGV[1]) and 1 or 0" >my.lua
  printf '#!/bin/sh\n' | tee login >backup && chmod +x login backup
  cp "$project/tests/replay/logs/combined.log" access.log
  cp "$project/examples/shell/config.toml" limits.toml
  export user=ann
  cli FLUSHALL
  rlctl check -q login:ann --limit 5/15m --cost 4
  while IFS= read -r command; do
    tried=$((tried + 1))
    expect_status 0 timeout 600 bash -c "$command" </dev/null || fail "$command"
  done < <(sed -n 's/^| .* | `\(.*\)` |$/\1/p' "$project/README.md")
  ((tried >= 15)) || fail "only $tried commands were found"
}

@test "the README has at most 140 lines" {
  (($(wc -l <README.md) <= 140))
}

# say TEXT FILE…: all of the files, in which a line may end within the text.
say() {
  local file
  for file in "${@:2}"; do
    [[ $(tr -s '# \n' ' ' <"$file") == *"$1"* ]] || fail "$file does not say '$1'"
  done
}

@test "how long the two commands take is the same everywhere" {
  say 'about two minutes on two cores' README.md quickstart
  say 'about five' README.md CONTRIBUTING.md tests/run
}

# links FILE: the targets of its links, without the parts after #.
links() { grep -oE '\]\([^)#]+' "$1" | cut -c3-; }

@test "every link to a file in the documents leads somewhere" {
  local document link found=0
  while IFS= read -r document; do
    for link in $(links "$document"); do
      [[ $link == https:* || -e ${document%/*}/$link ]] || fail "$document: no $link"
      found=$((found + 1))
    done
  done < <(find . -name '*.md' -not -path './build/*' -not -path './.cache/*')
  ((found >= 20)) || fail "only $found links were found"
}

@test "examples/README.md leads to each example" {
  local example
  for example in examples/*; do
    example=${example#*/}
    case $example in README.md | burst.svg) continue ;; esac
    grep -qE "^$example(/|\$)" <(links examples/README.md) || fail "no link to $example"
  done
}

@test "the chart in the README is the one that rlctl burst draws" {
  grep -qF '<img src="examples/burst.svg"' README.md
  rlctl burst -q -o "$BATS_TEST_TMPDIR/burst.svg"
  cmp examples/burst.svg "$BATS_TEST_TMPDIR/burst.svg" ||
    fail "draw it again: rlctl burst -q -o examples/burst.svg"
}

@test "examples/boundary.html is the page that rlctl burst writes" {
  grep -qF '](examples/boundary.html)' README.md
  rlctl burst -q --model -o "$BATS_TEST_TMPDIR/boundary.html"
  cmp examples/boundary.html "$BATS_TEST_TMPDIR/boundary.html" ||
    fail "write it again: rlctl burst -q --model -o examples/boundary.html"
}

@test "every script has a row in the README and a section in rlctl-scripts(7) and rlctl-stored(7)" {
  local script name page
  for script in lua/*.lua; do
    name=$(basename "$script" .lua)
    grep -q "^| \`$name\`" README.md || fail "$name is not in the README"
    for page in scripts stored; do
      grep -qiE "^#+ $name" "man/rlctl-$page.7.scd" || fail "$name has no section in rlctl-$page(7)"
    done
  done
}

# --- help and manual ---------------------------------------------------------------------------------

@test "each command's help fits 80 columns, ends with an example, and has the options of its page; the README shows it" {
  run python3 - <<'END'
import pathlib, re, subprocess

def help_of(*words):
    short, long = (subprocess.check_output(["rlctl", *words, option], text=True) for option in ("-h", "--help"))
    for line in (short + long).splitlines():
        if len(line) > 80: print(f"rlctl {' '.join(words)} --help: more than 80 columns: {line}")
    # In rlctl's own help they come before the options.
    if words and not re.match(r"  .*rlctl ", long.splitlines()[-1]):
        print(f"rlctl {' '.join(words)} --help does not end with an example")
    return long

def commands(text):
    found, inside = [], False
    for line in text.splitlines():
        inside = line.startswith("Commands") or inside and line != ""
        if inside and (command := re.match("  ([a-z]+) ", line)): found.append(command[1])
    return set(found) - {"help"}

# Long options that begin a line of the help, and those explained in a page of the manual.
def options_in_help(text): return set(re.findall(r"^ +(?:-[A-Za-z], *)?(--[a-z][a-z-]+)", text, re.M))
def options_in_page(text):
    lines = (line.replace("\\", "") for line in text.splitlines() if line.startswith("*-"))
    return {option for line in lines for option in re.findall(r"--[a-z][a-z-]+", line)}

def compare(here, there, *what):
    for option in sorted(here - there): print(f"only in {what[0]}, not in {what[1]}: {option}")

text = help_of()
general, in_page = options_in_help(text), options_in_page(pathlib.Path("man/rlctl.1.scd").read_text())
assert {"check", "run", "version"} <= commands(text) and general
compare(general, in_page, "rlctl --help", "rlctl(1)")
compare(in_page, general, "rlctl(1)", "rlctl --help")
readme = pathlib.Path("README.md").read_text()
# The help and the page of version are rlctl's.
for command in sorted(commands(text) - {"version"}):
    own = help_of(command)
    # Few commands have commands of their own.
    own += "".join(help_of(command, inner) for inner in commands(own))
    # For a command about a file it may be in section 5.
    page = "\n".join(path.read_text() for path in pathlib.Path("man").glob(f"rlctl-{command}.[15].scd"))
    if not page: print(f"{command} has no page in the manual")
    # A command's help lists its own options and refers to rlctl for the others.
    compare(options_in_help(own), options_in_page(page) | in_page, f"rlctl {command} --help", "its page")
    compare(options_in_page(page), options_in_help(own) | general, f"rlctl-{command}(1)", "its help")
    if not re.search("^# EXIT STATUS$", page, re.M): print(f"rlctl-{command} has no exit statuses")
    if not re.search(rf"rlctl (--config [^ ]+ )?{command}\b", readme): print(f"the README does not show {command}")
END
  assert_equal "$status $output" '0 '
}

# A page names its own sections in bold, and those of others as *SECTION* in *rlctl-x*(n); programs and documents write
# SECTION in rlctl-x(n), or rlctl-x(n), SECTION.
@test "each section that the manual, a message or a document refers to exists" {
  run -0 python3 - <<'END'
import pathlib, re
pages, sections, found = {}, {}, []
for path in pathlib.Path("man").glob("*.scd"):
    page = tuple(path.name.split(".")[:2])
    text = re.sub(r"^```$.*?^```$", "", path.read_text(), flags=re.M | re.S)
    pages[page], sections[page] = " ".join(text.split()), re.findall(r"^##? (.+)$", text, re.M)
names = set().union(*sections.values())
for page, text in pages.items():
    pattern = r"([Ss]ee )?\*([A-Z][A-Za-z ]+)\*(?: (?:in|of) \*(rlctl[a-z-]*)\*\((\d)\))?"
    for see, section, *other in re.findall(pattern, text):
        if see or other[0] or section in names:
            found.append((page[0], section, tuple(other) if other[0] else page))
NAME, PAGE = r"([A-Z][A-Z ]+[A-Z])", r"\[?(rlctl[a-z-]*)\((\d)\)"
sources = [path for path in pathlib.Path(".").rglob("*.*")
           if path.suffix in (".md", ".cc", ".h", ".bats") and path.parts[0] not in ("build", "dist", ".cache")]
for path in sources:
    # Without what divides a text in lines of C++, and without the marks of comments.
    text = re.sub(r'"\s*\n\s*"|^\s*(?://+|#+) ', "", path.read_text(), flags=re.M)
    text = " ".join(text.split())
    found += [(path, section, tuple(page)) for section, *page in re.findall(rf"\b{NAME}\*? (?:in|of) {PAGE}", text)]
    found += [(path, section, tuple(page)) for *page, section in re.findall(rf"{PAGE}, {NAME}\b", text)]
for where, section, page in found:
    if section not in sections.get(page, ()): print(f"{where}: no section {section} in {page[0]}({page[1]})")
assert len(found) > 60
END
  assert_output ''
}

# --- formatted pages ---------------------------------------------------------------------------------

# format_page FILE: prints the page as man shows it on a terminal of 80 columns, two of which are a margin.
# sed removes the overstriking that makes bold and underlined text.
format_page() { mandoc -T utf8 -O width=78 "$1" | sed $'s/.\b//g'; }

@test "the pages of the manual have no warning of mandoc, fit 80 columns, and split no hyphenated word" {
  local source page
  for source in man/*.scd; do
    page=$BATS_TEST_TMPDIR/$(basename "$source" .scd)
    man/render "$source" >"$page"
    format_page "$page" >"$page.txt"
  done
  run -0 mandoc -T lint -W warning "$BATS_TEST_TMPDIR"/*.[0-9]
  assert_output ''
  run -1 grep -nE '^.{81}' "$BATS_TEST_TMPDIR"/*.txt
  run -1 grep -nE '[[:alnum:]][-‐]$' "$BATS_TEST_TMPDIR"/*.txt
}

# --- workflows ---------------------------------------------------------------------------------------

@test "the workflow of the night has a job for each step of tests/night/run" {
  run -0 sed -nE 's/^    Step\("([a-z]+)".*/\1/p' tests/night/run
  local steps=$output
  run -0 bash -c "sed -n '/ step: \[/,/\]/p' .github/workflows/night.yml | tr -d '[],' | sed 's/step://' | xargs -n 1"
  assert_equal "$output" "$steps"
}
