#!/usr/bin/env bash
# Collects what a GPU machine without network lacks into one prefix, to be copied there together with the sources:
#
#   cmake/scripts/carry_dependencies.sh [PREFIX]            here, after one configure; PREFIX is <source>/.carry unless given
#   mv .carry /tmp/carry && cmake --preset gpu -DCPIZE_PROVISION=OFF -DCMAKE_PREFIX_PATH=/tmp/carry      there
#
# There it must lie outside the sources: headers inside them count as the project's own, and keys would not be the same as here.
# gemmi comes from the cache that configure fills (built here; a static library of an older glibc links on a newer one), CLI11,
# nlohmann/json and zlib from the system. About 11 MB. libtorch, CUDA, NCCL, MPI, fmt, GoogleTest, Google Benchmark are expected there.
set -euo pipefail
source="$(cd "$(dirname "$0")/../.." && pwd)"
prefix="${1:-$source/.carry}"
cache="${CPIZE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/cpize}"
gemmi_version="$(sed -n 's/^set(CPIZE_GEMMI_VERSION \([0-9.]*\)).*/\1/p' "$source/cmake/CPizeVersions.cmake")"
gemmi="$cache/gemmi-$gemmi_version"

need() { [ -e "$1" ] || { echo "carry_dependencies: $1 is not there; $2" >&2; exit 1; }; }
need "$gemmi/lib/libgemmi_cpp.a" "configure CPize once, which builds gemmi $gemmi_version into $cache"
if readelf -SW "$gemmi/lib/libgemmi_cpp.a" | grep '\.gnu\.lto_' >/dev/null; then
  echo "carry_dependencies: $gemmi was built with link-time optimization, which only its own compiler can link;" \
       "remove that folder and configure again" >&2
  exit 1
fi

rm -rf "$prefix.partial"
mkdir -p "$prefix.partial/include" "$prefix.partial/share/cmake" "$prefix.partial/lib"
cp -a "$gemmi/." "$prefix.partial/"
for package in nlohmann:nlohmann_json CLI:CLI11; do
  need "/usr/include/${package%%:*}" "install Debian's libcli11-dev and nlohmann-json3-dev"
  cp -a "/usr/include/${package%%:*}" "$prefix.partial/include/"
  cp -a "/usr/share/cmake/${package##*:}" "$prefix.partial/share/cmake/"
done
for file in /usr/include/zlib.h "$(find /usr/include -name zconf.h -print -quit)"; do
  need "$file" "install Debian's zlib1g-dev"
  cp -a "$file" "$prefix.partial/include/"
done
cp -aL "$(find /usr/lib -name libz.a -print -quit)" "$prefix.partial/lib/"
rm -rf "$prefix"
mv "$prefix.partial" "$prefix"
echo "carry_dependencies: $(du -sh "$prefix" | cut -f1) in $prefix"
