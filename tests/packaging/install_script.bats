load ../support/common

# packaging/install.sh: it installs what it can verify, and nothing else.

# A release of version 9.9.9 in the folder `releases`. Its binary is a script that starts the rlctl that was built:
# binaries.bats installs the archives of a release.
setup() {
  cd "$BATS_TEST_TMPDIR"
  export HOME=$BATS_TEST_TMPDIR/home TMPDIR=$BATS_TEST_TMPDIR/tmp
  name=rlctl-9.9.9-linux-$(uname -m)
  mkdir -p home tmp releases "$name/bin"
  printf '#!/bin/sh\nexec %q "$@"\n' "$RLCTL_BUILD/cli/rlctl" >"$name/bin/rlctl"
  chmod +x "$name/bin/rlctl"
  pack
  sed "s|@VERSION@|9.9.9|; s|@FROM@|file://$PWD/releases|" "$project/packaging/install.sh" >install.sh
}

# pack: makes the archive and the checksums of the release.
pack() {
  tar -czf "releases/$name.tar.gz" "$name"
  sum
}

# sum: writes the checksums of the release as they are now.
sum() { (cd releases && sha256sum -- *.tar.gz >SHA256SUMS); }

# refuses STATUS MESSAGE ARGUMENT…: install.sh ends with this message, installs nothing and leaves nothing.
refuses() {
  run "-$1" sh install.sh "${@:3}"
  assert_line "install.sh: $2"
  assert_equal "$(find home tmp -mindepth 1 -type f)" ''
}

# Makes the folder `bin` with what install.sh needs besides a program that downloads and one that makes checksums. Perl is
# for shasum.
make_bin() {
  local command
  mkdir bin
  for command in sh cat chmod cp cut gzip head mkdir mktemp mv perl rm sed tar uname; do
    ln -s "$(command -v "$command")" "bin/$command"
  done
}

# with COMMAND ARGUMENT…: install.sh, with only this one of the commands that the user may have.
with() {
  rm -rf home/.local
  ln -s "$(command -v "$1")" "bin/$1"
  run -0 env PATH="$PWD/bin" sh install.sh "${@:2}"
  assert_line --partial "as $HOME/.local/bin/rlctl"
  rm "bin/$1"
}

# start_releases: serves `releases` at $url, by HTTP on a free port.
start_releases() {
  python3 -u -m http.server --bind 127.0.0.1 --directory releases 0 >port 2>requests 3>&- &
  server=$!
  wait_until grep -q port port
  url=http://127.0.0.1:$(sed -n 's/.* port \([0-9]*\) .*/\1/p' port)
}

teardown() { [[ ! ${server-} ]] || kill "$server"; }

@test "the binary is installed for the user, and runs" {
  run -0 sh install.sh
  assert_output "installed $(rlctl --version | head -n 1) as $HOME/.local/bin/rlctl
$HOME/.local/bin is not in PATH"
  run -0 "$HOME/.local/bin/rlctl" burst -q
  assert_equal "$(stat -c %a "$HOME/.local/bin/rlctl")" 755
  assert_equal "$(find tmp "$HOME" -type f)" "$HOME/.local/bin/rlctl"
}

@test "--to names the folder, also with blanks, and a second time replaces the binary" {
  mkdir 'my tools'
  echo old >'my tools/rlctl'
  PATH=$PATH:$PWD/my\ tools run -0 sh install.sh --to "$PWD/my tools"
  assert_output "installed $(rlctl --version | head -n 1) as $PWD/my tools/rlctl"
  cmp "$name/bin/rlctl" 'my tools/rlctl'
}

@test "--version and --from name another release, whose files may have a folder of their own" {
  mv "$name" "${name/9.9.9/1.2.3}"
  rm releases/*
  name=${name/9.9.9/1.2.3} pack
  mkdir releases/v1.2.3
  mv releases/SHA256SUMS "releases/${name/9.9.9/1.2.3}.tar.gz" releases/v1.2.3/
  run -0 sh install.sh --version v1.2.3 --from "file://$PWD/releases/"
  assert_line --partial installed
}

@test "a wrong checksum, one that is missing, and none at all install nothing" {
  local wrong archive
  archive=file://$PWD/releases/$name.tar.gz
  wrong=$(sha256sum <"releases/$name.tar.gz" | cut -d ' ' -f 1)
  printf x >>"releases/$name.tar.gz"
  refuses 1 "the checksum of $archive is $(sha256sum <"releases/$name.tar.gz" | cut -d ' ' -f 1), but must be $wrong: nothing was installed"
  sed -i "s/$name/rlctl-other/" releases/SHA256SUMS
  refuses 1 "SHA256SUMS has no checksum of $name.tar.gz: nothing was installed"
  # Two of them are none.
  sum && sum && cat releases/SHA256SUMS releases/SHA256SUMS >both && mv both releases/SHA256SUMS
  refuses 1 "SHA256SUMS has no checksum of $name.tar.gz: nothing was installed"
  rm releases/SHA256SUMS
  refuses 1 "file://$PWD/releases has no release 9.9.9: file://$PWD/releases/SHA256SUMS cannot be read"
  sum && rm "releases/$name.tar.gz"
  refuses 1 "$archive cannot be read"
}

@test "without a program that makes checksums, nothing is installed; any of three does" {
  make_bin
  run -1 env PATH="$PWD/bin" sh install.sh
  assert_line 'install.sh: nothing can verify the download: sha256sum, shasum and openssl are missing'
  with sha256sum
  with shasum
  with openssl
}

@test "curl or wget downloads it, and without either, nothing is installed" {
  start_releases
  make_bin
  run -1 env PATH="$PWD/bin" sh install.sh --from "$url"
  assert_line 'install.sh: neither curl nor wget was found'
  ln -s "$(command -v openssl)" bin/openssl
  with curl --from "$url"
  needs wget
  with wget --from "$url"
  assert_equal "$(grep -c "GET /$name.tar.gz .* 200" requests)" 2
  rm -r home/.local
  refuses 1 "SHA256SUMS has no checksum of rlctl-1.0.0-linux-$(uname -m).tar.gz: nothing was installed" \
    --from "$url" --version 1.0.0
}

@test "install.sh of the sources, which no release knows, asks for the version" {
  run -2 sh "$project/packaging/install.sh"
  assert_line 'install.sh: no version'
  run -0 sh "$project/packaging/install.sh" --version 9.9.9 --from "file://$PWD/releases"
}

@test "a folder that cannot be written, and a binary that does not run, are errors" {
  echo file >occupied
  refuses 1 "the folder $PWD/occupied/bin cannot be made" --to "$PWD/occupied/bin"
  printf '#!/bin/sh\nexit 126\n' >"$name/bin/rlctl"
  pack
  refuses 1 'the binary does not run on this computer: nothing was installed'
}

@test "a folder that is only readable is an error" {
  mkdir target
  if ((EUID == 0)); then
    needs_mount
    # Root may write to each folder, but not to a file system that is only readable.
    run -1 unshare --mount sh -c 'mount -t tmpfs -o ro none target && exec sh install.sh --to "$PWD/target"'
  else
    chmod 555 target
    run -1 sh install.sh --to "$PWD/target"
  fi
  assert_line "install.sh: $PWD/target cannot be written"
}

@test "wrong usage is an error of status 2" {
  refuses 2 "unknown argument '--prefix'" --prefix /usr
  refuses 2 '--to needs a value' --to
  refuses 2 "'latest' is not a version" --version latest
  refuses 2 "'ftp://host/x' is not a URL of releases" --from ftp://host/x
  # A network without encryption proves nothing.
  refuses 2 "'http://host/x' is not a URL of releases" --from http://host/x
  run -0 sh install.sh --help
  assert_line --partial 'sh install.sh [--to FOLDER] [--version VERSION] [--from URL]'
}
