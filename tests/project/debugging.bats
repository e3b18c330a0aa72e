load ../support/common

# The tutorial of `rlctl debug`: what it shows is what comes out.

setup() {
  cp "$project"/examples/debugging/* "$BATS_TEST_TMPDIR"
  cd "$BATS_TEST_TMPDIR" || return
}

# shown_session COMMAND <SHOWN: runs the command with what SHOWN has behind "debug> " and prints what
# came, with these lines in their places: before each a command is given that none is, whose answer
# marks the place.
shown_session() {
  local typed line
  mapfile -t typed < <(sed -n 's/^debug> //p')
  if ((${#typed[@]} == 0)); then
    eval "$1" 2>&1
    return
  fi
  for line in "${typed[@]}"; do printf '%%\n%s\n' "$line"; done >commands
  # It says at the end that there were such.
  eval "$1" <commands 2>&1 | grep -v 'of the commands could not be done' | while IFS= read -r line; do
    if [[ $line == "!   unknown command '%'"* ]]; then
      line="debug> ${typed[0]}"
      typed=("${typed[@]:1}")
    fi
    printf '%s\n' "$line"
  done
}

# blocks_come_out <SHOWN: commands behind "$ ", each with what it shows.
blocks_come_out() {
  awk '/^\$ / { n++ } { print >(sprintf("%02d", n) ".block") }'
  local block command
  for block in [0-9][0-9].block; do
    command=$(sed -n '1s/^\$ //p' "$block")
    shown_session "$command" <"$block" >came
    diff -u "$block" <(echo "\$ $command" | cat - came)
  done
}

@test "what the README of examples/debugging shows is what comes out" {
  awk '/^```console$/ { on = 1; next } /^```/ { on = 0 } on' README.md >shown
  blocks_come_out <shown
  assert [ -s 06.block ]
}

# The section of the manual.
tutorial() { awk '/^# TUTORIAL/ { on = 1; next } /^# / { on = 0 } on' "$project/man/rlctl-debug.1.scd"; }

@test "the commands of the manual's tutorial, one after the other, show what it says" {
  # A block that begins with a command is run; what stands in the other ones came of the last one.
  tutorial | awk '/^```$/ { open = !open; n += open; next } open { gsub(/\\\\/, "\\"); print >(sprintf("%02d", n) ".block") }'
  local block came='' command=''
  for block in [0-9][0-9].block; do
    if grep -q '^rlctl\|^cd' "$block"; then
      sed -i '/^cd /d' "$block"
      command=$(<"$block")
      came=$(bash -euo pipefail "$block" 2>&1 </dev/null)
    else
      if grep -q '^debug> ' "$block"; then came=$(shown_session "$command" <"$block"); fi
      # Nothing of the block is missing.
      run -1 grep -vFx "$came" "$block"
      refute_output
    fi
  done
  assert grep -q '^debug> ' "$block"
}
