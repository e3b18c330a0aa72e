# needs: server
load ../support/common

# packaging/vsix and the extension that it packs, editors/vscode.

setup() {
  cd "$BATS_TEST_TMPDIR"
  export SOURCE_DATE_EPOCH=1800000000
  manifest=$project/editors/vscode/package.json
}

# files_in FILE: prints the names of the files in an extension.
files_in() { python3 -m zipfile -l "$1" | sed -nE '2,$s/ +[0-9]{4}-.*//p' | sort; }

@test "the extension has the version and the licence of the project, and neither JavaScript nor a program" {
  local name names
  "$project/packaging/vsix" rlctl.vsix
  run -0 files_in rlctl.vsix
  assert_output '[Content_Types].xml
extension.vsixmanifest
extension/LICENSE.txt
extension/package.json
extension/readme.md'
  python3 -m zipfile -e rlctl.vsix .
  cmp extension/LICENSE.txt "$project/LICENSE"
  cmp extension/package.json "$manifest"
  run -0 gojq -r '.version, .main, .browser' "$manifest"
  assert_output "$(rlctl --version | sed -n '1s/^rlctl //p')"$'\nnull\nnull'
  # What it says of itself is well-formed, and names only files that are there.
  xmllint --noout '[Content_Types].xml' extension.vsixmanifest
  assert_equal "$(xmllint --xpath 'string(//*[local-name()="Identity"]/@Version)' extension.vsixmanifest)" "${lines[0]}"
  lines_of names grep -oE 'extension/[A-Za-z.]+' extension.vsixmanifest
  for name in "${names[@]}"; do assert [ -s "$name" ]; done
}

@test "it depends on nothing but its sources and the date" {
  "$project/packaging/vsix" one.vsix
  sleep 0.01
  (umask 077 && TZ=Asia/Tokyo "$project/packaging/vsix" two.vsix)
  cmp one.vsix two.vsix
  SOURCE_DATE_EPOCH=1700000000 "$project/packaging/vsix" other.vsix
  run -1 cmp -s one.vsix other.vsix
  run -2 "$project/packaging/vsix"
  run -0 "$project/packaging/vsix" --help
  assert_line --partial 'packaging/vsix FILE'
}

# bats test_tags=night
@test "vsce, which others publish with, packs the same files" {
  [[ ${RLCTL_TEST_ALL-} ]] || skip 'needs the npm registry, which RLCTL_TEST_ALL=1 allows'
  needs npm
  NODE_OPTIONS=--use-openssl-ca timeout 600 npm install --prefix vsce --no-audit --no-fund --ignore-scripts \
    --fetch-retries 1 @vscode/vsce@3.9.2 >log 2>&1 || skip 'needs an npm registry that answers'
  "$project/packaging/vsix" rlctl.vsix
  (cd "$project/editors/vscode" &&
    "$BATS_TEST_TMPDIR/vsce/node_modules/.bin/vsce" package --no-dependencies --allow-missing-repository \
      --out "$BATS_TEST_TMPDIR/official.vsix") >log 2>&1 || fail "$(<log)"
  assert_equal "$(files_in rlctl.vsix)" "$(files_in official.vsix)"
}

@test "the attributes of a launch are those of rlctl-debug(1), and rlctl reads each" {
  gojq -r '.contributes.debuggers[0].configurationAttributes.launch.properties | keys[]' "$manifest" | sort >launch
  diff launch <(sed -n '/^# IN AN EDITOR/,/^# OPTIONS/p' "$project/man/rlctl-debug.1.scd" |
    grep -E '^\*[a-zA-Z]+\*.*\([^)]*\)$' | sed 's/([^)]*)//g' | grep -oE '[a-zA-Z]+\*' | tr -d '*' | sort)
  echo 'return 1' >script.lua
  [[ -s launch ]]
  PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$project/tests/support python3 - <<'END'
from dap import Client
for attribute in open("launch").read().split():
    with Client("-u", "private:") as c:
        c.initialize()
        # No attribute takes such a value.
        refusal = c.refused("launch", **{"program": "script.lua", attribute: {"wrong": [7]}})
        assert f'"{attribute}" must be' in refusal, refusal
END
}

@test "an editor that takes the first configuration, or a snippet, stops at the first line" {
  echo 'return {KEYS[1], ARGV[1]}' >script.lua
  printf '1795155070 %s\n' ann bob >requests.log
  start_server
  PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$project/tests/support run -0 python3 - "$manifest" <<'END'
import json, os, re, sys
from dap import Client

def filled(value):
    # As an editor fills in a snippet: ${1:default}, $1, and \} for a brace; ^"…" is the text in quotes.
    if isinstance(value, list):
        return [filled(one) for one in value]
    if not isinstance(value, str):
        return value
    value = re.sub(r"\$\{\d:((?:[^}\\]|\\.)*)\}", r"\1", re.sub(r"\$\d", "", value))
    return re.sub(r'\\([}$])', r"\1", value.removeprefix('^"').removesuffix('"')).replace(
        "${file}", "script.lua").replace("${workspaceFolder}", ".")

debugger = json.load(open(sys.argv[1]))["contributes"]["debuggers"][0]
launches = debugger["initialConfigurations"] + [snippet["body"] for snippet in debugger["configurationSnippets"]]
for launch in launches:
    launch = {name: filled(value) for name, value in launch.items()}
    assert launch.pop("type") == "rlctl" and launch.pop("name")
    if launch.get("server") == "redis://127.0.0.1:6379":
        launch["server"] = os.environ["RLCTL_URL"]
    with Client() as c:
        c.initialize()
        c.ask(launch.pop("request"), **launch)
        c.event("initialized")
        c.ask("configurationDone")
        assert c.stopped()["reason"] == "entry"
print(len(launches))
END
  assert_output 5
}

@test "the debugger starts the program rlctl with --dap" {
  run -0 gojq -r '.contributes.debuggers[0] | .runtime, .runtimeArgs[], .program' "$manifest"
  assert_output $'rlctl\ndebug\n--dap\nnull'
}

# problems: reads the output of rlctl lint and prints what the extension's problem matchers find in it, as the editor
# reads it: a matcher's patterns match consecutive lines, and what they say of the message is joined.
problems() {
  python3 -c '
import json, re, sys
lines = sys.stdin.read().split("\n")
for matcher in json.load(open(sys.argv[1]))["contributes"]["problemMatchers"]:
    patterns = matcher["pattern"] if isinstance(matcher["pattern"], list) else [matcher["pattern"]]
    for start in range(len(lines) - len(patterns) + 1):
        found = {"severity": matcher["severity"]}
        for pattern, line in zip(patterns, lines[start:]):
            match = re.search(pattern["regexp"], line)
            if not match: break
            for name in ("file", "line", "code", "severity", "message"):
                if name in pattern:
                    more = found[name] + " " if name == "message" and name in found else ""
                    found[name] = more + match[pattern[name]].strip()
        else:
            print(found["severity"], found["file"], found["line"], found.get("code", "-"), found["message"], sep="|")
' "$manifest"
}

@test "what rlctl lint prints becomes problems with a file, a line, a severity and a message" {
  printf '%s\n' '-- A counter without an end.' "return redis.call('INCR', KEYS[1])" >counter.lua
  printf '%s\n' "local count = redis.call('INCR', KEYS[1])" "if count == 1 then redis.call('EXPIRE', KEYS[1], 6000000) end" \
    'if count > tonumber(ARGV[1]) then return 0 end' 'return 1' >long.lua
  printf '%s\n' 'local x' 'return = x' >broken.lua
  run ! rlctl lint counter.lua long.lua --args '{limit}'
  problems <<<"$output" >found
  run -0 cat found
  assert_line --regexp "^(warning|critical)\|counter\.lua\|2\|no-ttl\|INCR ann 'ann' has no TTL when the script returns\."
  assert_line --regexp '^note\|long\.lua\|2\|long-ttl\|EXPIRE ann '
  assert_equal "$(wc -l <found)" "$(rlctl lint counter.lua long.lua --args '{limit}' --json 2>/dev/null | grep -c '"finding"')"
  run -3 rlctl lint broken.lua
  run -0 problems <<<"$output"
  assert_output --regexp '^error\|broken\.lua\|2\|-\|.*unexpected symbol'
}
