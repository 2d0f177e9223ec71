import { messageOf, WeirError } from './errors.ts';

/** Functions that import parts of the program, by the name of the part. */
type Imports = Readonly<Record<string, () => Promise<object>>>;

/** The module that the import function of a name resolves with. */
type Part<T extends Imports, K extends keyof T> = Awaited<ReturnType<T[K]>>;

/**
 * Parts of the program by name, each imported when something first needs it: parts that no configuration names cost
 * neither time nor memory. `load` is called before the parts are used, `get` where they are.
 */
export class OnDemand<T extends Imports> {
  readonly #what: string;
  readonly #imports: T;
  readonly #loaded = new Map<keyof T, object>();

  /** @param what kind of part, for errors: `protocol` */
  constructor(what: string, imports: T) {
    this.#what = what;
    this.#imports = imports;
  }

  get names(): readonly (keyof T & string)[] {
    return Object.keys(this.#imports);
  }

  /** Whether a part of this name exists, loaded or not. */
  has(name: string): name is keyof T & string {
    return Object.hasOwn(this.#imports, name);
  }

  /** Whether all these parts are loaded, so that `get` returns them. */
  isLoaded(names: Iterable<keyof T>): boolean {
    for (const name of names) if (!this.#loaded.has(name)) return false;
    return true;
  }

  /**
   * Imports the parts of these names that have not been imported yet.
   * @throws {WeirError} `not_loadable`, for example when the files of the program were replaced while it runs
   */
  async load(names: Iterable<keyof T>): Promise<void> {
    const missing = [...new Set(names)].filter((name) => !this.#loaded.has(name));
    await Promise.all(missing.map((name) => this.#load(name)));
  }

  /** A part that has been loaded. @throws {RangeError} for a part that is not loaded */
  get<K extends keyof T & string>(name: K): Part<T, K> {
    const part = this.#loaded.get(name);
    if (!part) throw new RangeError(`the ${this.#what} ${name} has not been loaded`);
    return part as Part<T, K>; // the function of this name resolved with it
  }

  async #load(name: keyof T): Promise<void> {
    try {
      const part = await this.#imports[name]?.();
      if (part) this.#loaded.set(name, part);
    } catch (cause) {
      const message = `cannot load the ${this.#what} ${String(name)}: ${messageOf(cause)}`;
      throw new WeirError('not_loadable', message, { cause });
    }
  }
}
