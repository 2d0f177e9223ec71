import assert from 'node:assert/strict';
import { asError } from '@weir/base';
import { linkPair, type ByteLink, type Carrier } from '@weir/io/links';
import type { Endpoint } from '@weir/io/addresses';
import type { InboundContext, InboundHandler } from '../../../src/protocols/contract.ts';
import { InboundMemory } from '../../../src/protocols/inbounds/inbound-memory.ts';
import type { AcceptedAccounts } from '../../../src/protocols/users/accounts.ts';
import type { Session } from '../../../src/tracker/flow.ts';
import { ManualClock } from '../../../../../test/support/manual-clock.ts';
import { inboundContext } from '../../../../../test/support/protocols/inbound-context.ts';
import type { Target } from '../../../../../test/support/protocols/inbounds/address.ts';
import { settle } from '../../../../../test/support/settle.ts';
import {
  FakeEngine,
  Watched,
  type End,
} from '../../../../../test/support/protocols/inbounds/engine.ts';
import { logLines } from '../../../../../test/support/engine/log-lines.ts';
import {
  SLACK_MS,
  type Ending,
  type Inbound,
  type InboundClient,
  type InboundHarness,
  type User,
} from './harness.ts';

export const SITE: Endpoint = { host: 'www.example', port: 80 };
export const PEER: Endpoint = { host: '192.0.2.7', port: 53 };
export const USERS: readonly User[] = ['ann', 'bob'];
/** Within it everything is over whose client neither sends nor closes. */
export const PATIENCE_MS = 60_000;

export const text = (payload: string): Buffer => Buffer.from(payload);
export const latin1 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');

type Ends = Pick<Carrier, 'remote' | 'local'>;
/** The address of the clients, without a port. */
export const CLIENT_HOST = '192.0.2.9';
export const OVER_TCP: Ends = {
  remote: { host: `::ffff:${CLIENT_HOST}`, port: 50_000 },
  local: { host: '::ffff:192.0.2.1', port: 443 },
};
export const OVER_UNIX: Ends = { remote: undefined, local: undefined };
/** The session of every connection. */
export const SESSION: Session = {
  id: 1,
  inbound: 'in',
  source: CLIENT_HOST,
  user: undefined,
  startedAt: 0,
  attach: () => undefined,
};

let seeds = 0;

/** A client of its own, which sends what no other one does; `undefined` if the protocol cannot name its destination. */
export const clientIfNamed = (
  harness: InboundHarness,
  destination: Target,
  user: User = 'ann',
): InboundClient | undefined => harness.client(user, destination, nextSeed());

export function clientOf(harness: InboundHarness, user?: User): InboundClient {
  const client = clientIfNamed(harness, SITE, user);
  assert.ok(client);
  return client;
}

export const nextSeed = (): string => `client ${seeds++}`;

/** The payload that a client has received. */
export const opened = (client: Pick<InboundClient, 'open'>, { received }: Watched): string =>
  latin1(client.open(received).payload);

export const hasEnded = (client: InboundClient, { received, state }: Watched): boolean =>
  state === 'end' || client.open(received).ended === true;

/** A client's connection, and how serving it ended. */
export class Connection extends Watched {
  isServed = false;
  error: Error | undefined;

  constructor(link: End, serving: Promise<unknown>) {
    super(link);
    void serving
      .catch((error: unknown) => {
        this.error = asError(error);
      })
      .finally(() => {
        this.isServed = true;
      });
  }
}

/** A handler of carriers, in memory. */
class Carriers implements Inbound {
  readonly #handler: InboundHandler;

  constructor(handler: InboundHandler) {
    this.#handler = handler;
  }

  get accounts(): AcceptedAccounts | undefined {
    return this.#handler.accounts;
  }

  connect(ends: Ends): { readonly link: ByteLink; readonly served: Promise<void> } {
    const [client, link] = linkPair();
    return { link: client, served: this.serve(link, ends) };
  }

  /** Serves a link, and ends it when the handler is through, as the engine does. */
  async serve(link: ByteLink, ends: Ends, wire = { bytesRead: 0, bytesWritten: 0 }): Promise<void> {
    try {
      await this.#handler.serve({ link, wire, ...ends }, SESSION);
    } finally {
      link.destroy();
    }
  }
}

/** One inbound in an engine that is the test's. */
export class Rig {
  readonly clock = new ManualClock();
  readonly engine = new FakeEngine(this.clock);
  readonly memory = new InboundMemory();
  /** What is logged. */
  readonly lines: readonly string[];
  readonly inbound: Inbound;
  readonly #log = logLines('debug');
  readonly #harness: InboundHarness;
  readonly #inbounds: Inbound[] = [];

  constructor(harness: InboundHarness, users = USERS, changes: Partial<InboundContext> = {}) {
    this.#harness = harness;
    this.lines = this.#log.lines;
    this.inbound = this.reloaded(users, changes);
  }

  /** The inbound by a later configuration. */
  reloaded(users: readonly User[], changes: Partial<InboundContext> = {}): Inbound {
    const context = { memory: this.memory, log: this.#log.log, ...changes };
    const engine = { dispatcher: this.engine, clock: this.clock };
    const made = this.#harness.create(users, inboundContext('in', engine, context));
    const inbound = 'serve' in made ? new Carriers(made) : made;
    this.#inbounds.push(inbound);
    return inbound;
  }

  async connect({
    inbound = this.inbound,
    ends = OVER_TCP,
    user = 'ann',
  }: { inbound?: Inbound; ends?: Ends; user?: User } = {}): Promise<Connection> {
    const { link, served } = await inbound.connect(ends, user);
    return new Connection(link, served);
  }

  /** An association, over a connection of its own unless the protocol has another way. */
  async associate(): Promise<Connection> {
    if (!this.inbound.associate) return this.connect();
    const { link, served } = await this.inbound.associate('ann');
    return new Connection(link, served);
  }

  /** Connects, and sends that in one piece. */
  async send(bytes: Uint8Array, options: Parameters<Rig['connect']>[0] = {}): Promise<Connection> {
    const connection = await this.connect(options);
    connection.write(bytes);
    return connection;
  }

  /** Serves a carrier. */
  serve(link: ByteLink, ...rest: [wire?: Carrier['wire']]): Promise<void> {
    assert.ok(this.inbound instanceof Carriers);
    return this.inbound.serve(link, OVER_TCP, ...rest);
  }

  /** Sends a request with payload, and has the flow. */
  async flow(
    payload = 'hello',
    user: User = 'ann',
    client = clientOf(this.#harness, user),
  ): Promise<{ client: InboundClient; connection: Connection; origin: Watched }> {
    const connection = await this.send(client.first(text(payload)), { user });
    await this.settle();
    const origin = this.engine.origins.at(-1);
    assert.ok(origin, `no flow: ${connection.error?.message}`);
    return { client, connection, origin };
  }

  async end(client: InboundClient, connection: Watched): Promise<void> {
    if (client.end) connection.write(client.end());
    connection.closeWrite();
    await this.settle();
  }

  /** What serving a connection failed with: of a stream, what was logged. */
  reasonOf({ error }: Connection): string {
    return this.#harness.ownsSessions === true ? this.lines.join('\n') : String(error?.message);
  }

  /** Lets everything go on that waits for nothing but its turn. */
  async settle(turns?: number): Promise<void> {
    await settle(turns);
    for (const inbound of this.#inbounds) await inbound.settle?.();
  }

  /** Lets time pass, from timer to timer. */
  async advance(milliseconds: number): Promise<void> {
    const end = this.clock.now() + milliseconds;
    for (let { next } = this.clock; next < end; { next } = this.clock) {
      this.clock.advance(next - this.clock.now());
      await this.settle();
    }
    this.clock.advance(Math.max(0, end - this.clock.now()));
    await this.settle();
  }

  /** That the clients, which stay and send nothing more, see that end at that time and nothing is left. */
  async observe(watched: readonly (readonly [Connection, Ending, string])[]): Promise<void> {
    const start = this.clock.now();
    await this.settle();
    const slack = this.#harness.ownsSessions === true ? SLACK_MS : 1;
    const times = [...new Set(watched.map(([, { after }]) => after))].toSorted((a, b) => a - b);
    const goTo = (time: number): Promise<void> =>
      this.advance(Math.max(0, start + time - this.clock.now()));
    for (const time of times) {
      await goTo(time - slack);
      for (const [{ state, error }, { after }, what] of watched) {
        if (after >= time && time > 0) assert.equal(state, 'open', `${what}: ${error?.message}`);
      }
      await goTo(time + slack - 1);
      for (const [{ state, received }, { how, after, ...rest }, what] of watched) {
        if (after !== time) continue;
        assert.equal(state, how, what);
        const says = 'says' in rest ? rest.says : text('');
        if (says instanceof RegExp) assert.match(latin1(received), says, what);
        else if (says)
          assert.equal(received.toString('hex'), Buffer.from(says).toString('hex'), what);
      }
    }
    // What a time limit begins may have a time limit.
    for (let step = 1; step <= 2; step++) await this.advance(PATIENCE_MS);
    await this.isClean(...watched.map(([connection]) => connection));
  }

  /** Everything that was served is over and has left nothing. */
  async isClean(...connections: readonly Connection[]): Promise<void> {
    await this.settle();
    for (const connection of connections) assert.ok(connection.isServed, 'served to its end');
    assert.equal(this.engine.live, 0);
    for (const inbound of this.#inbounds) await inbound.close?.();
    assert.equal(this.clock.timers, 0, 'no timer is left');
  }
}
