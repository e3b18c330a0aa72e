# shellcheck shell=bash
# Completion for bash 4.4 or newer: put this where bash-completion looks, or into ~/.bashrc:
#
#     source <(rlctl completion bash)

# What stands on the line is executed, and a policy may have any name: nothing that a shell would interpret may get
# there unquoted, or quoted otherwise than the word that is typed.
_rlctl() {
  local IFS=$' \t\n' typed=${COMP_LINE:0:COMP_POINT} words=() piece i
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
  local quote=''
  case ${words[-1]} in [\"\']*) quote=${words[-1]:0:1} ;; esac
  words=("${words[@]//[\\\"\']/}")
  local word=${words[-1]}

  # What is typed may be an alias, or a variable.
  local rlctl=$1 lines kind program
  case $rlctl in \~/*) rlctl=$HOME/${rlctl#\~/} ;; esac
  type -P -- "$rlctl" >/dev/null || rlctl=rlctl
  mapfile -t lines < <("$rlctl" completion words -- "${words[@]:1}" 2>/dev/null)
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
      # readline quotes what are the names of files.
      compopt -o filenames
      mapfile -t COMPREPLY < <(compgen -f -- "$value")
      ;;
  esac

  # readline replaces what follows the last = or : of the word, and what begins with the last @, where these
  # break words and the word is not quoted.
  local before='' breaks='' match quoted
  for match in = : @; do
    if [[ $COMP_WORDBREAKS == *"$match"* ]]; then breaks+=$match; fi
  done
  if [[ ! $quote && $breaks && $word == *[$breaks]* ]]; then
    before=${word%"${word##*["$breaks"]}"}
    before=${before%@}
  fi
  for match in "${lines[@]:1}"; do
    match=${match%%$'\t'*}
    match=${match#"$before"}
    if [[ ! $match =~ ^[[:alnum:]_./:=,@%+-]*$ && $kind != files ]]; then
      # Such a name cannot be written in quotes without closing them.
      [[ ! $quote || ! $match =~ [\"\'\\\$\`!] ]] || continue
      if [[ ! $quote ]]; then
        printf -v quoted %q "$match"
        # It contains what this locale cannot print.
        [[ $quoted != *"\$'"* ]] || continue
        match=$quoted
      fi
    fi
    COMPREPLY+=("$match")
  done
}

if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 404)); then complete -F _rlctl rlctl; fi
