# needs: server
load ../../support/common
load ../../support/dap

# `rlctl debug --dap`, driven by the client in tests/support/dap.py.

@test "a script runs to its end and tells what it did, and takes its keys and args as words in one string, too" {
  echo 'return {KEYS[1], tonumber(ARGV[1]), ARGV[2], ARGV[3]}' >words.lua
  client <<'END'
with Client("-u", "private:") as c:
    c.launch("loop.lua", keys=["k"], args=["a b"])
    assert c.ended() == 0
    assert "running in this process, on no keys" in c.output, c.output
    assert "redis> INCRBY k 1      1" in c.output, c.output
    assert "log> notice: done" in c.output, c.output
    assert '= {6, "a b"}\n  \'k\': not there → string, "6"' in c.output, c.output
    for request in ("next", "stackTrace", "terminate"):
        assert c.refused(request, threadId=1) == "the script has ended"
    c.ask("pause", threadId=1)
    assert c.disconnect() == 0
with Client("-u", "private:") as c:
    c.initialize()
    c.ask("launch", script="words.lua", keys="k", args="{window_ms} {limit} 'a b'", limit="5/60s")
    c.ask("configurationDone")
    assert c.ended() == 0
    assert '= {"k", 60000, "5", "a b"}' in c.output, c.output
END
}

@test "breakpoints move to the nearest line that stops, and a condition is evaluated; steps go into, over and out of functions" {
  client <<'END'
with Client("-u", "private:") as c:
    one, two, three, four = c.launch("loop.lua", keys=["k"], breakpoints=[
        {"line": 2}, {"line": 9, "condition": "i == 2"}, {"line": 9}, {"line": 10, "logMessage": "{"}])
    assert one["verified"] and one["line"] in (1, 3, 7) and "nearest" in one["message"], one
    assert two["verified"] and two["line"] == 9 and "message" not in two, two
    assert not three["verified"] and not four["verified"], (three, four)
    assert c.stopped()["reason"] == "breakpoint"
    c.breakpoints("loop.lua", [{"line": 9, "condition": "i == 2"}])
    while c.line() != 9:
        c.move("continue")
    assert c.scope("Locals")["i"] == "2"
    (bad,) = c.breakpoints("loop.lua", [{"line": 9, "condition": "i =="}])
    assert not bad["verified"] and "not an expression" in bad["message"], bad
    (other,) = c.breakpoints("endless.lua", [1])
    assert not other["verified"] and "not the script" in other["message"], other
    c.breakpoints("loop.lua", [{"line": 10, "condition": "i.x.y"}])
    c.ask("continue", threadId=1)
    stop = c.stopped()
    assert stop["reason"] == "breakpoint" and "attempt to index" in stop["text"], stop
    c.breakpoints("loop.lua", [])
    c.ask("continue", threadId=1)
    assert c.ended() == 0
with Client("-u", "private:") as c:
    c.launch("loop.lua", keys=["k"], stopOnEntry=True)
    assert c.stopped()["reason"] == "entry"
    assert c.line() == 1
    assert (c.scope("Keys in Redis"), c.scope("ARGV")) == ({"k": "no such key"}, {})
    c.breakpoints("loop.lua", [9])
    assert c.move("continue") == 9
    assert c.move("stepIn") == 4
    inner, outer = c.frames()
    assert (inner["line"], outer["line"]) == (4, 9) and inner["source"]["path"].endswith("/loop.lua"), (inner, outer)
    assert c.scope("Locals") == {"n": "1"} and c.scope("Upvalues") == {"sum": "0"}, c.scope("Upvalues")
    assert c.scope("Locals", frame=2)["i"] == "1"
    assert c.move("stepOut") == 10
    assert c.move("continue") == 9
    assert c.move("next") == 10
    assert "redis> INCRBY k 1" in c.output, c.output
END
}

@test "frames are shown all or some, and lines may be counted from 0; redis.breakpoint() stops, and 20,000 commands are called" {
  printf '%s\n' 'local function f(n)' '  if n == 0 then' '    return 0' '  end' '  return 1 + f(n - 1)' 'end' \
    'return (f(3))' >deep.lua
  printf '%s\n' 'redis.breakpoint()' "for i = 1, 20000 do redis.call('INCR', 'k') end" 'return 1' >calls.lua
  client <<'END'
with Client("-u", "private:") as c:
    c.launch("deep.lua", breakpoints=[3])
    c.stopped()
    trace = c.ask("stackTrace", threadId=1)
    assert [(one["line"], one["column"]) for one in trace["stackFrames"]] == [(3, 1), (5, 1), (5, 1), (5, 1), (7, 1)], trace
    assert trace["totalFrames"] == 5, trace
    some = [c.ask("stackTrace", threadId=1, startFrame=start, levels=1)["stackFrames"] for start in (4, 9)]
    assert [[one["line"] for one in frames] for frames in some] == [[7], []], some
with Client("-u", "private:") as c:
    c.ask("initialize", adapterID="rlctl", linesStartAt1=False, columnsStartAt1=False)
    c.ask("launch", program="deep.lua")
    assert c.breakpoints("deep.lua", [2])[0]["line"] == 2
    c.ask("configurationDone")
    c.stopped()
    assert [(one["line"], one["column"]) for one in c.frames()[-2:]] == [(4, 0), (6, 0)], c.frames()
with Client("-u", "private:") as c:
    c.launch("calls.lua")
    stop = c.stopped()
    assert (stop["reason"], stop["description"]) == ("breakpoint", "redis.breakpoint()"), stop
    c.ask("continue", threadId=1)
    assert c.ended() == 0
END
}

@test "variables are exact, and tables open, with a thousand fields and a row that says that there are more" {
  echo "local t, u = {}, {} for i = 1, 1000 do t[i], u[i] = i, -i end
u[1001] = 'last'
return #u" >large.lua
  client <<'END'
with Client("-u", "private:") as c:
    c.launch("loop.lua", keys=["k"], args=["7"], breakpoints=[13])
    assert c.stopped()["reason"] == "breakpoint"
    scopes = {one["name"]: one["variablesReference"] for one in c.ask("scopes", frameId=1)["scopes"]}
    local = c.variables(scopes["Locals"])
    assert local["sum"]["value"] == "6" and local["sum"]["type"] == "number", local
    t = c.variables(local["t"]["variablesReference"])
    assert t['["b c"]']["value"] == r'"x\000\255"', t
    a = c.variables(t["a"]["variablesReference"])
    assert a["[2]"]["value"] == "1700000000123456" and a["[2]"]["evaluateName"] == "t.a[2]", a
    assert c.variables(scopes["KEYS"])["[1]"]["value"] == '"k"'
    assert c.variables(scopes["ARGV"])["[1]"]["value"] == '"7"'
    assert c.variables(scopes["Keys in Redis"])["k"]["value"] == 'string, "6", no ttl'
    assert c.value("t.a[2]", "hover") == "1700000000123456"
    assert c.value("sum + 1", "watch") == "7"
    assert c.value("redis.call('GET', key), 2") == '"6", 2'
    for wrong in ("1 +", "", "error('no')", "undefined_name"):
        c.refused("evaluate", expression=wrong, context="repl")
    c.refused("variables", variablesReference=9999)
    c.move("next")
    c.refused("variables", variablesReference=scopes["Locals"])
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

@test "what does not end is paused, also in its calls, and terminated, and nothing is left if the client vanishes" {
  printf '%s\n' 'local n = 0' 'while true do' '  n = n + 1' "  redis.call('GET', ARGV[1])" 'end' >calling.lua
  client <<'END'
with Client("-u", "private:") as c:
    c.launch("endless.lua")
    assert c.ask("threads")["threads"][0]["id"] == 1
    assert "is running" in c.refused("stackTrace", threadId=1)
    c.breakpoints("endless.lua", [])
    c.ask("pause", threadId=1)
    assert c.stopped()["reason"] == "pause"
    assert c.line() == 1
    c.ask("continue", threadId=1)
    c.breakpoints("endless.lua", [1])
    assert c.stopped()["reason"] == "breakpoint"
    c.breakpoints("endless.lua", [])
    c.ask("continue", threadId=1)
    c.ask("restart")
    c.ask("terminate")
    c.event("terminated")
    assert c.disconnect() == 0
with Client("-u", "private:") as c:
    c.launch("calling.lua", args=["x"])
    line = c.move("pause")
    while "GET" not in c.output:
        c.ask("continue", threadId=1)
        line = c.move("pause")
    assert line in (2, 3, 4) and "redis> GET x      NULL" in c.output, (line, c.output)
    c.ask("terminate")
with Client("-u", "private:") as c:
    c.launch("endless.lua")
    c.process.stdin.close()
    assert c.process.wait(120) == 0
END
}

@test "restart reads the file again, mended or not, keeps the breakpoints and starts on the original state" {
  echo "return = 1" >broken.lua
  client <<'END'
with Client("-u", "private:") as c:
    c.launch("loop.lua", keys=["k"], breakpoints=[10, 14])
    c.stopped()
    c.breakpoints("loop.lua", [14])
    c.move("continue")
    assert c.value("redis.call('GET', KEYS[1])") == '"6"'
    with open("loop.lua") as file:
        text = file.read()
    with open("loop.lua", "w") as file:
        file.write("return = 1")
    assert "does not compile" in c.refused("restart")
    with open("loop.lua", "w") as file:
        file.write(text.replace("1, 3 do", "1, 2 do"))
    c.ask("restart")
    c.stopped()
    assert c.line() == 14
    assert c.value("redis.call('GET', KEYS[1])") == '"3"'
with Client("-u", "private:") as c:
    (one,) = c.launch("broken.lua", breakpoints=[1])
    assert not one["verified"] and c.ended() == 5 and "line 1" in c.output, (one, c.output)
    with open("broken.lua", "w") as file:
        file.write("return redis.error_reply('LIMIT too many')")
    c.ask("restart")
    assert c.ended() == 5 and "LIMIT too many" in c.output, c.output
END
}

@test "requests that are wrong, unknown, in the wrong order or nested too deeply are answered with an error" {
  client <<'END'
import json
with Client("-u", "private:") as c:
    for request in ("launch", "threads", "next", "setBreakpoints", "evaluate"):
        assert "initialize" in c.refused(request)
    capabilities = c.initialize()
    for what in ("ConfigurationDoneRequest", "ConditionalBreakpoints", "EvaluateForHovers", "TerminateRequest", "RestartRequest",
                 "ExceptionInfoRequest", "SetVariable"):
        assert capabilities["supports" + what] is True, what
    c.refused("initialize")
    for request in ("configurationDone", "setVariable", "next", "stackTrace", "setBreakpoints", "variables", "restart", "terminate"):
        assert "launch comes first" in c.refused(request), request
    for request in ("stepBack", "setFunctionBreakpoints", "setExpression", "x" * 100 + "\0\n"):
        assert "does not support" in c.refused(request)
    assert "attaches to no server" in c.refused("attach", program="loop.lua")
    assert "names no script" in c.refused("launch")
    assert "cannot connect" in c.refused("launch", program="loop.lua", keys=["k"], server="unix:///nowhere/at/all")
    for wrong in ({"keys": {}}, {"keys": [1]}, {"keys": [","]}, {"args": [None]}, {"script": "loop.lua"}, {"stopOnEntry": "yes"},
                  {"limit": 5}, {"limit": "x"}, {"now": "x"}, {"server": "http://x"}, {"server": 7}, {"program": "."}, {"program": 7}):
        c.refused("launch", **{"program": "loop.lua", **wrong})
    assert '"keys"' in c.refused("launch", program="loop.lua", keys=7)
    assert "cannot read" in c.refused("launch", program="none.lua")
    for body in (b"", b"{", b"[]", b"null", b"[" * 100000, b'{"type":"request","seq":1e400}', b"\xff",
                 b'{"type":"request","seq":2,"command":7}'):
        c.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        assert not c.until(lambda m: m["type"] == "response")["success"]
    c.ask("launch", program="loop.lua", keys=["k"])
    for arguments in ([], 7, "x", {"source": {"path": 7}}, {"source": {}, "breakpoints": 7}):
        body = json.dumps({"seq": 1, "type": "request", "command": "setBreakpoints", "arguments": arguments}).encode()
        c.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        assert not c.until(lambda m: m["type"] == "response")["success"]
    assert '"source" is missing' in c.refused("setBreakpoints")
    no_line = '"line" must be a whole number'
    for line, expected in ((0, 1), (-1, 1), (None, 1), (99999, 14), (2**31, no_line), (1e300, no_line), (1.5, no_line), ("x", no_line)):
        (one,) = c.breakpoints("loop.lua", [{"line": line}])
        assert (one["line"] if one["verified"] else one["message"]) == expected, (line, one)
    assert "was launched" in c.refused("launch", program="loop.lua", keys=["k"])
    assert "has not started" in c.refused("next", threadId=1)
    c.ask("configurationDone")
    assert "has started" in c.refused("configurationDone")
    assert c.disconnect() == 0
with Client("-u", "private:") as c:
    c.initialize()
    deep = {"[": b"[" * 200_000 + b"]" * 200_000, "{": b'{"a":' * 200_000 + b"1" + b"}" * 200_000, "open": b"[" * 1_000_000,
            "wide": b"[" + b"[]," * 200_000 + b"1]"}
    for seq, (name, value) in enumerate(deep.items(), 1001):
        for body in (b'{"seq":%d,"type":"request","command":"launch","arguments":{"program":"loop.lua","x":%s}}' % (seq, value),
                     b'{"arguments":%s,"command":"launch","type":"request","seq":%d}' % (value, seq)):
            c.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
            answer = c.until(lambda m: m["type"] == "response")
            assert not answer["success"], name
            assert answer["message"] == "the message " + (
                "has too many values: 100000 are the most" if name == "wide"
                else "is nested too deeply: 100 levels are the most"), answer
            # Of a text that never ends, what follows is not known.
            if name != "open":
                assert answer["request_seq"] == seq and answer["command"] == "launch", answer
    c.ask("launch", program="loop.lua", keys=["k"])
    assert c.disconnect() == 0
END
}

@test "a message without a length ends rlctl with status 2, and the end of the input with 0" {
  run -2 --separate-stderr rlctl debug --dap <<<$'Content-Length: -1\r\n\r'
  assert_equal "$output" ''
  run -0 rlctl debug --dap </dev/null
  assert_output ''
}

@test "an error that nothing catches stops the script at its line, unless the filter is off" {
  cat >wrong.lua <<'LUA'
local ok = pcall(function() return nil + 1 end)
local function add(n)
  local text = 'x' .. n
  return redis.call('INCRBY', KEYS[1], text) + 1
end
local sum = add(5)
return sum
LUA
  client <<'END'
with Client("-u", "private:") as c:
    filters = c.initialize()["exceptionBreakpointFilters"]
    assert [(one["filter"], one["default"]) for one in filters] == [("uncaught", True)], filters
    c.ask("launch", program="wrong.lua", keys=["k"])
    assert "unknown filter" in c.refused("setExceptionBreakpoints", filters=["all"])
    c.ask("configurationDone")
    stop = c.stopped()
    assert stop["reason"] == "exception" and "not an integer" in stop["text"], stop
    assert [one["line"] for one in c.frames()] == [4, 6], c.frames()
    info = c.ask("exceptionInfo", threadId=1)
    assert info["breakMode"] == "unhandled" and "not an integer" in info["description"], info
    assert c.scope("Locals") == {"n": "5", "text": '"x5"'}, c.scope("Locals")
    c.ask("continue", threadId=1)
    assert c.ended() == 5
    assert "at line 4: value is not an integer" in c.output, c.output
    c.ask("setExceptionBreakpoints", filters=[])
    c.ask("restart")
    assert c.ended() == 5
    assert "the script has ended" in c.refused("exceptionInfo", threadId=1)
END
}
