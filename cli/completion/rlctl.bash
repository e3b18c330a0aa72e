# shellcheck shell=bash
# Completion for bash 4 or newer: put this where bash-completion looks, or into ~/.bashrc:
#
#     source <(rlctl completion bash)

_rlctl() {
  local typed=${COMP_LINE:0:COMP_POINT} words=() word='' piece i
  # COMP_WORDS is split at = and : too; the words are put together again as they stand in the line.
  for ((i = 0; i <= COMP_CWORD; i++)); do
    if ((i == 0)) || [[ $typed == [[:space:]]* ]]; then
      words+=('')
      typed=${typed#"${typed%%[![:space:]]*}"}
    fi
    piece=${COMP_WORDS[i]}
    ((i < COMP_CWORD)) || piece=$typed
    words[-1]+=$piece
    typed=${typed#"$piece"}
  done
  words=("${words[@]//[\\\"\']/}")
  word=${words[-1]}

  local lines kind program
  mapfile -t lines < <("$1" completion words -- "${words[@]:1}" 2>/dev/null)
  read -r kind program <<<"${lines[0]-}"
  COMPREPLY=()
  case $kind in
    program)
      if declare -F _command_offset >/dev/null; then
        # Its index in COMP_WORDS, where the words before it may be more.
        for ((i = 1; i < COMP_CWORD; i++)); do
          if [[ ${COMP_WORDS[i]} == -- ]]; then break; fi
        done
        _command_offset $((i + 1))
      elif ((${#words[@]} == program + 2)); then
        mapfile -t COMPREPLY < <(compgen -c -- "$word")
      else
        compopt -o default
      fi
      return
      ;;
    files)
      local value=$word
      [[ $word != -*=* ]] || value=${word#*=}
      compopt -o filenames
      mapfile -t COMPREPLY < <(compgen -f -- "$value")
      ;;
  esac

  # readline replaces only what follows the last = or : of the word.
  local before='' match
  if [[ $word == *[=:]* && $COMP_WORDBREAKS == *[=:]* ]]; then before=${word%"${word##*[=:]}"}; fi
  for match in "${lines[@]:1}"; do
    match=${match%%$'\t'*}
    [[ $match =~ ^[[:alnum:]_./:=,@%+{}-]*$ ]] || printf -v match %q "$match"
    COMPREPLY+=("${match#"$before"}")
  done
}
complete -F _rlctl rlctl
