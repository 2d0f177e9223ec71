import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import v8 from 'node:v8';
import { Chunks } from '../substitutes/executable/chunks.ts';

/*
 * `node warm-main.js ASSETS FOLDER ARGUMENTS...`: runs the program as the executable does, from the files
 * that ASSETS (JSON) names. SIGUSR2 ends it, after the code cache of each chunk that was loaded has been
 * written to FOLDER. V8 puts the functions in there that have been compiled, which are those that have run.
 */

const [assetsFile = '', folder = ''] = process.argv.splice(2, 2);
const assets = JSON.parse(readFileSync(assetsFile, 'utf8')) as Readonly<Record<string, string>>;

const pathOf = (name: string): string => {
  const path = assets[name];
  if (path === undefined) throw new Error(`there is no asset ${name}`);
  return path;
};

const sea = {
  getRawAsset(name: string): ArrayBuffer {
    const bytes = readFileSync(pathOf(name));
    return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
  },
};
const builtin = process.getBuiltinModule.bind(process);
process.getBuiltinModule = (name: string) => (name === 'node:sea' ? sea : builtin(name));

// A cache is for the flags with which it was made, and the program sets some while it runs.
v8.setFlagsFromString = () => undefined;

const chunks = new Chunks((name) => ({ text: readFileSync(pathOf(name), 'latin1') }));
process.once('SIGUSR2', () => {
  for (const [name, script] of chunks.scripts) {
    writeFileSync(join(folder, name), script.createCachedData());
  }
  process.exit(0);
});
chunks.load('program.js');
