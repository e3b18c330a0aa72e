# needs: server
load ../../support/common
load ../../support/dap

# `rlctl debug --dap` changes variables, and shows those of callers. The client is tests/support/dap.py.

setup() {
  dap_folder
  cat >sum.lua <<'LUA'
local sum, t = 0, {a = {1, 2}, ["b c\0"] = "x", [true] = {}}
local function add(n)
  local before = sum
  sum = sum + n
  return before
end
for i = 1, 3 do
  add(i)
end
local count = 5
redis.call('SET', KEYS[1], count)
return {count, sum, t.a[1], t["b c\0"], KEYS[1], ARGV[1], t[true][-1]}
LUA
}

@test "setVariable and the console change locals, upvalues, fields, KEYS and ARGV, and the script goes on with them" {
  client <<'END'
with Client("-u", "private:") as c:
    c.launch("sum.lua", keys=["k"], args=["a"], breakpoints=[4])
    c.stopped()

    def scopes():
        return {one["name"]: one["variablesReference"] for one in c.ask("scopes", frameId=1)["scopes"]}

    def change(reference, name, value):
        answer = c.ask("setVariable", variablesReference=reference, name=name, value=value)
        assert c.variables(reference)[name]["value"] == answer["value"], (name, answer)
        return answer

    at = scopes()
    assert change(at["Locals"], "n", "sum + n + 9") == {"value": "10", "type": "number", "variablesReference": 0}
    assert change(at["Upvalues"], "sum", "1700000000123456")["value"] == "1700000000123456"
    c.breakpoints("sum.lua", [11])
    assert c.move("continue") == 11
    at = scopes()
    t = c.variables(at["Locals"])["t"]["variablesReference"]
    fields = c.variables(t)
    assert change(fields["a"]["variablesReference"], "[1]", "'\\0' .. '\\195\\188'")["value"] == r'"\000ü"'
    assert change(t, r'["b c\000"]', "nil and 1 or 'new'")["value"] == '"new"'
    opened = change(t, "[true]", "{[-1] = {}}")["variablesReference"]
    assert change(opened, "[-1]", "7")["value"] == "7"
    assert change(at["KEYS"], "[1]", "'other'")["value"] == '"other"'
    assert change(at["ARGV"], "[1]", "ARGV[1] .. '!'")["value"] == '"a!"'
    c.ask("continue", threadId=1)
    assert c.ended() == 0
    assert "redis> SET other 5 " in c.output, c.output
    assert "= {5, 1700000000123471, " in c.output and '"new", "other", "a!", 7}' in c.output, c.output
with Client("-u", "private:") as c:
    c.launch("sum.lua", keys=["k"], args=["a"], breakpoints=[11])
    c.stopped()
    assert c.value("t.a[1] = count") == "5"
    assert c.value("t.a[1]", "hover") == "5"
    assert c.value("count = count + 2") == "7"
    assert c.value("count == 7") == "true"
    assert "is not an expression" in c.refused("evaluate", expression="count = 1", context="watch", frameId=1)
    assert c.value("count, t.a[1] = 7, 5") == "(no value)"
    assert c.value("ARGV[1] = 'b'; return ARGV[1]") == '"b"'
    c.ask("continue", threadId=1)
    assert c.ended() == 0
    assert "= {7, 6, 5," in c.output and '"b"}' in c.output, c.output
END
}

@test "what cannot be changed is refused with the reason, and hovering calls nothing at all" {
  client <<'END'
with Client("-u", "private:") as c:
    c.launch("sum.lua", keys=["k"], args=["a"], breakpoints=[4])
    c.stopped()
    at = {one["name"]: one["variablesReference"] for one in c.ask("scopes", frameId=1)["scopes"]}

    assert "is visible here" in c.refused("setVariable", variablesReference=at["Locals"], name="count", value="1")
    assert "not a variable" in c.refused("setVariable", variablesReference=at["Locals"], name="n + 1", value="1")
    assert "no such frame" in c.refused("evaluate", expression="t = 1", frameId=9, context="repl")
    assert "no such" in c.refused("scopes", frameId=0)
    assert "in the console" in c.refused("setVariable", variablesReference=at["Keys in Redis"], name="k", value="1")
    assert "no such variables" in c.refused("setVariable", variablesReference=99, name="k", value="1")
    assert "missing" in c.refused("setVariable", variablesReference=at["Locals"], name="n")
    copy = c.ask("evaluate", expression="{1}", context="repl", frameId=1)["variablesReference"]
    assert "a copy" in c.refused("setVariable", variablesReference=copy, name="[1]", value="2")
    assert c.scope("Locals") == {"n": "1", "before": "0"}, c.scope("Locals")
with Client("-u", "private:") as c:
    c.launch("sum.lua", keys=["k"], breakpoints=[11])
    c.stopped()
    for code in ("redis.call('SET', 'k', 1)", "add(1)", "count + 1", "t.a[count + 1]", "{}", "count = 1"):
        assert "only variables" in c.refused("evaluate", expression=code, context="hover", frameId=1), code
    assert "memory" in c.refused("evaluate", expression="string.rep('x', 1e9)", context="watch", frameId=1)
    assert c.value("redis.call('SET', 'k', 1)") == '{ok = "OK"}'
    assert c.value("(function() return 1 end)()") == "1"
END
}

@test "callers' variables are shown, set and evaluated" {
  client <<'END'
with Client("-u", "private:") as c:
    c.launch("sum.lua", keys=["k"], breakpoints=[8, 4])
    c.stopped()
    for _ in range(3):
        c.move("stepIn")
    assert [one["line"] for one in c.frames()] == [5, 8]
    locals = c.scope("Locals", frame=2)
    assert locals["i"] == "1" and locals["sum"] == "1" and "n" not in locals, locals
    assert c.scope("Upvalues", frame=2) == {}
    ask = lambda expression, frame: c.ask("evaluate", expression=expression, frameId=frame, context="watch")["result"]
    assert ask("i + t.a[2]", 2) == "3" and ask("n", 1) == "1"
    assert "nonexistent global" in c.refused("evaluate", expression="n", frameId=2, context="hover")
    assert c.ask("evaluate", expression="i = 9", frameId=2, context="repl")["result"] == "9"
    assert c.scope("Locals", frame=2)["i"] == "9"
    assert "no such frame" in c.refused("evaluate", expression="n", frameId=3, context="hover")
END
}
