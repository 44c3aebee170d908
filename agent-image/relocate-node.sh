#!/bin/sh
# relocate-node.sh TARGET   makes bin/node and lib/ in TARGET: this image's Node with a loader and libraries of its own.
# It then takes nothing from the image it runs in: neither libstdc++, nor a glibc that is new enough (Debian's
# libstdc++ asks for 2.36), nor glibc at all. No environment variable says so, and none can undo it: RPATH goes before
# LD_LIBRARY_PATH, and programs that Node starts are not touched.
# The loader's path is absolute (it cannot be relative to a program), so TARGET is where the folder has to be mounted.
set -eu
target=$1
node=$(readlink -f "$(command -v node)")
loader=$(patchelf --print-interpreter "$node")
libraries=$(ldd "$node" | sed -n 's/.* => \(\/[^ ]*\) .*/\1/p')
libc=$(echo "$libraries" | grep '/libc\.so\.6$')

mkdir -p "$target/bin" "$target/lib"
cp "$node" "$target/bin/node"
# glibc opens libresolv by itself, to look names up in DNS; ldd does not know.
for library in $libraries "$loader" "$(dirname "$libc")/libresolv.so.2"; do
  cp -L "$library" "$target/lib/"
done
patchelf --set-interpreter "$target/lib/$(basename "$loader")" --force-rpath --set-rpath '$ORIGIN/../lib' \
  "$target/bin/node"
chmod -R a+rX,go-w "$target"
"$target/bin/node" --version
