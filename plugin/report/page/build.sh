#!/bin/bash
# build.sh - makes ../page_template.html of the sources in this folder: one page that loads nothing. Needs
# node, npm and the npm registry; package-lock.json pins the versions. Users of sprag need none of them,
# because the template is in the repository.
set -euo pipefail
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp ./*.js ./*.css package.json package-lock.json "$work"
npm ci --prefix "$work" --ignore-scripts --silent
esbuild=$work/node_modules/.bin/esbuild
"$esbuild" "$work/main.js" --bundle --minify --format=iife --target=es2020 --charset=utf8 \
    --legal-comments=inline --outfile="$work/page.js" --log-level=warning
"$esbuild" "$work/style.css" --bundle --minify --outfile="$work/page.css" --log-level=warning
# A script in a page must not contain its own end.
sed -i 's#</script#<\\/script#g' "$work/page.js"
awk -v css="$work/page.css" -v js="$work/page.js" '
    function include(file, line) { while ((getline line <file) > 0) print line; close(file) }
    /^@STYLE@$/ { include(css); next }
    /^@SCRIPT@$/ { include(js); next }
    { print }' index.html >../page_template.html
