#!/usr/bin/env bash
# Installs a peer the tests talk to: install.sh FOLDER everything
#
# Does nothing when it is there already; says what it installs when it is not.
set -euo pipefail

readonly EVERYTHING=2026.8.31

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

case $peer in
    everything)
        [ -f "$folder/everything/$EVERYTHING" ] && exit 0
        need node nodejs
        need npm npm
        echo "installing @modelcontextprotocol/server-everything $EVERYTHING with npm into $folder/everything" >&2
        rm -rf "$folder/everything"
        mkdir -p "$folder/everything"
        (cd "$folder/everything" && npm install --silent --no-audit --no-fund --prefix . "@modelcontextprotocol/server-everything@$EVERYTHING" >&2)
        touch "$folder/everything/$EVERYTHING"
        ;;
    *)
        echo "install.sh knows no peer called $peer" >&2
        exit 64
        ;;
esac
