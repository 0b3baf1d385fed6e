#!/bin/sh
# Builds Horovod 0.28.1, its last release (2023), against the course's PyTorch, in an environment of its own.
#
#     make horovod      (or: sh notebooks/with_horovod/install.sh FOLDER)
#
# PYTHON, TORCH: as for make. CXX: the C++ compiler (c++). JOBS: compilations at a time (2, each takes about 1 GB).
set -eu

HOROVOD=0.28.1
CMAKE=3.31.10  # CMake 4 refuses what a bundled library says of the version it needs
environment=${1:?usage: install.sh FOLDER}
here=$(cd "$(dirname "$0")" && pwd)
course=$(cd "$here/../.." && pwd)
python=${PYTHON:-python3}

stop() {
    echo "make horovod: $1" >&2
    exit 1
}

case $(uname -s) in
Linux | Darwin) ;;
*) stop "Horovod runs on Linux and macOS only. Chapter 8 shows a recorded run." ;;
esac
command -v "$python" >/dev/null || stop "there is no $python; name one: make horovod PYTHON=python3.12"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || stop "needs Python 3.11 or newer"
"$python" -c 'import venv, ensurepip' 2>/dev/null ||
    stop "this Python has no venv module. On Debian and Ubuntu: sudo apt install python3-venv"
compiler=${CXX:-c++}
command -v "$compiler" >/dev/null ||
    stop "there is no C++ compiler ($compiler). On Debian and Ubuntu: sudo apt install build-essential; on macOS: xcode-select --install"
echo 'int main() {}' | "$compiler" -std=c++17 -x c++ -fsyntax-only - ||
    stop "the compiler $compiler does not know C++17; name another: make horovod CXX=g++-12"
header=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h
test -f "$header" ||
    stop "Python's own headers are missing ($header). On Debian and Ubuntu: sudo apt install python3-dev"
command -v make >/dev/null || stop "there is no make, which CMake calls"

test -x "$environment/bin/pip" || "$python" -m venv --clear "$environment"
environment=$(cd "$environment" && pwd)
install() { "$environment/bin/pip" install -q -c "$course/constraints.txt" "$@"; }
torch=$(grep '^torch==' "$course/constraints.txt")
if [ "${TORCH:-}" = cpu ]; then
    install --no-deps "$torch" --index-url https://download.pytorch.org/whl/cpu
fi
# What the library needs in a rank; then what Horovod needs, to be built and to run.
install "$torch" numpy cloudpickle greenlet threadpoolctl
install setuptools wheel "cmake==$CMAKE" cffi psutil pyyaml packaging
install --no-deps --no-build-isolation -e "$course"

# Its build asks for C++14, PyTorch's headers for C++17; so the compiler that it finds is a script that corrects it.
export CXX="$here/cxx17" CXX17="$compiler"
export HOROVOD_CMAKE="$environment/bin/cmake" MAKEFLAGS="-j${JOBS:-2}"
export HOROVOD_WITH_PYTORCH=1 HOROVOD_WITH_GLOO=1
export HOROVOD_WITHOUT_MPI=1 HOROVOD_WITHOUT_TENSORFLOW=1 HOROVOD_WITHOUT_MXNET=1
echo "Building Horovod $HOROVOD from source: 5 minutes of computing, longer on a busy machine."
log="$environment/horovod-build.log"
"$environment/bin/pip" install --no-deps --no-build-isolation --no-binary horovod --no-cache-dir --force-reinstall \
    "horovod==$HOROVOD" >"$log" 2>&1 || {
    tail -n 40 "$log" >&2
    stop "the build failed; all it said is in $log"
}
"$environment/bin/python" -c 'import horovod.torch' || stop "Horovod is built, but cannot be imported"
