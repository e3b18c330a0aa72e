# shellcheck shell=bash
# Types at the prompt of `rlctl debug` under at_terminal, whose command has written the number of its shell to the file
# `pid`. The file `screen` has what the terminal showed.

# until_shown COUNT WORDS: waits until the terminal has shown at least COUNT lines with these words.
has() { (($(grep -acF -- "$2" "$screen") >= $1)); }
until_shown() { wait_until has "$@"; }
# The process of rlctl, under the terminal's shell; if it has a worker, that.
debugger() {
  local process
  process=$(pgrep -P "$(<pid)") && pgrep -P "$process" -x rlctl || echo "$process"
}
# Types a command once the terminal has asked for the command of this number.
typed=0
type_at_prompt() {
  typed=$((typed + 1))
  until_shown "$typed" 'debug> '
  wait_until eval 'sleeps "$(debugger)"'
  printf '%b' "$1"
}
# until_it_runs [TICKS]: waits until an endless script has run for this many hundredths of a second, or has
# been cut off.
until_it_runs() {
  local before
  before=$(work "$(debugger)")
  wait_until eval "((\$(work \$(debugger)) >= $before + ${1:-15})) || has $((typed + 1)) 'debug> '"
}
# What the screen shows, without colours and moves of the cursor.
plain_screen() { sed $'s/\e\\[[0-9;?]*[a-zA-Z]//g; s/\r//g' screen; }
