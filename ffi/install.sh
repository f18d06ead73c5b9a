#!/usr/bin/env bash
# Puts library, header and pkg-config file under a prefix: ffi/install.sh PREFIX
# DESTDIR is put before the prefix where the files go, for packagers.
set -euo pipefail
(($# == 1)) || { echo "usage: ffi/install.sh PREFIX" >&2; exit 2; }
prefix=$1
case $prefix in /*) ;; *) prefix=$PWD/$prefix ;; esac
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cargo build --locked --release -p xcsh-session-ffi
built=${CARGO_TARGET_DIR:-target}/release
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
soname=libxcsh_session.so.0
to=${DESTDIR-}$prefix

install -d "$to/lib/pkgconfig" "$to/include"
install -m 755 "$built/libxcsh_session.so" "$to/lib/libxcsh_session.so.$version"
strip -g "$to/lib/libxcsh_session.so.$version"
ln -sf "libxcsh_session.so.$version" "$to/lib/$soname"
ln -sf "$soname" "$to/lib/libxcsh_session.so"
install -m 644 "$built/libxcsh_session.a" "$to/lib/"
strip -g "$to/lib/libxcsh_session.a"
install -m 644 include/xcsh_session.h "$to/include/"
sed -e "s|@PREFIX@|$prefix|" -e "s|@VERSION@|$version|" -e "s|@STATIC_LIBS@|-lgcc_s -lutil -lrt -lpthread -lm -ldl -lc|" \
    ffi/xcsh_session.pc.in >"$to/lib/pkgconfig/xcsh_session.pc"
