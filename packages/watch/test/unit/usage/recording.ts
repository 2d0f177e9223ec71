import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Usage } from '../../../../proxy/src/tracker/usage.ts';
import type { RunningUsage } from '@weir/server/control';

/** A directory for a database, removed at the end. */
export function databaseFolder(): { readonly path: string } & Disposable {
  const folder = mkdtempSync(join(tmpdir(), 'weir-usage-'));
  return {
    path: join(folder, 'usage.db'),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true }),
  };
}

let processes = 0;

/** A process whose flows are counted; one flow a name and call, closed at once. */
export class FakeProcess {
  readonly instance = `process ${++processes}`;
  readonly #usage: Usage;

  /** @param bounds number of names that have space, and of removed ones that are reported */
  constructor(bounds?: { readonly entries: number; readonly removed: number }) {
    this.#usage = new Usage(bounds);
  }

  /** Moves bytes in a flow of an account, which has a host of its own. */
  move(user: string, up: number, down: number): void {
    const usage = this.#usage.opened({
      account: { name: user },
      inbound: 'in',
      outbound: 'out',
      source: '192.0.2.1',
      sniffed: undefined,
      destination: { host: `${user}.example` },
    });
    this.#usage.closed({ usage, up, down });
  }

  report(since = 0): RunningUsage {
    return { instance: this.instance, ...this.#usage.report([], since) };
  }

  /** The report for a reader at a position. */
  reportTo({ instance, sequence }: { readonly instance: string; readonly sequence: number }) {
    return this.report(instance === this.instance ? sequence : 0);
  }
}
