# needs: server
load ../support/common
load artefact

# The binary of a release, in each file that contains it, on the systems that people have and on the other machine.

setup_file() { name_artefacts; }

setup() {
  needs_artefacts
  cd "$BATS_TEST_TMPDIR"
}

@test "pip installs the wheel without a network, and the binary itself is in bin" {
  # Debian's Python has no pip for an environment without this package.
  needs python3-venv python3 -c 'import ensurepip'
  python3 -m venv environment
  run -0 environment/bin/pip install --no-index --disable-pip-version-check "$wheel"
  assert_equal "$(head -c 4 environment/bin/rlctl)" $'\x7fELF'
  start_server
  runs_as_built "$PWD/environment/bin/rlctl"
  run -0 environment/bin/pip show rlctl
  assert_line "Version: $(rlctl --version | sed -n '1s/^rlctl //p')"
  run -0 environment/bin/pip uninstall --yes rlctl
  [[ ! -e environment/bin/rlctl ]]
}

@test "install.sh installs the binary of the tarball" {
  run -0 sh "$RLCTL_TEST_PACKAGES/install.sh" --from "file://$RLCTL_TEST_PACKAGES" --to "$PWD/bin"
  start_server
  runs_as_built "$PWD/bin/rlctl"
}

# install_npm: installs the packages for npm in this folder, without a network.
install_npm() {
  needs npm
  needs npm npx
  needs nodejs node
  run -0 npm install --offline --no-audit --no-fund \
    "$RLCTL_TEST_PACKAGES"/rlctl-linux-"$(node -p process.arch)"-*.tgz "$RLCTL_TEST_PACKAGES"/rlctl-[0-9]*.tgz
}

@test "npm installs the binary without a network, and npx runs it" {
  install_npm
  start_server
  runs_as_built "$PWD/node_modules/.bin/rlctl"
  run -0 npx --offline rlctl --version
  assert_line --index 0 "$(rlctl --version | head -n 1)"
}

@test "npx ends as rlctl ends: with its status, or by its signal" {
  local signal
  install_npm
  start_server
  PATH=$PWD/node_modules/.bin:$PATH
  run -0 rlctl check k --limit 1/1h -q
  run -1 rlctl check k --limit 1/1h -q
  run -2 rlctl check k --limit nothing
  run -75 rlctl run k --limit 1/1h -- true
  assert_equal "$(head -n 1 "$(command -v rlctl)")" '#!/usr/bin/env node'
  for signal in KILL INT TERM HUP QUIT; do
    # A request that waits, in the child of the program that npm installed.
    rlctl check k --limit 1/1h --wait=1h -q &
    wait_until eval 'child=$(pgrep -P $! -f "bin/rlctl check") && sleeps "$child"'
    if [[ $signal == KILL ]]; then kill -KILL "$child"; else kill "-$signal" $!; fi
    ended=0
    wait $! || ended=$?
    assert_equal "$signal $ended" "$signal $((128 + $(kill -l "$signal")))"
  done
}

@test "Ctrl-C at a terminal ends npx's rlctl by the signal" {
  needs_terminal
  install_npm
  start_server
  run -0 rlctl check k --limit 1/1h -q
  run -130 at_terminal 'wait_until pgrep -f "bin/rlctl check k"; sleep 0.5; printf "\003"' \
    "$PWD/node_modules/.bin/rlctl check k --limit 1/1h --wait=1h -q"
}

@test "without the package of this computer, npx says which is missing; RLCTL_BINARY stands in for it" {
  install_npm
  rm -r node_modules/rlctl-linux-*
  run -2 node_modules/.bin/rlctl --version
  assert_line --partial "rlctl: the package rlctl-linux-$(node -p process.arch) is not installed"
  RLCTL_BINARY=$RLCTL_BUILD/cli/rlctl run -0 node_modules/.bin/rlctl --version
  RLCTL_BINARY=/nowhere run -2 node_modules/.bin/rlctl --version
  assert_line --partial '/nowhere cannot be started'
}

@test "the image has the binary, the certificate authorities and the time zones, and each part its checksum" {
  local image layer
  needs_root
  image=$(echo "$RLCTL_TEST_PACKAGES"/rlctl-*-image-"$(dpkg --print-architecture)".tar)
  mkdir image root
  tar -C image -xf "$image"
  for blob in image/blobs/sha256/*; do
    assert_equal "$(sha256sum <"$blob" | cut -d ' ' -f 1)" "${blob##*/}"
  done
  layer=$(gojq -r '.manifests[0].digest' image/index.json)
  layer=$(gojq -r '.layers[0].digest' "image/blobs/${layer/://}")
  tar -C root -xzf "image/blobs/${layer/://}"
  start_server
  ln "$socket" root/redis.socket
  runs_as_built env -i LANG=C.UTF-8 RLCTL_URL=unix:///redis.socket "$(command -v chroot)" root /bin/rlctl
  # The zones of the image, not of this system.
  run -0 env -i "$(command -v chroot)" root /bin/rlctl burst fixed-window --limit 5/day@Europe/Zurich -q
  cmp root/etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
}

# in_system SUITE PACKAGES…: the tarball's binary answers as the built one in this system, as needs_system makes it.
in_system() {
  needs_system "$@"
  tar -C "$root/usr" --strip-components=1 -xzf "$tarball"
  start_root_server
  socket=$root/tmp/redis.socket
  export RLCTL_URL=unix:$socket
  runs_as_built in_root LANG=C.UTF-8 RLCTL_URL=unix:///tmp/redis.socket rlctl
  # Without a server to start, the hint is how it is installed there: Debian has its binary in this package.
  run -3 in_root PATH=/nowhere /usr/bin/rlctl check k --limit 1/60s --url private:
  assert_line --partial 'hint: sudo apt-get install redis-tools'
  run -0 in_root dpkg -S /usr/bin/redis-check-rdb
  assert_output --partial redis-tools:
}

# bats test_tags=night
@test "the binary runs on Debian 11" { in_system bullseye redis-server; }
# bats test_tags=night
@test "the binary runs on Debian 12" { in_system bookworm redis-server; }
# bats test_tags=night
@test "the binary runs on Debian 13" { in_system trixie redis-server; }

# on_ubuntu SUITE: the same on Ubuntu, whose keys Debian does not have. They are in a package, whose checksum is known.
on_ubuntu() {
  local mirror=http://archive.ubuntu.com/ubuntu
  curl -fsSL -o keys.deb "$mirror/pool/main/u/ubuntu-keyring/ubuntu-keyring_2023.11.28.1_all.deb" ||
    skip 'needs archive.ubuntu.com'
  run -0 sha256sum --check - <<<'36de43b15853ccae0028e9a767613770c704833f82586f28eb262f0311adb8a8  keys.deb'
  dpkg-deb -x keys.deb keys
  in_system "$1" redis-server --components=main,universe --aptopt='APT::Sandbox::User "root"' \
    --keyring="$PWD/keys/usr/share/keyrings/ubuntu-archive-keyring.gpg"
}
# bats test_tags=night
@test "the binary runs on Ubuntu 22.04" { on_ubuntu jammy; }
# bats test_tags=night
@test "the binary runs on Ubuntu 24.04" { on_ubuntu noble; }

# bats test_tags=night
@test "the binary for aarch64 decides as the one for this machine" {
  local other
  other=$(echo "$RLCTL_TEST_PACKAGES"/rlctl-*-aarch64.tar.gz)
  [[ -e $other ]] || skip 'needs a release for aarch64'
  needs qemu-user-static qemu-aarch64-static
  tar --strip-components=1 -xzf "$other"
  start_server
  runs_as_built qemu-aarch64-static "$PWD/bin/rlctl"
  # The wheel and the Debian package have a binary for the same machine.
  run -0 python3 -m zipfile -e "$(echo "$RLCTL_TEST_PACKAGES"/rlctl-*_aarch64.whl)" wheel
  cmp bin/rlctl wheel/rlctl-*.data/scripts/rlctl
  dpkg-deb -x "$(echo "$RLCTL_TEST_PACKAGES"/rlctl_*_arm64.deb)" deb
  run -0 readelf --file-header deb/usr/bin/rlctl
  assert_line --regexp 'Machine: +AArch64'
}
