#!/usr/bin/env bash
# Installs the provider of OpenID Connect that `story.mjs` signs in with: install.sh FOLDER
#
# Does nothing when it is there already; says what it installs when it is not.
set -euo pipefail

readonly PROVIDER=9.13.3

folder=$1
mark=$folder/installed-$PROVIDER
[ -f "$mark" ] && exit 0
mkdir -p "$folder"
cd "$folder"
echo "installing oidc-provider $PROVIDER with npm into $folder" >&2
echo '{"private": true}' >package.json
npm install --silent --no-audit --no-fund --prefix . "oidc-provider@$PROVIDER" >&2
touch "$mark"
