# shellcheck shell=bash
# Assertions for the tests in bats, with the names of bats-assert. Each fails with what it compared. (Loading
# bats-assert itself takes as long as all that most tests do.)
#
#   fail [MESSAGE…]                      Fails with this message.
#   assert COMMAND…, refute COMMAND…     The command succeeds; it fails.
#   assert_equal ACTUAL EXPECTED, assert_not_equal ACTUAL OTHER
#   assert_regex TEXT PATTERN, refute_regex TEXT PATTERN
#                                        Whether an extended regular expression matches. $BASH_REMATCH has what did.
#   assert_success                       The last `run` did not fail.
#   assert_output [--partial | --regexp] [TEXT], refute_output …
#                                        What it printed: this text; it contains it, or matches it. Without TEXT:
#                                        something.
#   assert_line [--index N] [--partial | --regexp] TEXT, refute_line …
#                                        Some line, or line N, counted from 0, is this text, contains it, or matches it.

fail() {
  printf '%s\n' "$*" >&2
  return 1
}

assert() { "$@" || fail "failed: $*"; }
refute() { ! "$@" || fail "succeeded: $*"; }

assert_equal() { [[ $1 == "$2" ]] || fail "expected: $2"$'\n'"actual:   $1"; }
assert_not_equal() { [[ $1 != "$2" ]] || fail "expected anything else: $1"; }
assert_regex() { [[ $1 =~ $2 ]] || fail "no match for: $2"$'\n'"in:           $1"; }
refute_regex() { [[ ! $1 =~ $2 ]] || fail "a match for: $2"$'\n'"in:          $1"; }

# shellcheck disable=SC2154 # `run` sets them
assert_success() { ((status == 0)) || fail "status $status, not 0, with the output:"$'\n'"$output"; }

# matches KIND TEXT EXPECTED
matches() {
  case $1 in
    partial) [[ $2 == *"$3"* ]] ;;
    regexp) [[ $2 =~ $3 ]] ;;
    *) [[ $2 == "$3" ]] ;;
  esac
}

# text_matches WANTED LINES_OR_OUTPUT [--index N] [--partial | --regexp] [--] TEXT: WANTED is 1 or 0.
text_matches() {
  local wanted=$1 what=$2 kind='' index='' expected='' candidates=() text found=0
  shift 2
  while (($#)); do
    case $1 in
      --partial | --regexp) kind=${1#--} ;;
      --index) index=$2 && shift ;;
      --) shift && break ;;
      *) break ;;
    esac
    shift
  done
  expected="${kind:-equal to}: ${1-something}"
  if [[ $what == output ]]; then
    candidates=("$output")
    # Without a text, anything will do.
    if ((!$#)); then kind=regexp && set -- .; fi
  elif [[ $index ]]; then
    candidates=("${lines[index]-}")
  elif [[ $kind == regexp ]]; then
    candidates=("${lines[@]}")
  elif ((${#lines[@]})); then
    # All lines at once, since there may be thousands of them.
    printf -v text '\n%s' "${lines[@]}"
    candidates=("$text"$'\n')
    if [[ ! $kind ]]; then
      kind=partial
      set -- $'\n'"$1"$'\n'
    fi
  fi
  for text in "${candidates[@]}"; do
    if matches "$kind" "$text" "$1"; then found=1; break; fi
  done
  ((found == wanted)) ||
    fail "$([[ $wanted == 1 ]] && echo no || echo a) $what ${index:+$index }$expected"$'\n'"in the output:"$'\n'"$output"
}

assert_output() { text_matches 1 output "$@"; }
refute_output() { text_matches 0 output "$@"; }
assert_line() { text_matches 1 line "$@"; }
refute_line() { text_matches 0 line "$@"; }
