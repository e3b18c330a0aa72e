#!/bin/sh
# Installs rlctl from the files of a release, for the user who runs this, without sudo.
#
#   sh install.sh [--to FOLDER] [--version VERSION] [--from URL]
#
# --to       where to put the binary; default: ~/.local/bin
# --version  which release; default: @VERSION@
# --from     where the releases are: https://… or file://…; VERSION's files are in URL/vVERSION, or in URL
#            itself; default: @FROM@
#
# The archive is installed only if its checksum is the one in the release's SHA256SUMS.
# It requires tar and gzip; curl or wget, unless the URL is a file's; and sha256sum, shasum or openssl.
set -eu

version=@VERSION@ from=@FROM@ to=${HOME:-}/.local/bin

die() {
  echo "install.sh: $1" >&2
  [ $# -lt 2 ] || echo "  hint: $2" >&2
  exit "${status:-1}"
}

usage() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; }

has() { command -v "$1" >/dev/null 2>&1; }

# download FILE: copies a file of the release to $work; fails if it is not there.
download() {
  for folder in "$from/v$version" "$from"; do
    url=$folder/$1
    case $url in
      file://*) cp -- "${url#file://}" "$work/$1" 2>/dev/null ;;
      *)
        if has curl; then
          curl -fsSL --proto '=https,http' -o "$work/$1" -- "$url" 2>"$work/log"
        else
          wget -q -O "$work/$1" -- "$url" 2>"$work/log"
        fi
        ;;
    esac && return
  done
  return 1
}

sha256_of() {
  if has sha256sum; then
    sha256sum <"$1"
  elif has shasum; then
    shasum -a 256 <"$1"
  else
    openssl dgst -r -sha256 <"$1"
  fi | cut -d ' ' -f 1
}

while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) usage && exit ;;
    --to | --version | --from)
      [ "${2-}" ] || status=2 die "$1 needs a value"
      case $1 in
        --to) to=$2 ;;
        --version) version=${2#v} ;;
        --from) from=${2%/} ;;
      esac
      shift 2
      ;;
    *) status=2 die "unknown argument '$1'" "sh install.sh --help" ;;
  esac
done

case $version in
  @V*@) status=2 die "no version" "pass --version VERSION; the install.sh of a release knows its own" ;;
  *[!0-9.]* | '') status=2 die "'$version' is not a version" "such as --version 0.1.0" ;;
esac
case $from in
  # Whoever can change what comes through a network without encryption can change the checksum, too.
  https://?* | http://127.0.0.1[:/]*) has curl || has wget || die "neither curl nor wget was found" "install one of them" ;;
  file:///*) ;;
  *) status=2 die "'$from' is not a URL of releases" "--from https://… or --from file:///…" ;;
esac
[ "$(uname -s)" = Linux ] || die "there are binaries for Linux only, not for $(uname -s)"
machine=$(uname -m)
case $machine in
  amd64) machine=x86_64 ;;
  arm64) machine=aarch64 ;;
esac
has sha256sum || has shasum || has openssl ||
  die "nothing can verify the download: sha256sum, shasum and openssl are missing" "install one of them"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

name=rlctl-$version-linux-$machine
download SHA256SUMS || die "$from has no release $version: $url cannot be read" "--version, --from"
wanted=$(sed -n "s/^\([0-9a-f]\{64\}\)  $name\.tar\.gz\$/\1/p" "$work/SHA256SUMS")
case $wanted in
  ?*[!0-9a-f]* | '') die "SHA256SUMS has no checksum of $name.tar.gz: nothing was installed" ;;
esac
download "$name.tar.gz" || die "$url cannot be read"
found=$(sha256_of "$work/$name.tar.gz")
[ "$found" = "$wanted" ] || die "the checksum of $url is $found, but must be $wanted: nothing was installed" \
  "download it again; if that does not help, somebody may have changed it"

(cd "$work" && gzip -dc "$name.tar.gz" | tar -xf - "$name/bin/rlctl") || die "$name.tar.gz cannot be unpacked"
mkdir -p -- "$to" 2>/dev/null || die "the folder $to cannot be made" "--to FOLDER"
# Within one file system a file is replaced at once, so that nobody starts a part of it.
cp -- "$work/$name/bin/rlctl" "$to/.rlctl.$$" 2>/dev/null || die "$to cannot be written" "--to FOLDER"
trap 'rm -rf "$work" "$to/.rlctl.$$"' EXIT
chmod 755 "$to/.rlctl.$$"
installed=$("$to/.rlctl.$$" --version) || die "the binary does not run on this computer: nothing was installed"
mv -f -- "$to/.rlctl.$$" "$to/rlctl" || die "$to/rlctl cannot be replaced" "--to FOLDER"
echo "installed $(echo "$installed" | head -n 1) as $to/rlctl"
case :$PATH: in
  *:"$to":*) ;;
  *) echo "$to is not in PATH" ;;
esac
