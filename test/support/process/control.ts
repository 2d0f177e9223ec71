import { createHash } from 'node:crypto';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FlowView, SessionView } from '@weir/server/api/views';
import { ApiClient, type Reply } from '../../../packages/server/test/conformance/api-client.ts';
import { parseAddress } from '../data/address.ts';
import type { Weir } from './weir.ts';

/** `[api]` on a port that the kernel chooses. */
export const API = '[api]\nlisten = "127.0.0.1:0"\n';

const LISTENING = /svc_app: API listening on (\S+)\n/;

export interface Connections {
  readonly sessions: readonly SessionView[];
  readonly flows: readonly FlowView[];
}

/** The tag of a configuration file: its SHA-256, quoted. */
export const etagOf = (bytes: Uint8Array | string): string =>
  `"${createHash('sha256').update(bytes).digest('hex')}"`;

/** The report of a reload. */
export interface Report {
  readonly status: 'applied' | 'unchanged';
  readonly built: readonly string[];
  readonly swapped: readonly string[];
  readonly drained: readonly string[];
  readonly rebound: readonly string[];
  readonly restarted: readonly string[];
  readonly removed: readonly string[];
  readonly reused: readonly string[];
}

/** A running Weir, seen and steered through its API and its configuration file. */
export class Control {
  readonly weir: Weir;
  readonly api: ApiClient;

  private constructor(weir: Weir, api: ApiClient) {
    this.weir = weir;
    this.api = api;
  }

  /** Waits until the API of `weir` listens. */
  static async of(weir: Weir): Promise<Control> {
    const where = await weir.child.until('its API listens', ({ stderr }) => {
      const [, text] = LISTENING.exec(stderr) ?? [];
      return text;
    });
    return new Control(weir, new ApiClient(parseAddress(where)));
  }

  /** The configuration file. */
  get file(): string {
    return join(this.weir.folder, 'weir.toml');
  }

  /** Replaces the configuration file at once, as editors do. */
  async write(config: string): Promise<void> {
    const draft = `${this.file}.new`;
    await writeFile(draft, config);
    await rename(draft, this.file);
  }

  post(): Promise<Reply> {
    return this.api.ask('POST', '/v1/reload');
  }

  /** Writes a configuration and has it applied. */
  async apply(config: string): Promise<Report> {
    await this.write(config);
    return (await this.api.json('POST', '/v1/reload')) as Report;
  }

  async connections(): Promise<Connections> {
    return (await this.api.json('GET', '/v1/connections')) as Connections;
  }

  /** The flows to a host. */
  async flowsTo(host: string): Promise<readonly FlowView[]> {
    return (await this.connections()).flows.filter((flow) => flow.host === host);
  }

  /** The lines that the process has logged, without their times. */
  get lines(): string[] {
    return this.weir.child.stderr
      .split('\n')
      .map((line) => line.replace(/^\S+Z +/, ''))
      .filter((line) => line !== '');
  }

  /** How many lines of the log hold a text. */
  count(text: string): number {
    return this.lines.filter((line) => line.includes(text)).length;
  }

  /** Waits until `count` lines hold a text. */
  async logged(text: string, count = 1): Promise<void> {
    await this.weir.child.until(`${count} lines "${text}"`, () =>
      this.count(text) >= count ? true : undefined,
    );
  }
}

/** The `error` of a response. */
export const errorOf = ({ text }: Reply): string =>
  (JSON.parse(text) as { readonly error: string }).error;
