import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { ApiClient } from '../../packages/server/test/conformance/api-client.ts';
import { parseAddress, type Address } from '../support/data/address.ts';
import { eventually } from '../support/wait.ts';

const MAIN = fileURLToPath(new URL('../../packages/weir/src/main.js', import.meta.url));

const LISTENING = /svc_app: inbound (\S+) listening on (\S+)$/;
const API_LISTENING = /svc_app: API listening on (\S+)$/;
const DEBUGGER = /^Debugger listening on (\S+)$/;
const RELOADED = /config reloaded:/;
/** What a line of the log starts with. */
const LOG_LINE = /^\d{4}-\d\d-\d\dT\S+Z +(?:INFO|WARN|DEBUG|TRACE) /;
/** The line with which Node reports its inspector's address. */
const OF_INSPECTOR = /^(?:Debugger |For help, see: |$)/;

/** Kept of what should not have been logged. */
const MOST_COMPLAINTS = 50;

/**
 * A Weir as a user starts it, for hours: its log is read line by line and counted, and only what is
 * needed is kept of it. Disposing of it kills it.
 */
export class RunningWeir implements AsyncDisposable {
  readonly name: string;
  readonly #process: ChildProcess;
  readonly #folder: string;
  readonly #addresses = new Map<string, Address>();
  #api: Address | undefined;
  #inspector: string | undefined;
  #reloads = 0;
  #lines = 0;
  /** Errors, and lines that no logger wrote: warnings of Node, uncaught errors. */
  readonly complaints: string[] = [];

  private constructor(name: string, process: ChildProcess, folder: string) {
    this.name = name;
    this.#process = process;
    this.#folder = folder;
    if (process.stderr) {
      createInterface({ input: process.stderr }).on('line', (line) => this.#read(line));
    }
    process.stdout?.resume();
  }

  static async start(name: string, config: string): Promise<RunningWeir> {
    const folder = await mkdtemp(join(tmpdir(), 'weir-soak-'));
    await writeFile(join(folder, 'weir.toml'), config);
    const child = spawn(
      process.execPath,
      ['--inspect=127.0.0.1:0', MAIN, 'run', '--config', join(folder, 'weir.toml')],
      { env: { ...process.env, RUST_LOG: undefined, NODE_OPTIONS: undefined } },
    );
    process.once('exit', () => child.kill('SIGKILL'));
    const weir = new RunningWeir(name, child, folder);
    const inbounds = config.match(/^\[\[inbound\]\]/gm)?.length ?? 0;
    await eventually(
      () => `${inbounds} inbounds of the ${name} listening:\n${weir.complaints.join('\n')}`,
      () => weir.#api !== undefined && weir.#addresses.size >= inbounds,
    );
    return weir;
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  get alive(): boolean {
    return this.#process.exitCode === null && this.#process.signalCode === null;
  }

  /** Lines logged so far. */
  get lines(): number {
    return this.#lines;
  }

  /** Reloads that were applied. */
  get reloads(): number {
    return this.#reloads;
  }

  get inspector(): string {
    if (this.#inspector === undefined) throw new Error(`no inspector of the ${this.name}`);
    return this.#inspector;
  }

  get api(): ApiClient {
    if (!this.#api) throw new Error(`no API of the ${this.name}`);
    return new ApiClient(this.#api);
  }

  /** Where an inbound listens now. */
  address(tag: string): Address {
    const address = this.#addresses.get(tag);
    if (!address) throw new Error(`no inbound ${tag} of the ${this.name} listens`);
    return address;
  }

  /** Replaces the configuration file at once, as editors do. */
  async write(config: string): Promise<void> {
    const draft = join(this.#folder, 'weir.toml.new');
    await writeFile(draft, config);
    await rename(draft, join(this.#folder, 'weir.toml'));
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.alive) {
      this.#process.kill('SIGKILL');
      await once(this.#process, 'exit');
    }
    await rm(this.#folder, { recursive: true, force: true });
  }

  #read(line: string): void {
    this.#lines++;
    const [, tag, where] = LISTENING.exec(line) ?? [];
    if (tag !== undefined && where !== undefined) this.#addresses.set(tag, parseAddress(where));
    const [, api] = API_LISTENING.exec(line) ?? [];
    if (api !== undefined) this.#api = parseAddress(api);
    const [, inspector] = DEBUGGER.exec(line) ?? [];
    if (inspector !== undefined) this.#inspector = inspector;
    if (RELOADED.test(line)) this.#reloads++;
    const expected = LOG_LINE.test(line) || OF_INSPECTOR.test(line);
    if (!expected && this.complaints.length < MOST_COMPLAINTS) this.complaints.push(line);
  }
}
