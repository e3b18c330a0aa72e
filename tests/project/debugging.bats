load ../support/common

# The tutorial of `rlctl debug`: what it shows is what comes out.

setup() {
  cp "$project"/examples/debugging/* "$BATS_TEST_TMPDIR"
  cd "$BATS_TEST_TMPDIR" || return
}

@test "what the README of examples/debugging shows is what comes out" {
  awk '/^```console$/ { on = 1; next } /^```/ { on = 0 } on' README.md >shown
  local line
  while IFS= read -r line; do
    if [[ $line != '$ '* ]]; then continue; fi
    echo "$line"
    eval "${line:2}" 2>&1
  done <shown >came
  run -0 diff shown came
}

# The section of the manual.
tutorial() { awk '/^# TUTORIAL/ { on = 1; next } /^# / { on = 0 } on' "$project/man/rlctl-debug.1.scd"; }

@test "the commands of the manual's tutorial, one after the other, show what it says" {
  tutorial | awk '/^```$/ { open = !open; n += open; next } open { gsub(/\\\\/, "\\"); print >(n ".block") }'
  local block came=''
  for block in ?.block; do
    if grep -q '^rlctl\|^cd' "$block"; then
      sed -i '/^cd /d' "$block"
      came=$(bash -euo pipefail "$block" 2>&1)
    else
      # Nothing of the block is missing.
      run -1 grep -vFx "$came" "$block"
      refute_output
    fi
  done
}
