import { FilesRead } from '../app/loading/files-read.ts';
import { followLog } from '../app/control/follow-log.ts';
import { requestProfile, requestStatus } from '../app/control/control-client.ts';
import type { ProcessProfile } from '../app/control/profile-messages.ts';
import type { RunningStatus } from '../app/control/running-status.ts';
import { ConfigError, renderConfigError } from '../config/errors.ts';
import { loadEffective } from '../config/effective/load-effective.ts';
import { shownToml } from '../config/effective/write-shown.ts';
import { messageOf, WeirError } from '../errors.ts';
import { textLine } from '../log/line-format.ts';
import { printable, printableJsonLines, printableLines } from '../printable.ts';
import { PART_NAMES, type Diagnosis, type DiagnosisPart, type PartName } from './diagnosis.ts';
import { environmentOf, environmentText } from './environment-text.ts';
import { shareable } from './shareable.ts';
import { versionsText } from './versions-text.ts';

/** Sources and options of a diagnosis. */
export interface DiagnosisSources {
  /** Path of the control socket of the running Weir; `undefined` without one. */
  readonly socket: string | undefined;
  /** The configuration file; by default the one that the running Weir reports. */
  readonly config: string | undefined;
  readonly without: ReadonlySet<PartName>;
  /** Seconds for which the processor is profiled. */
  readonly seconds: number;
  /** Whether to profile even if starting the profiler stops many flows for a moment. */
  readonly busy: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Returns the output of `weir tun check` for a configuration; `undefined` without a `tun` inbound. */
  readonly tunCheck: (config: string | undefined) => Promise<string | undefined>;
  /** Called before profiling begins. */
  readonly onRecording: () => void;
}

/** Milliseconds for reading the latest lines of the log. */
const LOG_MS = 5_000;

const NO_SOCKET = 'no running Weir was found by a control socket';

/**
 * Collects the available parts, and writes nothing. A part that is not available is listed as missing, with the reason.
 */
export async function collectDiagnosis(sources: DiagnosisSources): Promise<Diagnosis> {
  return new Collector(sources).collect();
}

class Collector {
  readonly #sources: DiagnosisSources;
  readonly #parts: DiagnosisPart[] = [];
  readonly #missing: { readonly name: PartName; readonly reason: string }[] = [];
  #status: RunningStatus | undefined;
  #profile: ProcessProfile | undefined;

  constructor(sources: DiagnosisSources) {
    this.#sources = sources;
  }

  async collect(): Promise<Diagnosis> {
    const { env, seconds, busy, socket } = this.#sources;
    await this.#add('status', 'status.json', async () => {
      this.#status = await requestStatus(needed(socket));
      return `${printableJsonLines(this.#status)}\n`;
    });
    await this.#add('profile', 'weir.cpuprofile', async () => {
      const path = needed(socket);
      this.#sources.onRecording();
      this.#profile = await requestProfile(path, seconds, undefined, busy);
      return JSON.stringify(this.#profile.profile);
    });
    await this.#add('heap', 'heap.json', async () => {
      // Without the profile, or when another client records one.
      this.#profile ??= await requestProfile(needed(socket), 0);
      return `${printableJsonLines(this.#profile.heap)}\n`;
    });
    // After the profile, whose recording may have logged something.
    await this.#add('log', 'log.txt', () => logText(needed(socket)));
    await this.#add('versions', 'versions.txt', () =>
      versionsText({
        weir: this.#status?.version,
        build: this.#status?.build ?? undefined,
        versions: this.#profile?.versions,
      }),
    );
    const config = this.#sources.config ?? this.#status?.config ?? undefined;
    const isBuiltIn = config === undefined && this.#status !== undefined;
    await this.#add('config', 'config.toml', () => configText(config, isBuiltIn));
    await this.#add('environment', 'environment.txt', async () => {
      const pid = this.#status?.pid;
      return pid === undefined
        ? environmentText(env, 'weir diagnose, since no Weir runs that could be asked')
        : environmentText(await environmentOf(pid), 'the running Weir');
    });
    if (config !== undefined) {
      await this.#add('tun', 'tun-check.txt', () => this.#sources.tunCheck(config));
    }
    const order = ({ name }: { readonly name: PartName }): number => PART_NAMES.indexOf(name);
    return {
      at: Date.now(),
      parts: this.#parts.toSorted((a, b) => order(a) - order(b)),
      missing: this.#missing.toSorted((a, b) => order(a) - order(b)),
    };
  }

  async #add(name: PartName, file: string, make: () => Promise<string | undefined>): Promise<void> {
    if (this.#sources.without.has(name)) {
      this.#missing.push({ name, reason: '--without' });
      return;
    }
    try {
      const text = await make();
      if (text !== undefined) this.#parts.push({ name, file, text });
    } catch (error) {
      // A diagnosis is for what does not work: the remaining parts are still useful.
      this.#missing.push({ name, reason: printable(messageOf(error)) });
    }
  }
}

/** @throws {WeirError} without a socket */
function needed(socket: string | undefined): string {
  if (socket === undefined) throw new WeirError('no_socket', NO_SOCKET);
  return socket;
}

/** The latest lines of the log, with addresses masked as there. */
async function logText(socket: string): Promise<string> {
  const lines: string[] = [];
  const signal = AbortSignal.timeout(LOG_MS);
  for await (const event of followLog(socket, { tail: true, follow: false, signal })) {
    if (event.kind !== 'line') continue;
    const { at, level, target, message } = event;
    lines.push(textLine(at, level, target, printableLines(message)));
  }
  return lines.join('');
}

/** The effective configuration, or why the file cannot be loaded; secrets are starred in both. */
async function configText(path: string | undefined, isBuiltIn: boolean): Promise<string> {
  if (path === undefined && !isBuiltIn) {
    throw new WeirError('no_config', 'no file was given with --config');
  }
  const name = printable(path ?? 'the built-in configuration');
  try {
    const { table } = await loadEffective({ path, bytes: undefined }, new FilesRead());
    return `# What is in force of ${name}, as it is on disk. Secrets are starred.\n\n${shownToml(shareable(table))}`;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const lines = printableLines(renderConfigError(error)).split('\n');
    return `# ${name} is invalid:\n${lines.map((line) => `# ${line}\n`).join('')}`;
  }
}
