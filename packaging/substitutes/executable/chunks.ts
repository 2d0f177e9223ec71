import { getRawAsset } from 'node:sea';
import { Script } from 'node:vm';

/*
 * The parts of the program in the single executable: scripts that packaging/bundle.ts makes of its modules,
 * each with its code cache. A part is read when it is first needed.
 */

/** One part: its text, and the functions of it that V8 has compiled when the executable was built. */
export interface Chunk {
  readonly text: string;
  readonly cache?: Uint8Array | undefined;
}

/** Finds the chunk of a name such as `chunk-ABCD.js`. */
export type FindChunk = (name: string) => Chunk;

/** Calls a chunk as Node calls a CommonJS module. */
type Run = (exports: object, require: (name: string) => unknown, module: Module) => void;

interface Module {
  exports: object;
}

/** What a chunk is wrapped in, in its text. */
export const wrapChunk = (code: string): string =>
  `(function (exports, require, module) {${code}\n})`;

/** Loads chunks, each once, and those that it requires. */
export class Chunks {
  readonly #find: FindChunk;
  readonly #modules = new Map<string, Module>();
  /** Those that were loaded, by name. */
  readonly scripts = new Map<string, Script>();

  constructor(find: FindChunk) {
    this.#find = find;
  }

  /** What the chunk exports; while it is being loaded, what it has exported so far. */
  load(name: string): object {
    const known = this.#modules.get(name);
    if (known !== undefined) return known.exports;
    const { text, cache } = this.#find(name);
    // A cache that V8 rejects, as it does under other options, costs its compilation and no more.
    const script = new Script(text, { filename: name, cachedData: cache });
    this.scripts.set(name, script);
    const module = { exports: {} };
    this.#modules.set(name, module);
    const run = script.runInThisContext() as Run;
    run(module.exports, this.#require, module);
    return module.exports;
  }

  readonly #require = (name: string): unknown =>
    name.startsWith('./') ? this.load(name.slice(2)) : process.getBuiltinModule(name);
}

/** Finds chunks in the executable that runs. */
export const findInExecutable: FindChunk = (name) => ({
  // esbuild writes ASCII alone.
  text: Buffer.from(getRawAsset(name)).toString('latin1'),
  cache: cacheOf(name),
});

function cacheOf(name: string): Uint8Array | undefined {
  try {
    return new Uint8Array(getRawAsset(`${name}.cache`));
  } catch {
    return undefined; // Built for another machine than the builder.
  }
}
