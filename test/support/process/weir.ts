import { mkdtempSync, rmSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isListening, parseAddress, type Address } from '../data/address.ts';
import { Child, type ChildOptions, type Exit } from './child.ts';
import { eventually, within } from '../wait.ts';

/** The variable with the path of what tests start in place of the sources: the executable, or a bundled `main.js`. */
export const BUILT = 'WEIR_TEST_PROGRAM';

const SOURCE_MAIN = fileURLToPath(new URL('../../../packages/weir/src/main.js', import.meta.url));

/**
 * The command that tests start: what is published, where the suite has built it (around.ts), since it takes a third of
 * the processor time to start; the sources, for a test file by itself.
 */
export function program(): readonly [string, ...string[]] {
  const built = process.env[BUILT] ?? SOURCE_MAIN;
  return built.endsWith('.js') ? [process.execPath, built] : [built];
}

/** For tests that need the modules as they are written. */
export const FROM_SOURCE: WeirOptions = { program: [process.execPath, SOURCE_MAIN] };

/** The line with which a listener reports its address; a tag may have spaces. */
const LISTENING = /svc_app: inbound (.+) listening on (\S+)\n/g;

/** The file name of its control socket. */
const CONTROL = 'control.sock';

/** A temporary folder that is removed at the end of the block. */
export async function scratch(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'weir-test-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

export interface WeirOptions extends ChildOptions {
  /** What runs Weir; absent: `program()`, or with `nodeArgs` this Node on the sources. */
  readonly program?: readonly string[] | undefined;
  /** Arguments of node itself, before the program: modules that are loaded first replace those of the sources. */
  readonly nodeArgs?: readonly string[];
  /** A command that runs the program that follows it: in another namespace, without a capability. */
  readonly wrap?: readonly string[];
  /** Arguments after `--config FILE`. */
  readonly args?: readonly string[];
  /** Whether it has a control socket: at `controlPath`, in the default place, or none unless `args` name one. */
  readonly control?: boolean | 'default';
  /** Files beside the configuration file, by name. */
  readonly files?: Readonly<Record<string, string | Uint8Array>>;
}

/** A running Weir; disposing of it kills it and takes its configuration file away. */
export class Weir implements AsyncDisposable {
  readonly child: Child;
  /** The folder of its configuration file. */
  readonly folder: string;

  private constructor(child: Child, folder: string) {
    this.child = child;
    this.folder = folder;
  }

  /** Starts Weir without waiting for anything. */
  static async launch(config: string, options: WeirOptions = {}): Promise<Weir> {
    const folder = await mkdtemp(join(tmpdir(), 'weir-test-'));
    const file = join(folder, 'weir.toml');
    await writeFile(file, config);
    for (const [name, content] of Object.entries(options.files ?? {})) {
      await writeFile(join(folder, name), content);
    }
    const { args = [] } = options;
    const control = [...controlArgs(options, folder), ...args];
    const child = weirCommand(['run', '--config', file, ...control], options);
    return new Weir(child, folder);
  }

  /**
   * Starts Weir and waits until every inbound of the configuration listens, and the control socket: at
   * `controlPath`, or at that of `--reload-socket`.
   */
  static async start(config: string, options: WeirOptions = {}): Promise<Weir> {
    const weir = await Weir.launch(config, options);
    const { folder } = weir;
    const inbounds = config.match(/^\[\[inbound\]\]/gm)?.length ?? 0;
    try {
      await weir.child.until(`${inbounds} inbounds listening`, () =>
        weir.addresses.size >= inbounds ? true : undefined,
      );
      // It is opened after them, and nothing is logged then.
      const control = controlSocket(options, folder);
      if (control !== undefined)
        await eventually('the control socket', () => isListening({ path: control }));
      return weir;
    } catch (error) {
      await weir[Symbol.asyncDispose]();
      throw error;
    }
  }

  get pid(): number {
    return this.child.pid;
  }

  /** The path of its control socket, with `control`. */
  get controlPath(): string {
    return join(this.folder, CONTROL);
  }

  /** The address of each inbound that has reported one. */
  get addresses(): Map<string, Address> {
    const matches = this.child.stderr.matchAll(LISTENING);
    return new Map(Array.from(matches, ([, tag = '', text = '']) => [tag, parseAddress(text)]));
  }

  address(tag: string): Address {
    const address = this.addresses.get(tag);
    if (!address) throw new Error(`no inbound ${tag} listens:\n${this.child.stderr}`);
    return address;
  }

  /** Asks it to stop and waits until it has. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<Exit> {
    this.child.signal(signal);
    return within(this.child.exited, `Weir's end after ${signal}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.child[Symbol.asyncDispose]();
    await rm(this.folder, { recursive: true, force: true });
  }
}

function controlArgs({ args = [], control = false }: WeirOptions, folder: string): string[] {
  if (control === true) return ['--reload-socket', join(folder, CONTROL)];
  return control === 'default' || args.includes('--reload-socket') ? [] : ['--no-control-socket'];
}

/** Where the control socket is that its options name; `undefined` for the default place, and for none. */
function controlSocket(options: WeirOptions, folder: string): string | undefined {
  const { args = [], cwd = '' } = options;
  const words = [...controlArgs(options, folder), ...args];
  const at = words.indexOf('--reload-socket');
  return at < 0 ? undefined : resolve(cwd, words[at + 1] ?? '');
}

/** Weir's command line with any arguments, on the Node that runs the tests. */
export function weirCommand(args: readonly string[], options: WeirOptions = {}): Child {
  const env = {
    RUST_LOG: undefined,
    NODE_OPTIONS: undefined,
    ...(opensDefaultSocket(args) && { XDG_RUNTIME_DIR: runtimeFolder() }),
    ...options.env,
  };
  const { nodeArgs = [] } = options;
  const started = nodeArgs.length > 0 ? [process.execPath, ...nodeArgs, SOURCE_MAIN] : program();
  const command = options.program ?? started;
  const [first = '', ...rest] = [...(options.wrap ?? []), ...command, ...args];
  return new Child(first, rest, { ...options, env });
}

/** Whether a command line starts Weir with its control socket in the default place. */
function opensDefaultSocket(args: readonly string[]): boolean {
  const [first = 'run'] = args;
  const isOpenElsewhere = args.some((arg) => /^--(no-control|reload)-socket(=|$)/.test(arg));
  return (first === 'run' || first.startsWith('-')) && !isOpenElsewhere;
}

let runtime: string | undefined;

/**
 * Where Weirs of this test file open their control sockets by default. Those in the folder of services are found by
 * commands that other test files run at the same time.
 */
function runtimeFolder(): string {
  if (runtime === undefined) {
    const made = mkdtempSync(join(tmpdir(), 'weir-test-runtime-'));
    process.once('exit', () => rmSync(made, { recursive: true, force: true }));
    runtime = made;
  }
  return runtime;
}

/** Runs Weir's command line to its end. */
export async function runWeir(args: readonly string[], options: WeirOptions = {}): Promise<Child> {
  const child = weirCommand(args, options);
  try {
    await within(child.exited, `the end of ${child.name}`);
  } finally {
    await child[Symbol.asyncDispose]();
  }
  return child;
}
