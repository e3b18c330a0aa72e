# needs: server
load ../../support/common

# The tables of libraries.toml, each with keys as its library makes them: see tests/stored/libraries/check.

setup_file() { start_server; }

@test "the keys of each library are read as its table says, and audit finds the broken ones and no others" {
  run -0 "$project/tests/stored/libraries/check" "$(type -P rlctl)" "$socket" "$(type -P redis-cli)" \
    "$project"/tests/stored/libraries/*.keys
  assert_output ''
}

@test "times in each unit are read, as a row, --read-as and the size of the numbers tell" {
  local unit factor second key how i
  second=$(cli TIME | head -n 1)
  while read -r unit factor; do
    for i in 3 2 1; do
      cli ZADD "z:$unit" $(((second - i) * factor)) "m$i" >/dev/null
      cli RPUSH "l:$unit" $(((second - i) * factor)) >/dev/null
    done
    for key in "z:$unit" "l:$unit"; do
      for how in "unit = \"$unit\"" ''; do
        printf '[library.times]\nkey = "%s"\ntype = "%s"\nvalue = "times"\n%s\n' "$key" \
          "$([[ $key == z* ]] && echo zset || echo list)" "$how" >"$RLCTL_CONFIG"
        run -0 rlctl inspect "$key" --limit 5/600s
        assert_line --regexp '^used +3 of 5 '
      done
      run -0 rlctl inspect "$key" --limit 5/600s --read-as times --config /dev/null
      assert_line --regexp '^used +3 of 5 '
      assert_line --partial "$(date -u -d "@$((second - 3))" +%Y-%m-%dT%H:%M:%S)"
      run -0 rlctl list "$key" --limit 5/600s
      assert_line --regexp '^ +3 +5/10m '
    done
  done <<'END'
s 1
ms 1000
us 1000000
ns 1000000000
END
}
