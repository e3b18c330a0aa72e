# shellcheck shell=sh
# For the scripts that install missing packages and build, which source it.
# POSIX sh; the only list of packages.
#
#   prepare GROUP…   Installs whatever the groups need and is missing: build, server, test, lint,
#                    package (for packaging/release), aarch64 (to compile for it), root (to try packages in systems of their own),
#                    unpack (for tests/servers), site, clang, npm, browser, night (what tests/night/run runs besides).
#   prepare_npm      Installs the npm packages of tests in .cache/npm, unless they are there.
#   build PRESET [TARGET…]
#                    Configures and builds build/PRESET. Prints its log only if it fails.
#   step TEXT COMMAND…
#                    Runs a command that may take a while, and shows TEXT and the progress. If the command fails, prints
#                    its output and returns 1.
#
# The caller sets $root, the project's folder, and traps for INT and TERM. Everything printed here goes to stderr. Each
# function works under `set -eu`.
: "${root:?}"

# GROUP, Debian package, and commands or headers, any one of which shows that the package is installed.
needed() {
  cat <<'TABLE'
build  g++                   c++
build  cmake                 cmake
build  ninja-build           ninja
build  libhiredis-dev        hiredis/hiredis.h
build  libfmt-dev            fmt/core.h
build  nlohmann-json3-dev    nlohmann/json.hpp
build  libtomlplusplus-dev   toml++/toml.h
build  zlib1g-dev            zlib.h
build  libssl-dev            openssl/ssl.h
build  libcli11-dev          CLI/CLI.hpp
build  libedit-dev           histedit.h
build  liblua5.1-0-dev       lua5.1/lua.hpp
build  lua-bitop-dev         lua5.1/lua-bitop.h
build  lua-cjson-dev         lua5.1/lua-cjson.h
server redis-tools           redis-server valkey-server redis-check-rdb
server redis-tools           redis-cli valkey-cli
test   redis-tools           redis-cli
test   redis-tools           redis-benchmark
test   doctest-dev           doctest/doctest.h
test   libhowardhinnant-date-dev date/tz.h
test   tzdata                /usr/share/zoneinfo/Europe/Zurich
test   bats                  bats
test   curl                  curl
test   jq                    jq
test   gojq                  gojq
test   libxml2-utils         xmllint
test   procps                pkill
test   perl                  cpan
test   python3               python3
test   mawk                  awk
test   gcc                   cc
test   binutils              ld
test   openssl               openssl
test   util-linux            flock
test   scdoc                 scdoc
test   strace                strace
test   zsh                   zsh
test   fish                  fish
test   mandoc                mandoc
test   python3-jsonschema    /usr/lib/python3/dist-packages/jsonschema/__init__.py
test   python3-yaml          /usr/lib/python3/dist-packages/yaml/__init__.py
test   python3-redis         /usr/lib/python3/dist-packages/redis/__init__.py
lint   clang-format          clang-format
lint   clang-tidy            clang-tidy
lint   lua-check             luacheck
lint   shellcheck            shellcheck
lint   nodejs                node
clang  clang                 clang++
clang  libclang-rt-dev       /usr/lib/clang/*/lib/linux/libclang_rt.fuzzer-*.a
package dpkg-dev             dpkg-shlibdeps
package file                 file
package lintian              lintian
package python3              python3
package scdoc                scdoc
aarch64 g++-aarch64-linux-gnu aarch64-linux-gnu-g++
aarch64 libhiredis-dev:arm64      /usr/lib/aarch64-linux-gnu/libhiredis.a
aarch64 libfmt-dev:arm64          /usr/lib/aarch64-linux-gnu/cmake/fmt
aarch64 libtomlplusplus-dev:arm64 /usr/lib/aarch64-linux-gnu/cmake/tomlplusplus
aarch64 zlib1g-dev:arm64          /usr/lib/aarch64-linux-gnu/libz.a
aarch64 libssl-dev:arm64          /usr/lib/aarch64-linux-gnu/libssl.a
aarch64 libedit-dev:arm64         /usr/lib/aarch64-linux-gnu/libedit.a
aarch64 liblua5.1-0-dev:arm64     /usr/lib/aarch64-linux-gnu/liblua5.1-c++.a
aarch64 lua-bitop-dev:arm64       /usr/lib/aarch64-linux-gnu/liblua5.1-bitop.a
aarch64 lua-cjson-dev:arm64       /usr/lib/aarch64-linux-gnu/liblua5.1-cjson.a
root   mmdebstrap            mmdebstrap
root   python3-venv          /usr/lib/python3.*/ensurepip
root   wget                  wget
unpack mmdebstrap            mmdebstrap
site   lowdown               lowdown
site   mandoc                mandoc
site   scdoc                 scdoc
browser chromium             chromium
night  bash-completion       /usr/share/bash-completion/bash_completion
night  docker-compose        docker-compose
night  elpa-dap-mode         /usr/share/emacs/site-lisp/elpa-src/dap-mode-*/dap-mode.el
night  emacs-nox             emacs
night  golang-go             go
night  golang-github-gomodule-redigo-dev /usr/share/gocode/src/github.com/gomodule/redigo/redis/conn.go
night  ksh                   ksh
night  libnginx-mod-http-lua /usr/lib/nginx/modules/ngx_http_lua_module.so
night  lua-nginx-redis       /usr/share/lua/5.1/nginx/redis.lua
night  nginx-light           nginx /usr/sbin/nginx
night  openjdk-17-jdk-headless javac
night  php-cli               php
night  php-redis             /usr/lib/php/*/redis.so
night  prometheus            promtool
night  qemu-user-static      qemu-aarch64-static
night  ruby                  ruby
night  ruby-redis            /usr/share/rubygems-integration/all/specifications/redis-4*.gemspec
night  systemd               systemd-analyze
npm    nodejs                node
npm    npm                   npm
TABLE
}

is_there() {
  case $1 in
    /*) [ -e "$1" ] ;;
    */* | *.h)
      for prefix in /usr /usr/local /opt/homebrew /opt/local; do
        [ -e "$prefix/include/$1" ] && return
      done
      return 1
      ;;
    *) command -v "$1" >/dev/null 2>&1 ;;
  esac
}

# missing GROUP…: the missing packages, one per line.
missing() {
  needed | while read -r group package signs; do
    case " $* " in *" $group "*) ;; *) continue ;; esac
    found=
    for sign in $signs; do
      if is_there "$sign"; then found=1; fi
    done
    [ -n "$found" ] || echo "$package"
  done | sort -u
}

# Runs a command as root, in a step. sudo fails if it must ask for a password again.
as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n --preserve-env=DEBIAN_FRONTEND "$@"; fi
}

# Continues where an interrupted call stopped. --fix-broken accepts packages that were unpacked without their dependencies.
install_packages() {
  export DEBIAN_FRONTEND=noninteractive
  case $* in *:arm64*) as_root dpkg --add-architecture arm64 || return ;; esac
  # If the update fails, without a network for example, the known package lists may do.
  as_root apt-get update -q || echo "apt-get update failed; trying the known package lists"
  as_root dpkg --configure -a || echo "dpkg --configure failed; apt-get may repair that"
  as_root apt-get install -q -y --no-install-recommends --fix-broken -o DPkg::Lock::Timeout=120 "$@"
}

# may_install: whether this user may install packages. sudo asks for a password here, because a progress display would
# overwrite its prompt later.
may_install() {
  if [ "$(id -u)" = 0 ]; then return; fi
  if ! command -v sudo >/dev/null 2>&1; then return 1; fi
  sudo -n true 2>/dev/null || sudo -v
}

prepare() {
  packages=$(missing "$@" | tr '\n' ' ')
  packages=${packages% }
  if [ -z "$packages" ]; then return; fi
  if ! command -v apt-get >/dev/null 2>&1; then
    echo "apt-get was not found; install the equivalents of these Debian packages: $packages" >&2
    return 1
  fi
  if ! may_install; then
    echo "Packages are missing, and you may not install them. Ask an administrator to run this command, then try again:" >&2
    echo "  apt-get update && apt-get install --no-install-recommends $packages" >&2
    return 1
  fi
  # shellcheck disable=SC2086 # a list
  step "installing $packages" install_packages $packages
}

# Nothing that is built or installed needs them.
prepare_npm() {
  set -- playwright-core@1.64.1 axe-core@4.14.1 @vscode/debugadapter-testsupport@1.68.0
  prepare npm || return
  if [ "$(cat "$root/.cache/npm/packages" 2>/dev/null)" = "$*" ]; then return; fi
  mkdir -p "$root/.cache/npm"
  # With the system's certificates, as apt and curl.
  step "installing $*" env NODE_OPTIONS="${NODE_OPTIONS:+$NODE_OPTIONS }--use-openssl-ca" \
    npm install --prefix "$root/.cache/npm" --no-save --no-audit --no-fund --fetch-retries 1 \
    --fetch-retry-mintimeout 500 --fetch-retry-maxtimeout 2000 "$@" && echo "$*" >"$root/.cache/npm/packages"
}

build() {
  preset=$1
  shift
  mkdir -p "$root/build"
  step "building $preset" build_locked "$preset" "$@"
}

# Only one build of a preset at a time.
build_locked() (
  if command -v flock >/dev/null 2>&1; then
    exec 9>"$root/build/.$1.lock"
    flock 9
  fi
  cd "$root" || exit
  folder=build/$1
  preset=$1
  shift
  # A build folder that was configured elsewhere (the tree was moved or copied) cannot be used.
  if [ -e "$folder/CMakeCache.txt" ] &&
    ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$(pwd -P)" "$folder/CMakeCache.txt"; then
    rm -rf "$folder"
  fi
  if [ ! -e "$folder/build.ninja" ] ||
    [ -n "$(find CMakePresets.json -newer "$folder/build.ninja")" ]; then
    cmake --preset "$preset" || exit
  fi
  # The release is configured without tests, which need more packages; the libraries are the same.
  case " $* " in
    *' rlctl_'*)
      grep -q '^build rlctl_tests:' "$folder/build.ninja" ||
        cmake --preset "$preset" -DBUILD_TESTING=ON || exit
      ;;
  esac
  for target; do
    shift
    set -- "$@" --target "$target"
  done
  cmake --build "$folder" --parallel "$(getconf _NPROCESSORS_ONLN)" "$@"
)

# In a subshell, whose traps and variables are its own.
step() { (show_step "$@"); }

show_step() {
  text=$1
  shift
  log=$(mktemp) || exit 1
  start=$(date +%s)
  line='' end='\n' every=10 ticker=''
  if [ -t 2 ] && [ "${TERM:-dumb}" != dumb ]; then
    line='\r\033[K' end='' every=1
  fi
  trap 'rm -f "$log"; stop_ticker' EXIT
  end_on_signals
  printf "%s…$end" "$text" >&2
  tick $$ &
  ticker=$!
  status=0
  # The inner shell has traps, too, so that it waits for a command that a signal does not end at once, such as apt-get.
  (end_on_signals && "$@") >"$log" 2>&1 </dev/null || status=$?
  stop_ticker
  if [ "$status" = 0 ]; then
    printf "$line%s: %s s\n" "$text" "$(($(date +%s) - start))" >&2
    exit
  fi
  printf "$line%s failed with status %s:\n" "$text" "$status" >&2
  tail -n 200 "$log" >&2
  exit 1
}

end_on_signals() {
  trap 'end_line; exit 129' HUP
  trap 'end_line; exit 130' INT
  trap 'end_line; exit 143' TERM
}

# Ends the line of a progress display in place.
end_line() { [ -n "$end" ] || printf '\n' >&2; }

# Shows the progress for as long as the process $1 lives: on a terminal once a second, in place; elsewhere one
# line every ten seconds.
tick() {
  seconds=0
  while sleep 1 >/dev/null 2>&1 && kill -0 "$1" 2>/dev/null; do
    seconds=$((seconds + 1))
    if [ $((seconds % every)) = 0 ]; then
      printf "$line%s… %s%s s$end" "$text" "$(progress)" "$(($(date +%s) - start))" >&2
    fi
  done
}

# With SIGKILL, because dash loses any other signal that reaches a background process before it has reset its traps.
stop_ticker() {
  if [ -n "$ticker" ]; then
    kill -KILL "$ticker" 2>/dev/null || true
    wait "$ticker" 2>/dev/null || true
  fi
  ticker=''
}

# "12 of 60, ": ninja's own count, or the packages that apt-get has unpacked and set up.
progress() {
  awk '
    /^\[[0-9]+\/[0-9]+\]/ { split($1, n, /[][\/]/); done = n[2]; all = n[3] }
    /newly installed/ { all = 2 * ($1 + $3) }
    /^(Unpacking|Setting up) / { ++done }
    END { if (all) printf "%d of %d, ", done, all }' "$log" 2>/dev/null
}
