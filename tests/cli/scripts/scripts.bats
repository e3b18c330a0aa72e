# needs: server
load ../../support/common

# What rlctl scripts prints, compared with lua/ and run by other programs; scripts.t has its decisions and options.

setup_file() { start_server; }
setup() {
  cli FLUSHALL >/dev/null
  cli SCRIPT FLUSH >/dev/null
  cd "$BATS_TEST_TMPDIR" || return
}

@test "list, show, version, load and export have the scripts of lua/, and their SHA1 and size" {
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
  # A call is one command.
  cli CONFIG RESETSTAT >/dev/null
  run -0 rlctl scripts call gcra k --limit 5/60s
  assert_equal "$(calls evalsha)" 1
  run -0 rlctl scripts export new/lua
  assert_equal "$(sed -E 's|written file=new/lua/(.*).lua|\1|' <<<"$output" | sort)" "$(cut -d' ' -f1 <<<"$sizes")"
  diff -r new/lua "$project/lua"
  rm new/lua/fixed-window.lua
  run -0 rlctl scripts export new/lua --json
  assert_equal "$(gojq -r .result <<<"$output" | xargs)" "written$(printf ' unchanged%.0s' {1..8})"
  for name in new/lua/*; do rlctl scripts show "$(basename "$name" .lua)" | cmp - "$name"; done
  run -0 rlctl scripts show gcra --json
  assert_equal "$(gojq -r .sha1 <<<"$output")" "$(gojq -rj .text <<<"$output" | sha1sum | cut -d' ' -f1)"
}

# prints_the_call KEY NAME OPTION…: the printed line, run by each shell, gives the reply that call gives.
prints_the_call() {
  local line reply shell
  line=$(rlctl scripts call "${@:2}" --print -- "$1")
  assert_equal "$(cli DBSIZE)" 0
  reply=$(rlctl scripts call "${@:2}" -- "$1" | sed -E 's/[a-z_]+=//g')
  for shell in bash dash zsh sh; do
    cli FLUSHALL >/dev/null
    ! command -v "$shell" >/dev/null || assert_equal "$shell: $("$shell" -c "$line" | xargs)" "$shell: $reply"
  done
  cli FLUSHALL >/dev/null
}

@test "--print gives the redis-cli line, which a shell can run" {
  local key
  rlctl scripts load >/dev/null
  for key in login:alice '-n' "it's" 'a b' '$(date) `x` "q" \ *' $'line\nfeed\ttab' $'\xff\xfe' 'ünï' '=ls' \
    $'\n\';touch pwned #' $'\e\\\';touch pwned;\''; do
    prints_the_call "$key" sliding-window-log --limit 5/60s --now 1800000000000000
  done
  prints_the_call it\'s gcra --limit 5/60s --burst 7 --cost 3 --now 1800000000000000
  prints_the_call it\'s sliding-window-log --limit 5/60s --limit 9/1h --cost -1 --now 1800000000000000
  [[ ! -e pwned ]]
}

@test "call says that a refund was counted if its answer cannot be written" {
  [[ -e /dev/full ]] || skip 'no /dev/full'
  run -2 bash -c 'rlctl scripts call gcra k --limit 5/60s --cost -1 >/dev/full'
  assert_output --partial '; the refund was counted'
}
