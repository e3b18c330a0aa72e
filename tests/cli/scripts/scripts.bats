# needs: server
load ../../support/common

# What rlctl scripts prints, compared with lua/; scripts.t has its options.

setup_file() { start_server; }
setup() {
  cli FLUSHALL >/dev/null
  cli SCRIPT FLUSH >/dev/null
  cd "$BATS_TEST_TMPDIR" || return
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
