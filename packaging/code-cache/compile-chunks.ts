import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import v8 from 'node:v8';
import { Script } from 'node:vm';

/*
 * `node compile-chunks.ts CHUNKS FOLDER`: compiles every function of the chunks and writes the code cache of each
 * to FOLDER, under the name of its chunk.
 */

const [chunks = '', folder = ''] = process.argv.slice(2);

v8.setFlagsFromString('--no-lazy');
const scripts = readdirSync(chunks)
  .toSorted()
  .map((name) => ({
    name,
    script: new Script(readFileSync(join(chunks, name), 'latin1'), { filename: name }),
  }));
// A cache is for the flags under which it is written, and the executable runs with those of Node.
v8.setFlagsFromString('--lazy');
for (const { name, script } of scripts) {
  writeFileSync(join(folder, name), script.createCachedData());
}
