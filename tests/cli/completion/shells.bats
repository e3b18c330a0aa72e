load ../../support/common

# Completion in the shells themselves, each at a terminal of its own.

setup() {
  needs_terminal
  export RLCTL_CONFIG=$BATS_TEST_TMPDIR/config.toml told=$BATS_TEST_TMPDIR/told
  printf '[policy.%s]\nkey = "k:{}"\nlimit = "5/60s"\n' login '"mail:ann"' '"user@example.com"' '"with blank"' >"$RLCTL_CONFIG"
  mkdir "$BATS_TEST_TMPDIR/folder" "$BATS_TEST_TMPDIR/bin"
  cd "$BATS_TEST_TMPDIR/folder"
  touch only-file.toml 'in folder.toml' "$HOME/in-home.toml"
  # In the place of rlctl: writes what it is told to $told, except for completion.
  cat >"$BATS_TEST_TMPDIR/bin/rlctl" <<END
#!/bin/sh
if [ "\$1" = completion ]; then exec '$RLCTL_BUILD/cli/rlctl' "\$@"; fi
{ printf '<%s>' "\$@"; echo; } >>'$told'
END
  chmod +x "$BATS_TEST_TMPDIR/bin/rlctl"
  export PATH=$BATS_TEST_TMPDIR/bin:$PATH
}

# type_lines: what at_terminal types: each line of $typed when the one before has been run; \t is Tab.
type_lines() {
  local line count=0
  wait_until grep -q READY "$screen"
  while IFS= read -r line; do
    printf '%b\r' "$line"
    count=$((count + 1))
    wait_until eval 'mapfile -t runs <"$told"; ((${#runs[@]} >= count))'
  done <<<"$typed"
  printf 'exit\r'
}

# types SHELL-COMMAND: types $typed into the shell.
types() {
  : >"$told"
  TERM=xterm run -0 at_terminal type_lines "stty cols 100 rows 30; $1"
}

# completes SHELL-COMMAND: types lines into the shell, and compares what rlctl was told.
completes() {
  local typed_and_told
  typed_and_told=$(
    cat <<'END'
rlctl che\tX|<check><X>
rlctl check --algorithm=gc\tk|<check><--algorithm=gcra><k>
rlctl check --pol\tlo\tann|<check><--policy><login><ann>
rlctl burst gcra lea\tsteady|<burst><gcra><leaky-bucket><steady>
rlctl --config on\tcheck|<--config><only-file.toml><check>
rlctl --config=on\tcheck|<--config=only-file.toml><check>
rlctl check --policy ma\tk|<check><--policy><mail:ann><k>
rlctl check --policy mail:a\tk|<check><--policy><mail:ann><k>
rlctl check --policy "mail:a\t|<check><--policy><mail:ann>
rlctl check --policy user@e\tk|<check><--policy><user@example.com><k>
rlctl check --policy with\tk|<check><--policy><with blank><k>
rlctl check --policy "with b\t|<check><--policy><with blank>
rlctl check --config ~/in-h\tk|<check><--config><~/in-home.toml><k>
rlctl check --config=in\\ f\tk|<check><--config=in folder.toml><k>
rlctl run k -- mkfif\tx|<run><k><--><mkfifo><x>
END
  )
  typed=$(cut -d'|' -f1 <<<"$typed_and_told")
  types "$1"
  assert_equal "$(sed "s|<$HOME|<~|" "$told")" "$(cut -d'|' -f2 <<<"$typed_and_told")"
}

@test "bash completes" {
  echo 'source <(rlctl completion bash); echo REA""DY' >"$BATS_TEST_TMPDIR/bashrc"
  completes "bash --noprofile --rcfile '$BATS_TEST_TMPDIR/bashrc' -i"
}

# bats test_tags=night
@test "bash completes with bash-completion, and the words of another command too" {
  local library=/usr/share/bash-completion/bash_completion
  needs bash-completion test -e "$library"
  printf '%s\n' "source $library" 'source <(rlctl completion bash)' \
    '_told() { COMPREPLY=(second-word); }; complete -F _told rlctl-other; rlctl-other() { rlctl "$@"; }' \
    'echo REA""DY' >"$BATS_TEST_TMPDIR/bashrc"
  completes "bash --noprofile --rcfile '$BATS_TEST_TMPDIR/bashrc' -i"
  typed='rlctl run k --algorithm=gcra -- rlctl-other sec\tx'
  types "bash --noprofile --rcfile '$BATS_TEST_TMPDIR/bashrc' -i"
  assert_equal "$(cat "$told")" '<run><k><--algorithm=gcra><--><rlctl-other><second-word><x>'
}

@test "zsh completes" {
  printf '%s\n' 'autoload -U compinit; compinit -u -D' 'source <(rlctl completion zsh)' 'echo REA""DY' \
    >"$BATS_TEST_TMPDIR/.zshrc"
  completes "ZDOTDIR='$BATS_TEST_TMPDIR' zsh -i"
}

@test "zsh finds the completion in a folder of its own" {
  mkdir "$BATS_TEST_TMPDIR/functions"
  rlctl completion zsh >"$BATS_TEST_TMPDIR/functions/_rlctl"
  printf '%s\n' "fpath=('$BATS_TEST_TMPDIR/functions' \$fpath)" 'autoload -U compinit; compinit -u -D' 'echo REA""DY' \
    >"$BATS_TEST_TMPDIR/.zshrc"
  typed='rlctl che\tX'
  types "ZDOTDIR='$BATS_TEST_TMPDIR' zsh -i"
  assert_equal "$(cat "$told")" '<check><X>'
}

@test "fish completes" {
  completes "fish --no-config -C 'rlctl completion fish | source; echo REA\"\"DY'"
}
