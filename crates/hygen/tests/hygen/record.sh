#!/bin/sh
# Records what hygen makes of each case in this folder: record.sh path/to/hygen
# hygen's answer is kept in after/: the project as hygen leaves it.
set -eu
hygen=$1
here=$(cd "$(dirname "$0")" && pwd)
for case in "$here"/*/; do
  work=$(mktemp -d)
  [ ! -d "$case/before" ] || cp -R "$case/before/." "$work"
  cp -R "$case/_templates" "$work/_templates"
  # The words of `hygen` in case.json, one a line.
  node -e 'require(process.argv[1]).hygen.forEach(word => console.log(word))' "$case/case.json" > "$work.words"
  set --
  while IFS= read -r word; do set -- "$@" "$word"; done < "$work.words"
  (cd "$work" && HYGEN_OVERWRITE=1 HYGEN_TMPLS="$work/_templates" "$hygen" "$@" < /dev/null)
  rm -rf "$case/after"
  mkdir "$case/after"
  for file in "$case"_templates/*; do rm -rf "$work/_templates/$(basename "$file")"; done
  cp -R "$work/." "$case/after"
  rm -rf "$work" "$work.words"
done
