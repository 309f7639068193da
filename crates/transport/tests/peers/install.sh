#!/usr/bin/env bash
# Installs a program that the command mode is tried with: install.sh FOLDER llm|claude
#
# Does nothing when it is there already; says what it installs when it is not.
set -euo pipefail

readonly LLM=0.36 CLAUDE=2.1.197

folder=$1
peer=$2
mkdir -p "$folder"

# Test programs run at the same time; one of them installs.
exec 9>"$folder/$peer.lock"
flock 9

need() {
    command -v "$1" >/dev/null && return
    echo "\`$1\` is missing, and the tests run $peer, which needs it; install $2 and run them again" >&2
    exit 1
}

case $peer in
    llm)
        [ -f "$folder/llm/$LLM" ] && exit 0
        need python3 "python3 and python3-venv"
        echo "installing llm $LLM with pip into $folder/llm" >&2
        rm -rf "$folder/llm"
        python3 -m venv "$folder/llm"
        "$folder/llm/bin/pip" install --quiet "llm==$LLM" >&2
        touch "$folder/llm/$LLM"
        ;;
    claude)
        [ -f "$folder/claude/$CLAUDE" ] && exit 0
        need node nodejs
        need npm npm
        echo "installing @anthropic-ai/claude-code $CLAUDE with npm into $folder/claude" >&2
        rm -rf "$folder/claude"
        mkdir -p "$folder/claude"
        (cd "$folder/claude" && npm install --silent --no-audit --no-fund --prefix . "@anthropic-ai/claude-code@$CLAUDE" >&2)
        touch "$folder/claude/$CLAUDE"
        ;;
    *)
        echo "install.sh knows no peer called $peer" >&2
        exit 64
        ;;
esac
