# needs: server
load ../../support/common

# What rlctl scripts prints, compared with lua/, and the scripts called without rlctl, by redis-cli --eval; scripts.t has
# the options of rlctl scripts. tests/limiter compares the decisions of every script with a model.

setup_file() { start_server; }
setup() {
  cli FLUSHALL >/dev/null
  cli SCRIPT FLUSH >/dev/null
  cd "$BATS_TEST_TMPDIR" || return
}

# replies NAME NUMBERS WORD…: the reply to these keys and arguments is these six integers.
replies() {
  run -0 cli --eval "$project/lua/$1.lua" "${@:3}"
  assert_equal "$1 ${*:3}: ${output//$'\n'/ }" "$1 ${*:3}: $2"
}

@test "list, show, version and load have the scripts of lua/, and their SHA1 and size" {
  local sums sizes name
  sums=$(cd "$project/lua" && sha1sum -- *.lua | sed 's/\.lua$//' | sort)
  sizes=$(cd "$project/lua" && wc -c -- *.lua | sed -nE 's/^ *([0-9]+) (.*)\.lua$/\2 \1/p' | sort)
  assert_equal "$(rlctl scripts list --json | gojq -r '.sha1 + "  " + .name' | sort)" "$sums"
  assert_equal "$(rlctl version --json | gojq -r '.scripts | to_entries[] | .value + "  " + .key' | sort)" "$sums"
  assert_equal "$(rlctl version | sed -nE 's/^  ([^ ]+) +/\1 /; s/(.*) ([0-9a-f]{40})$/\2  \1/p' | sort)" "$sums"
  assert_equal "$(rlctl scripts list | sed -nE 's/^([^ ]+) +([0-9a-f]{40}) .*/\2  \1/p' | sort)" "$sums"
  assert_equal "$(rlctl scripts list | tr -s ' ' | sed 1d | cut -d' ' -f1,3 | sort)" "$sizes"
  run -0 rlctl version
  assert_output --regexp $'^rlctl [0-9]+\\.[0-9]+\\.[0-9]+\nMIT licence; [A-Za-z]+ build by [A-Za-z]+ [0-9.]+\n\nScripts:\n'
  run -0 rlctl scripts load
  assert_equal "$(sed -E 's/loaded name=(.*) sha1=(.*) servers=1/\2  \1/' <<<"$output" | sort)" "$sums"
  # shellcheck disable=SC2046 # split into words
  assert_equal "$(cli SCRIPT EXISTS $(cut -d' ' -f1 <<<"$sums") | sort | uniq -c | xargs)" '9 1'
  for name in "$project"/lua/*; do rlctl scripts show "$(basename "$name" .lua)" | cmp - "$name"; done
  run -0 rlctl scripts show gcra --json
  assert_equal "$(gojq -r .sha1 <<<"$output")" "$(gojq -rj .text <<<"$output" | sha1sum | cut -d' ' -f1)"
}

@test "a script takes the arguments of its contract and replies with six integers" {
  replies leaky-bucket '1 1 0 30000000 0 0' bucket , 2 60e6 1 1 1000000
  replies leaky-bucket '1 0 0 60000000 30000000 0' bucket , 2 60e6 1 1 1000000
  replies concurrency '1 0 0 30000000 0 0' leases , 1 30e6 acquire a 1000000
  replies concurrency '0 0 29000000 29000000 0 1' leases , 1 30e6 acquire b 2000000
  replies sliding-window-log '1 0 0 60000000 0 0' '{k}:1s' '{k}:60s' , 9 1e6 '' 1 60e6 '' 1 5
  replies sliding-window-log '0 0 60000000 60000000 0 2' '{k}:1s' '{k}:60s' , 9 1e6 '' 1 60e6 '' 1 5
  assert_equal "$(cli LLEN '{k}:1s')" 1
  # rlctl and a script called by hand share their state.
  rlctl check -q k --limit 5/60s --now 1000000
  replies sliding-window-log '1 3 0 60000000 0 0' k , 5 60000000 '' 1 1000000
  run -0 rlctl check k --limit 5/60s --now 1000000
  assert_output --partial remaining=2
}

@test "with only a limit and a window, a script uses the server's clock and a cost of 1" {
  local name
  for name in "$project"/lua/*.lua; do
    [[ $name != */concurrency.lua ]] || continue
    run -0 cli --eval "$name" "${name##*/}" , 5 60e6
    assert_equal "${#lines[@]} ${lines[0]} ${lines[2]} ${lines[4]} ${lines[5]}" '6 1 0 0 0'
  done
}
