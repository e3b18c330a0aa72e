# needs: server
load ../../support/common
load ../../support/dap

# The values that `rlctl debug --dap` shows are those of the terminal's debugger, at every line of every bundled
# script and pitfall, and of a script with values of all kinds; but an editor shows UTF-8 as itself. The client is
# tests/support/dap.py.

# compare SCRIPT [OPTION…]: steps through the script in the editor's way and in the terminal's, each time on empty
# keys, and compares the lines and the variables at each.
compare() {
  cat >compare.py <<'END'
import codecs
import re
import subprocess
import sys

from dap import Client

SCRIPT, *OPTIONS = sys.argv[1:]


def written(c, variable):
    """A value as the terminal's debugger writes it, from its parts: a table is cut to one line."""
    if not variable["variablesReference"]:
        return variable["value"]
    parts, following = [], 1
    for part in c.ask("variables", variablesReference=variable["variablesReference"])["variables"]:
        if part["name"] == f"[{following}]":
            following += 1
            parts.append(written(c, part))
        else:
            following = None
            parts.append("..." if part["name"] == "..." else part["name"] + " = " + written(c, part))
    return "{" + ", ".join(parts) + "}"


def escapes(text_bytes):
    """As Lua writes bytes in a string."""
    return "".join(f"\\{byte:03}" for byte in text_bytes)


codecs.register_error("escapes", lambda error: (escapes(error.object[error.start : error.end]), error.end))


def with_utf8(text):
    """Values as the terminal's debugger writes them, in ASCII, as an editor shows them."""

    def shown(found):
        characters = bytes(int(code) for code in found[0].split("\\")[1:]).decode("utf-8", "escapes")
        return re.sub(r"[\0-\x1f\x7f]", lambda one: escapes(one[0].encode()), characters)

    return re.sub(r"\\[^0-9]|((?:\\[0-9]{3})+)", lambda found: shown(found) if found[1] else found[0], text)


def in_editor():
    stops = []
    with Client("-u", "private:", after=OPTIONS) as c:
        c.launch(SCRIPT, keys=["k"], stopOnEntry=True)
        while True:
            message = c.until(lambda m: m.get("event") in ("stopped", "exited"))
            if message["event"] == "exited":
                return stops
            frame = c.frames()[0]
            values = {}
            for scope in c.ask("scopes", frameId=frame["id"])["scopes"]:
                if scope["name"] in ("Locals", "Upvalues"):
                    for name, one in c.variables(scope["variablesReference"]).items():
                        assert name not in values and one["evaluateName"] == name, (name, values)
                        values[name] = written(c, one)
            stops.append((frame["line"], values))
            c.ask("stepIn", threadId=1)


def in_terminal(count):
    """`count` stops; "maxlen" puts a line in front of and behind what "print" shows."""
    mark = "values are shown in full"
    commands = "maxlen 0\nprint\nmaxlen 0\nstep\n" * count
    command = ["rlctl", "-u", "private:", "debug", "-q", *OPTIONS, SCRIPT, "k"]
    ended = subprocess.run(command, input=commands, capture_output=True, text=True, check=False)
    assert ended.returncode in (0, 5), ended
    stops, values = [], None
    for line in ended.stdout.splitlines():
        if line == mark:
            values = {} if values is None else None
        elif values is not None and line != "no variables here":
            name, value = re.fullmatch(r"\|   (\w+): (.*)", line).groups()
            values[name] = with_utf8(value)  # the last of two variables of one name is the visible one
            stops[-1] = (stops[-1][0], values)
        elif line.startswith("* "):
            stops.append((int(re.match(r"\* .*?:(\d+)(,|$)", line)[1]), {}))
    return stops


editor = in_editor()
terminal = in_terminal(len(editor))
for number, (one, other) in enumerate(zip(editor, terminal)):
    assert one == other, f"stop {number}: {one} in an editor, {other} at a terminal"
assert len(editor) == len(terminal) > 0, (len(editor), len(terminal))
print(f"{len(editor)} stops")
END
  run -0 timeout 600 python3 compare.py "$@"
  [[ ${lines[-1]} == *' stops' ]]
}

@test "the values in every bundled script are those of the terminal's debugger" {
  local script name options
  for script in "$project"/lua/*.lua; do
    name=${script##*/}
    for cost in 1 6; do
      options=(--now 2026-01-02T03:04:05Z --limit 5/60s --cost "$cost")
      [[ $name != concurrency.lua ]] || options=(--now 2026-01-02T03:04:05Z --args '3 60000000 acquire ID')
      compare "${name%.lua}" "${options[@]}"
    done
  done
}

@test "the values in every pitfall are those of the terminal's debugger" {
  local script words
  for script in "$project"/examples/pitfalls/*.lua; do
    words=$(sed -n 's/^-- rlctl: args //p' "$script")
    # Leases and reservations have no placeholders here.
    if [[ $words == *'{reservation}'* ]]; then
      words=$(sed 's/{event}/reserve/; s/{reservation}/ID/; s/{hold_ms}/10000/; s/{actual}/1/' <<<"$words")
    elif [[ $words == *'{event}'* ]]; then
      words=$(sed 's/{event}/acquire/; s/{limit}/2/; s/{lease_ms}/10000/; s/{holder}/ID/' <<<"$words")
    fi
    if [[ $words == *'{limit}'* || $words == *'{window'* ]]; then
      compare "$script" --now 2026-01-02T03:04:05Z --args "$words" --limit 5/60s
    else
      compare "$script" --now 2026-01-02T03:04:05Z --args "$words"
    fi
  done
}

@test "values of all kinds are those of the terminal's debugger" {
  cat >kinds.lua <<'LUA'
local numbers = {1700000000123456, 0.1 + 0.2, -tonumber('0'), 1 / 0, -1 / 0, 0 / 0, 5e-324, 2 ^ 53}
local text, wide, broken = 'a\0b\r\n\\"', 'größe € 🙂', '\255\192\128\237\160\128'
local odd = {['b c'] = {[-1.5] = true, [true] = false, ['\0\255'] = wide, ['ü'] = 'ü\\195\\188'}, ['end'] = {}, a = {{{}}}}
odd.self = odd
local function both(...)
  local n, first = select('#', ...), (...)
  text = text .. n
  local function inner()
    local text = first
    return text, numbers[1]
  end
  return inner()
end
local seen = {pcall(both, 'x', nil)}
local co = coroutine.wrap(function(a)
  local b = coroutine.yield(a .. wide)
  return b .. text
end)
for i, value in ipairs({co('1'), co('2')}) do
  local text = value .. i
  seen[#seen + 1] = text
end
local many = {}
for i = 1, 3 do many[i] = {name = 'n' .. i, list = {i, i * 2}} end
local shared = {odd, many, both}
setmetatable(many, {__index = function() error('never called') end})
return #seen
LUA
  compare kinds.lua --now 2026-01-02T03:04:05Z
}

@test "a table of more than 1,000 fields ends in a row that says so, and exactly 1,000 are all shown" {
  echo "local t, u = {}, {} for i = 1, 1000 do t[i], u[i] = i, -i end
u[1001] = 'last'
return #u" >large.lua
  client <<'END'
with Client("-u", "private:") as c:
    c.launch("large.lua", breakpoints=[3])
    c.stopped()
    scope = c.ask("scopes", frameId=1)["scopes"][0]["variablesReference"]
    local = c.variables(scope)
    t, u = (c.ask("variables", variablesReference=local[name]["variablesReference"])["variables"] for name in "tu")
    assert [one["value"] for one in t] == [str(i) for i in range(1, 1001)], t
    assert len(u) == 1001 and u[-1]["value"] == "more fields are not shown", u[-1]
    assert c.value("u[1000]", "hover") == "-1000"
    assert c.value("u[1001]", "hover") == '"last"'
END
}
