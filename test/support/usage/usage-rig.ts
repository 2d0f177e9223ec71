import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { USAGE_DIMENSIONS, type UsageCounts } from '@weir/proxy/tracker';
import { requestReload } from '@weir/server/control';
import { UsageDatabase } from '@weir/watch/usage';
import { minus, NOTHING, plus } from '../../../packages/watch/src/usage/counts.ts';
import { socksConnect } from '../peers/socks-client.ts';
import { echoServer, type Origin } from '../peers/servers.ts';
import { freedom } from '../process/config.ts';
import type { Child } from '../process/child.ts';
import { scratch, weirCommand } from '../process/weir.ts';
import { eventually, within } from '../wait.ts';

/** Bytes that had come back to clients at a time. */
interface Mark {
  readonly at: number;
  readonly down: number;
}

/** Milliseconds between two marks. */
const MARK_MS = 20;

/**
 * A Weir with many accounts, a recorder of its usage, and clients whose bytes an origin sends back. All of it is in one
 * folder, so that each process can be started again in its place.
 */
export class UsageRig implements AsyncDisposable {
  readonly #folder: Awaited<ReturnType<typeof scratch>>;
  readonly #origin: Origin;
  readonly #users: number;
  readonly #random: () => number;
  #weir: Child | undefined;
  #recorder: Child | undefined;
  #reloads = 0;
  #busy = new AbortController();
  #clients: readonly Promise<void>[] = [];
  /** What flows that have ended have moved, by account. */
  moved = new Map<string, UsageCounts>();
  /** Bytes that clients have sent, and those that came back to them, of all flows. */
  sent = 0;
  received = 0;
  #marks: Mark[] = [];

  private constructor(
    folder: Awaited<ReturnType<typeof scratch>>,
    origin: Origin,
    users: number,
    random: () => number,
  ) {
    this.#folder = folder;
    this.#origin = origin;
    this.#users = users;
    this.#random = random;
  }

  /** @param random a number from 0 to 1 */
  static async start(users: number, random: () => number): Promise<UsageRig> {
    const rig = new UsageRig(await scratch(), await echoServer(), users, random);
    await rig.startWeir();
    await rig.startRecorder();
    return rig;
  }

  get control(): string {
    return this.#at('control.sock');
  }

  get database(): string {
    return this.#at('usage.db');
  }

  async startWeir(): Promise<void> {
    await this.#configure();
    const args = ['--config', this.#at('weir.toml'), '--reload-socket', this.control];
    this.#weir = weirCommand(['run', ...args]);
    await this.#weir.until('its inbound', ({ stderr }) => /listening on/.test(stderr) || undefined);
  }

  async startRecorder(): Promise<void> {
    const args = ['--socket', this.control, '--database', this.database];
    this.#recorder = weirCommand(['usage', 'record', ...args]);
    await this.recording();
  }

  /** Waits until the recorder says that it records. */
  async recording(): Promise<void> {
    await this.#recorder?.until(
      'a first reading',
      ({ stderr }) =>
        stderr.trimEnd().split('\n').at(-1)?.includes(': recording into') || undefined,
    );
  }

  /** Ends a process. @returns when it had ended, by `performance.now` */
  async end(which: 'weir' | 'recorder', signal: 'SIGKILL' | 'SIGTERM'): Promise<number> {
    const child = which === 'weir' ? this.#weir : this.#recorder;
    child?.signal(signal);
    await child?.exited;
    return performance.now();
  }

  /** Changes accounts, and reloads. */
  async reload(): Promise<void> {
    this.#reloads++;
    await this.#configure();
    const outcome = await requestReload(this.control);
    if (outcome.kind !== 'applied') throw new Error(`the reload was ${outcome.kind}`);
  }

  /** Starts clients, each with one flow after the other, until `stopClients`. */
  startClients(count: number): void {
    this.#busy = new AbortController();
    const { signal } = this.#busy;
    this.#marks = [];
    this.#clients = [
      this.#mark(signal),
      ...Array.from({ length: count }, async () => {
        while (!signal.aborted) await this.#flow(signal);
      }),
    ];
  }

  /** Waits until the clients have ended, each after its flow. */
  async stopClients(): Promise<void> {
    this.#busy.abort();
    await within(Promise.all(this.#clients), 'the last flows');
  }

  /** Returns how many milliseconds before `at` the clients had received `down` bytes. */
  millisecondsBefore(at: number, down: number): number {
    const mark = this.#marks.findLast((each) => each.at <= at && each.down <= down);
    return mark ? at - mark.at : at - (this.#marks[0]?.at ?? at);
  }

  /** The usage that is recorded, which must be the same in each dimension. */
  recorded(): UsageCounts {
    using database = new UsageDatabase(this.database);
    const until = Date.now() + 86_400_000;
    const [total = NOTHING, ...others] = database.atOnce(() =>
      USAGE_DIMENSIONS.map((by) => database.sums({ by, since: 0, until }).total),
    );
    for (const each of others) {
      if (JSON.stringify(each) !== JSON.stringify(total)) {
        throw new Error(`the dimensions differ: ${JSON.stringify([total, ...others])}`);
      }
    }
    return total;
  }

  /** The usage that is recorded, by account. */
  recordedByUser(): Map<string, UsageCounts> {
    using database = new UsageDatabase(this.database);
    const { names } = database.sums({ by: 'user', since: 0, until: Date.now() + 86_400_000 });
    return new Map(names.map(({ name, ...counts }) => [name, counts]));
  }

  /**
   * Waits until what was moved since `before` is recorded, to the byte.
   * @throws {Error} when more is recorded, of any account
   */
  async untilAllRecorded(before: ReadonlyMap<string, UsageCounts>): Promise<void> {
    const wanted = [...this.moved.values()].reduce(plus, NOTHING);
    const base = [...before.values()].reduce(plus, NOTHING);
    let seen = NOTHING;
    await eventually(
      () => `${JSON.stringify(wanted)} recorded, not ${JSON.stringify(seen)}`,
      () => {
        seen = minus(this.recorded(), base);
        if (seen.up > wanted.up || seen.down > wanted.down || seen.flows > wanted.flows) {
          throw new Error(`${JSON.stringify(seen)} is recorded, ${JSON.stringify(wanted)} moved`);
        }
        return JSON.stringify(seen) === JSON.stringify(wanted);
      },
    );
    const after = this.recordedByUser();
    for (const [user, moved] of this.moved) {
      const used = minus(after.get(user) ?? NOTHING, before.get(user) ?? NOTHING);
      if (JSON.stringify(used) === JSON.stringify(moved)) continue;
      throw new Error(`${user} has moved ${JSON.stringify(moved)}, not ${JSON.stringify(used)}`);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#busy.abort();
    await this.#weir?.[Symbol.asyncDispose]();
    await this.#recorder?.[Symbol.asyncDispose]();
    await Promise.all(this.#clients);
    await this.#origin[Symbol.asyncDispose]();
    await this.#folder[Symbol.asyncDispose]();
  }

  #at(name: string): string {
    return join(this.#folder.path, name);
  }

  /** Writes the configuration; one account changes each time, which no client uses. */
  async #configure(): Promise<void> {
    const users = Array.from({ length: this.#users }, (_, index) => `u${index}`);
    const accounts = [...users, `spare${this.#reloads}`].map(
      (user) => `  { user = "${user}", pass = "p" },\n`,
    );
    const inbound = `[[inbound]]\ntag = "socks"\nprotocol = "socks"\nlisten = "${this.#at('socks.sock')}"\n[inbound.settings]\nauth = "password"\nudp = false\naccounts = [\n${accounts.join('')}]\n`;
    await writeFile(this.#at('new.toml'), inbound + freedom());
    await rename(this.#at('new.toml'), this.#at('weir.toml'));
  }

  /** Notes what has come back to clients. */
  async #mark(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#marks.push({ at: performance.now(), down: this.received });
      await sleep(MARK_MS);
    }
  }

  /** Sends random bytes in pieces, and counts them when all of them have come back. */
  async #flow(signal: AbortSignal): Promise<void> {
    const user = `u${Math.floor(this.#random() * this.#users)}`;
    const pieces = 1 + Math.floor(this.#random() * 8);
    const piece = Buffer.alloc(1 + Math.floor(this.#random() * 20_000));
    const proxy = { path: this.#at('socks.sock') };
    try {
      const socket = await socksConnect(proxy, this.#origin.target, { user, pass: 'p' });
      let down = 0;
      socket.on('data', (chunk: Buffer) => {
        down += chunk.length;
        this.received += chunk.length;
      });
      const ended = new Promise<void>((resolve) => {
        socket.on('error', () => undefined).once('close', resolve);
        socket.once('end', () => socket.destroy());
      });
      for (let sent = 0; sent < pieces && !socket.destroyed; sent++) {
        socket.write(piece);
        this.sent += piece.length;
        await sleep(this.#random() * 60);
      }
      socket.end();
      await ended;
      if (down !== pieces * piece.length) return;
      this.moved.set(user, plus(this.moved.get(user) ?? NOTHING, { up: down, down, flows: 1 }));
    } catch {
      // Weir is down: another try soon.
      if (!signal.aborted) await sleep(20);
    }
  }
}
