# needs: server
load ../../support/common
load ../../support/dap

# Requests that no editor sends, in any order and in pieces, and values of any bytes, for `rlctl debug --dap`.

@test "messages to an editor are ASCII, whatever a request has" {
  local body='{"seq":1,"type":"request","command":"\u001b\u202e\u00fc","arguments":{}}'
  run -0 rlctl debug --dap < <(printf 'Content-Length: %d\r\n\r\n%s' ${#body} "$body")
  assert_output --partial "rlctl does not support the request '\\u001b\\u202e\\u00fc'"
}

@test "random requests, in pieces and in any order, are each answered once" {
  client <<'END'
import json, os, random
seed = int(os.environ.get("RLCTL_TEST_SEED") or 1)
print("seed", seed)
r = random.Random(seed)
commands = ["initialize", "launch", "attach", "configurationDone", "terminate", "restart", "setBreakpoints", "threads",
            "stackTrace", "scopes", "variables", "evaluate", "source", "stepIn", "next", "stepOut", "continue", "pause",
            "setVariable", "exceptionInfo", "setExceptionBreakpoints", "unknown", "", None, 7, [], {}]
here = {"path": os.path.abspath("loop.lua")}
values = [None, True, 0, 1, -1, 9, 2**31, 2**63, 1e300, 1.5, "", "x", "i", "sum", "k", "i == 2", "%2", "{i}", "{", "é\0\x7f",
          [], [1], ["k"], {}, {"path": 7}, here, [{"line": 9}], [{"line": 9, "condition": "i ==", "logMessage": "{i}"}],
          [{"line": 10, "hitCondition": "%2", "logMessage": "i {i}"}], [{"line": 2**31 - 1}, {"line": -5}, {}, 7, None]]
names = ["program", "keys", "args", "source", "breakpoints", "lines", "expression", "context", "frameId", "threadId",
         "variablesReference", "sourceReference", "startFrame", "levels", "name", "value", "linesStartAt1", "limit", "now",
         "replay", "skip", "setup", "stopOnEntry", "sync", "filters"]
usual = {"launch": {"program": "loop.lua", "keys": ["k"]}, "setBreakpoints": {"source": here, "breakpoints": [{"line": 9}]},
         "evaluate": {"expression": "sum", "context": "hover"}, "scopes": {"frameId": 1}, "variables": {"variablesReference": 1}}

def request(number):
    command = r.choice(commands) if number > 3 else ["initialize", "launch", "setBreakpoints", "configurationDone"][number]
    arguments = dict(usual.get(command, {}) if isinstance(command, str) else {})
    if number > 3 and r.random() < 0.5:
        for _ in range(r.randrange(1, 3)):
            arguments[r.choice(names)] = r.choice(values)
    arguments.pop("server", None)
    body = {"seq": number + 1, "type": "request", "command": command, "arguments": r.choice([arguments] * 9 + values)}
    return json.dumps(body).encode()

for _ in range(3):
    with Client("-u", "private:") as c:
        bodies = [request(number) for number in range(150)]
        data = b"".join(b"Content-Length: %d\r\n\r\n%s" % (len(body), body) for body in bodies)
        answered = set()
        while data:
            size = r.randrange(1, 2000)
            c.write(data[:size])
            data = data[size:]
        while len(answered) < len(bodies):
            message = c.until(lambda m: m["type"] == "response")
            assert message["request_seq"] not in answered, message
            answered.add(message["request_seq"])
        c.events.clear()
        assert c.disconnect() == 0
END
}

@test "values of any bytes and of any script are shown, and reach the script, whole; a bundled script without a file has its source" {
  cat >'größe 1.lua' <<'LUA'
local t = {['é\0'] = '\255\0é', [ARGV[1]] = KEYS[1]}
local text, bidi = ARGV[1] .. '\n\r\27[31m', 'ä\226\128\174'
redis.call('SET', KEYS[1], text)
return text
LUA
  client <<'END'
def lua(text):
    """Bytes as Lua writes them, with the numbers of control characters and of those that are not UTF-8."""
    signs = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r"}
    numbers = {*range(32), *range(0xDC80, 0xDD00)}
    characters = text.decode("utf-8", "surrogateescape")
    return '"' + "".join(signs.get(c, "\\%03d" % (ord(c) & 0xFF) if ord(c) in numbers else c) for c in characters) + '"'

key, word = "ключ\0", "日本語\0\"\\"
with Client("-u", "private:") as c:
    c.launch("größe 1.lua", keys=[key], args=[word], breakpoints=[4])
    c.stopped()
    assert c.frames()[0]["source"]["path"].endswith("/größe 1.lua")
    word, name, bytes_ = lua(word.encode()), lua("é\0".encode()), lua(b"\xff\0" + "é".encode())
    local = c.scope("Locals")
    assert local["bidi"] == r'"ä\226\128\174"', local
    assert local["text"] == word[:-1] + r'\n\r\027[31m"', local
    scopes = {one["name"]: one["variablesReference"] for one in c.ask("scopes", frameId=1)["scopes"]}
    t = c.variables(c.variables(scopes["Locals"])["t"]["variablesReference"])
    assert {name: one["value"] for name, one in t.items()} == {f"[{name}]": bytes_, f"[{word}]": lua(key.encode())}, t
    assert c.value("#text", "watch") == "19", c.value("#text", "watch")
    assert c.value(t[f"[{name}]"]["evaluateName"], "watch") == bytes_
    assert c.scope("KEYS")["[1]"] == lua(key.encode()), c.scope("KEYS")
    assert list(c.scope("Keys in Redis")) == [r"ключ\x00"], c.scope("Keys in Redis")
    c.breakpoints("größe 1.lua", [])
    c.ask("continue", threadId=1)
    assert c.ended() == 0
with Client("-u", "private:") as c:
    c.launch("gcra", keys=["k"], limit=["5/60s", "9/1h"], now="1795600000000000", stopOnEntry=True)
    c.stopped()
    source = c.frames()[0]["source"]
    for wrong in ({}, {"sourceReference": 7}, {"sourceReference": -1}, {"source": {"sourceReference": 2}}):
        assert "unknown sourceReference" in c.refused("source", **wrong)
    assert "whole number" in c.refused("source", sourceReference="1")
    text = c.ask("source", sourceReference=1)["content"]
    assert text == c.ask("source", source={"sourceReference": 1})["content"] and text.startswith("-- ")
    assert source["name"] == "gcra.lua" and source.get("sourceReference", 1) == 1, source
    c.ask("continue", threadId=1)
    assert c.ended() == 0
    assert "= {1, 4, 0, 400000000, 0, 0}" in c.output, c.output
END
}
