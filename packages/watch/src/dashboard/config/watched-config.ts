import { stat } from 'node:fs/promises';
import { fileStamp } from '@weir/io/files';
import { Listeners } from '@weir/base/collections';
import { requestLoadedFiles, type LoadedFiles } from '@weir/server/control';
import { FileDigests } from '@weir/server/app/loading/file-digests';
import { etagOf } from '@weir/server/loading';
import { messageOf } from '@weir/base';
import type { DashboardContext } from '../contract.ts';
import type { Sameness } from './view.ts';

/** The bytes of the configuration file at some time. They are secret. */
export interface FileVersion {
  readonly bytes: Uint8Array;
  /** Entity tag; quotes included. */
  readonly etag: string;
}

/** The configuration file as last read. */
export type Disk =
  | { readonly kind: 'read'; readonly version: FileVersion; readonly changedAt: number }
  | { readonly kind: 'unreadable'; readonly reason: string };

/** Larger files are not kept, and so cannot be restored. */
const MAX_BYTES = 16 << 20;
/** Milliseconds between two checks of the files' times while a page watches. */
const LOOK_MS = 2_000;
/** Maximum number of files whose times are checked. */
const MAX_FILES = 8;

/**
 * The configuration file on disk, and the last version known to run. That version is known from the running Weir, which
 * compares its files on a request through its control socket, or from the outcome of an action of this process.
 */
export class WatchedConfig {
  readonly #context: DashboardContext;
  readonly #listeners = new Listeners();
  #disk: Disk | undefined;
  #loaded: FileVersion | undefined;
  #compared: LoadedFiles | undefined;
  /** Times and sizes of the files at the last check. */
  #stamp = '';
  /** State of the monitor at the last check. */
  #seen = '';
  #looking: Promise<void> | undefined;

  constructor(context: DashboardContext) {
    this.#context = context;
    // Also while another page is watched: the running version has to be read before it is replaced.
    context.monitor.onChange(() => {
      if (this.#triggers() !== this.#seen) void this.look();
    });
  }

  /** Absolute; `undefined` for the built-in configuration, and where it is not known. */
  get path(): string | undefined {
    const { status } = this.#context.monitor;
    return status ? (status.value.config ?? undefined) : this.#context.config;
  }

  /** `undefined` before the first check, and without a path. */
  get disk(): Disk | undefined {
    return this.#disk;
  }

  /** The last version that is known to have been loaded. */
  get loaded(): FileVersion | undefined {
    return this.#loaded;
  }

  /** A text that changes whenever one of the files is written. */
  get stamp(): string {
    return this.#stamp;
  }

  get sameness(): Sameness {
    if (this.#compared) return this.changedFiles.length > 0 ? 'changed' : 'same';
    if (this.#disk?.kind !== 'read' || !this.#loaded) return 'unknown';
    return this.#disk.version.etag === this.#loaded.etag ? 'same' : 'changed';
  }

  /** Paths of the files of the running configuration that have changed since they were loaded, as far as known. */
  get changedFiles(): readonly string[] {
    const files = this.#compared?.files ?? [];
    return files.filter(({ state }) => state === 'changed').map(({ path }) => path);
  }

  /** Checks the files' times until disposed. Changes in the running Weir are noticed without this. */
  hold(): Disposable {
    void this.look();
    const timer = setInterval(() => void this.#lookIfTouched(), LOOK_MS);
    timer.unref();
    return { [Symbol.dispose]: () => clearInterval(timer) };
  }

  onChange(listener: () => void): Disposable {
    return this.#listeners.add(listener);
  }

  /** Reads the file and compares it with what runs; if a check is under way, another one follows it. */
  async look(): Promise<void> {
    await this.#looking;
    await (this.#looking ??= this.#look().finally(() => (this.#looking = undefined)));
  }

  /** Records that the version with this entity tag has been loaded, as the API has reported. */
  async loadedIs(etag: string | undefined): Promise<void> {
    await this.look();
    if (this.#disk?.kind !== 'read' || this.#disk.version.etag !== etag) return;
    this.#loaded = this.#disk.version;
    this.#listeners.call();
  }

  async #lookIfTouched(): Promise<void> {
    if ((await this.#stampNow()) !== this.#stamp) await this.look();
  }

  async #look(): Promise<void> {
    this.#seen = this.#triggers();
    this.#stamp = await this.#stampNow();
    const { path } = this;
    if (path === undefined) {
      this.#disk = undefined;
    } else {
      const before = await read(path);
      const compared = await this.#compare();
      const after = compared ? await read(path) : before;
      this.#disk = after;
      this.#compared = compared;
      const state = compared?.files.find((file) => file.path === path)?.state;
      // Both reads around the comparison: these are the bytes that were compared.
      if (state === 'same' && isVersion(before, after)) this.#loaded = after.version;
    }
    this.#listeners.call();
  }

  async #compare(): Promise<LoadedFiles | undefined> {
    const { socket } = this.#context;
    if (socket === undefined) return undefined;
    try {
      return await requestLoadedFiles(socket);
    } catch {
      return undefined; // the monitor shows what is wrong with the socket
    }
  }

  #triggers(): string {
    const { routes, status, socket } = this.#context.monitor;
    const { plane_epoch: epoch, last_reload: last, config } = status?.value ?? {};
    return JSON.stringify([routes?.value.etag, epoch, last?.at, config, socket.kind]);
  }

  async #stampNow(): Promise<string> {
    const { path } = this;
    const paths = new Set(path === undefined ? [] : [path]);
    for (const file of this.#compared?.files.slice(0, MAX_FILES) ?? []) paths.add(file.path);
    const stamps = await Promise.all(Array.from(paths, stampOf));
    return stamps.join(' ');
  }
}

const isVersion = (before: Disk, after: Disk): after is Disk & { readonly kind: 'read' } =>
  before.kind === 'read' && after.kind === 'read' && before.version.etag === after.version.etag;

async function read(path: string): Promise<Disk> {
  try {
    const bytes = await new FileDigests(MAX_BYTES).read(path);
    const { mtimeMs } = await stat(path);
    return { kind: 'read', version: { bytes, etag: etagOf(bytes) }, changedAt: mtimeMs };
  } catch (error) {
    return { kind: 'unreadable', reason: messageOf(error) };
  }
}

async function stampOf(path: string): Promise<string> {
  try {
    return fileStamp(await stat(path, { bigint: true }));
  } catch {
    return 'none';
  }
}
