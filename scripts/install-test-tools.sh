#!/usr/bin/env bash
# Installs the tools some tests need, where that is one package away: root on a Debian-like system.
set -u
missing=()
need() { command -v "$1" >/dev/null 2>&1 || missing+=("$2"); }
need sipp sip-tester
need ip iproute2
need nft nftables
need tcpdump tcpdump
need arping iputils-arping
need baresip baresip-core
need kamailio kamailio
need linphone-daemon linphone-cli
need openssl openssl
need perl perl-base
need systemd-notify systemd
need g++ g++
if ! command -v clang++ >/dev/null 2>&1; then
  # its runtime, which libFuzzer is part of, is a package of its own
  clang=$(apt-cache depends clang 2>/dev/null | grep -oE 'clang-[0-9]+' | head -1)
  missing+=(clang ${clang:+"lib${clang/clang/clang-rt}-dev"})
fi
need make make
need python3 python3
need java openjdk-17-jre-headless
need mvn maven
need chromium chromium
[ ${#missing[@]} -eq 0 ] && exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
  echo "tests that need these packages will be skipped: ${missing[*]}"
  exit 0
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq && apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null ||
  echo "could not install: ${missing[*]}; tests that need them will be skipped"
exit 0
