#compdef rlctl
# Completion for zsh: put this as _rlctl into a folder of $fpath, or into ~/.zshrc after compinit:
#
#     source <(rlctl completion zsh)

_rlctl() {
  local -a lines shown matches
  local line match about kind
  integer width=0
  # What is typed may be an alias, or a variable.
  local rlctl=${words[1]/#\~\//$HOME/}
  whence -p -- "$rlctl" >/dev/null || rlctl=rlctl
  lines=("${(@f)$("$rlctl" completion words -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
  kind=$lines[1]
  shift lines
  case $kind in
    program*)
      # words[1] is rlctl: index n of what follows it is words[n + 2].
      integer first=$((${kind#program } + 2))
      shift $((first - 1)) words
      ((CURRENT -= first - 1))
      _normal
      return
      ;;
  esac
  for line in $lines; do
    match=${line%%$'\t'*}
    matches+=($match)
    ((${#match} > width)) && width=${#match}
  done
  for line in $lines; do
    match=${line%%$'\t'*}
    about=''
    [[ $line == *$'\t'* ]] && about=${line#*$'\t'}
    shown+=("${(r:width:)match}${about:+  -- $about}")
  done
  local found=1
  if ((${#matches})); then
    if [[ "$lines" == *$'\t'* ]]; then
      compadd -l -d shown -a matches && found=0
    else
      compadd -a matches && found=0
    fi
  fi
  if [[ $kind == files ]]; then
    compset -P '--*='
    _files && found=0
  fi
  return found
}

# Loaded by compinit, or evaluated.
if [[ $funcstack[1] == _rlctl ]]; then
  _rlctl "$@"
else
  compdef _rlctl rlctl
fi
