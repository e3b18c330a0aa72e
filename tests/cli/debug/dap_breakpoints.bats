# needs: server
load ../../support/common
load ../../support/dap

# Hit counts, messages and many breakpoints of `rlctl debug --dap`.

@test "only hits whose condition holds are counted, from one again at a restart; what is no hit count or message is refused" {
  printf '%s\n' 'local sum = 0' 'for i = 1, 12 do' '  sum = sum + i' '  sum = sum + 0' 'end' 'return sum' >twelve.lua
  client <<'END'
with Client("-u", "private:") as c:
    wanted = [{"line": 3, "condition": "i % 2 == 0", "hitCondition": "%3"}, {"line": 4, "hitCondition": "==8"}]
    c.launch("twelve.lua", breakpoints=wanted)
    for _ in range(2):
        c.stopped()
        assert c.scope("Locals")["i"] == "6", c.scope("Locals")
        assert c.move("continue") == 4
        for line in (2, 3, 4, 2):
            assert c.move("next") == line
        c.breakpoints("twelve.lua", wanted)
        assert c.move("continue") == 3
        assert c.scope("Locals")["i"] == "12", c.scope("Locals")
        c.ask("restart")
with Client("-u", "private:") as c:
    c.initialize()
    c.ask("launch", program="loop.lua", keys=["k"], stopOnEntry=True)
    for request in ("configurationDone", None):
        for name, text in (("hitCondition", "x"), ("logMessage", "{"), ("logMessage", "{1 +}"), ("logMessage", "{i, sum}")):
            (one,) = c.breakpoints("loop.lua", [{"line": 9, name: text}])
            assert not one["verified"] and one["message"], (text, one)
            assert text != "x" or "%5" in one["message"], one
        assert c.breakpoints("loop.lua", [{"line": 9, "hitCondition": ""}])[0]["verified"]
        if request:
            c.ask(request)
            c.stopped()
END
}

@test "messages are written at each hit, with exact values and the time of the script, also while stepping, and the script goes on" {
  cat >log.lua <<'LUA'
local t, big = {n = {1, 2}}, 1700000000123456
local function twice(n)
  return n * 2
end
local none
for i = 1, 3 do
  local s = 'é' .. i .. '\0'
  none = nil
end
return big
LUA
  printf '%s\n' 'local sum = 0' 'for i = 1, 4 do sum = sum + i end' 'for i = 1, 4 do' '  sum = sum + i' 'end' \
    'return sum' >loops.lua
  printf '%s\n' "local now = redis.call('TIME')" 'return now[1]' >now.lua
  client <<'END'
with Client("-u", "private:") as c:
    message = "i={i} {twice(i)} {t.n} {big} [{s}] {none} {'}'} {({5})[1]} }"
    (one, two) = c.launch("log.lua", breakpoints=[
        {"line": 8, "logMessage": message, "condition": "i ~= 2"}, {"line": 10, "logMessage": "{nothing.x}"}])
    assert one["verified"] and two["verified"], (one, two)
    assert c.ended() == 0
    logged = [m["body"] for m in c.events if m.get("event") == "output" and "line" in m["body"]]
    assert [one["line"] for one in logged] == [8, 8, 10], logged
    assert all(one["category"] == "console" and one["source"]["path"].endswith("/log.lua") for one in logged), logged
    texts = [one["output"] for one in logged]
    assert texts[0] == "i=1 2 {1, 2} 1700000000123456 [é1\\x00] nil } 5 }\n", texts
    assert texts[1].startswith("i=3 6 "), texts
    assert texts[2].startswith("the message: ") and "nothing" in texts[2], texts
with Client("-u", "private:") as c:
    c.launch("loops.lua", stopOnEntry=True)
    c.stopped()
    c.breakpoints("loops.lua", [{"line": 2, "logMessage": "sum {sum}"}, {"line": 4, "logMessage": "i {i}", "hitCondition": "%2"}])
    while "i 4" not in c.output:
        c.move("next")
    assert "i 2\n" in c.output and "i 1" not in c.output and "i 3" not in c.output, c.output
    assert "sum 0\n" in c.output, c.output
    c.ask("continue", threadId=1)
    assert c.ended() == 0
with Client("-u", "private:") as c:
    c.launch("now.lua", now="1700000000000000", breakpoints=[{"line": 2, "logMessage": "at {redis.call('TIME')[1]}"}])
    assert c.ended() == 0
    assert "at 1700000000\n" in c.output, c.output
END
}

@test "a condition may call the script's own functions, and a thousand breakpoints stop" {
  printf '%s\n' 'local function half(n)' '  local h = n / 2' '  return h' 'end' 'local last' 'for i = 1, 10 do' \
    '  last = half(i)' 'end' 'return last' >half.lua
  { echo 'local x = 0' && yes 'x = x + 1' | head -n 999 && echo 'return x'; } >long.lua
  client <<'END'
with Client("-u", "private:") as c:
    c.launch("half.lua", breakpoints=[{"line": 7, "condition": "half(i) == 4"}, {"line": 3, "condition": "h == 4.5"}])
    c.stopped()
    assert (c.line(), c.scope("Locals")["i"]) == (7, "8"), c.scope("Locals")
    c.move("continue")
    assert (c.line(), c.scope("Locals")["n"]) == (3, "9"), c.scope("Locals")
    c.ask("continue", threadId=1)
    assert c.ended() == 0
with Client("-u", "private:") as c:
    answers = c.launch("long.lua", breakpoints=list(range(1, 1001)))
    assert len(answers) == 1000 and all(one["verified"] for one in answers)
    c.stopped()
    for line in range(2, 30):
        assert c.move("continue") == line
    c.breakpoints("long.lua", [{"line": line, "condition": "x == %d" % (line - 2)} for line in range(900, 1001)])
    assert c.move("continue") == 900
    c.breakpoints("long.lua", [])
    c.ask("continue", threadId=1)
    assert c.ended() == 0
END
}
