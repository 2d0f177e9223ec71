import assert from 'node:assert/strict';
import { atOnce } from '@weir/io/time';
import { type ByteLink, type Carrier, linkPair, ReadQueue } from '@weir/io/links';
import type { Logger } from '@weir/base/log';
import type { InboundContext } from '../../../../packages/proxy/src/protocols/contract.ts';
import {
  createHttpInbound,
  httpAccounts,
} from '../../../../packages/proxy/src/protocols/http/inbound.ts';
import type { HttpInboundSettings } from '../../../../packages/proxy/src/protocols/http/settings.ts';
import type { Session } from '../../../../packages/proxy/src/tracker/flow.ts';
import { inboundContext } from '../inbound-context.ts';
import { FakeEngine } from '../inbounds/engine.ts';
import { ManualClock } from '../../manual-clock.ts';

/** One end of a link as text. */
export class Peer {
  readonly link: ByteLink;
  #seen = '';

  constructor(link: ByteLink) {
    this.link = link;
  }

  async send(text: string): Promise<void> {
    await this.link.write(Buffer.from(text, 'latin1'));
  }

  /** Everything up to and including `mark`. */
  async until(mark: string): Promise<string> {
    for (;;) {
      const at = this.#seen.indexOf(mark);
      if (at >= 0) return this.#take(at + mark.length);
      const chunk = await this.link.read();
      assert.ok(chunk, `the peer ended before ${JSON.stringify(mark)}; came: ${this.#seen}`);
      this.#seen += Buffer.from(chunk).toString('latin1');
    }
  }

  /** A head without its empty line. */
  async head(): Promise<string> {
    // The random name of the proxy in `Via` has tests of its own.
    return (await this.until('\r\n\r\n'))
      .slice(0, -4)
      .replace(/\r\nVia: 1\.[01] [0-9a-f]{16}(?=\r\n|$)/, '');
  }

  async exactly(length: number): Promise<string> {
    while (this.#seen.length < length) {
      const chunk = await this.link.read();
      assert.ok(chunk, `the peer ended before ${length} bytes; came: ${this.#seen}`);
      this.#seen += Buffer.from(chunk).toString('latin1');
    }
    return this.#take(length);
  }

  /** A response of the proxy's own: its head and the text of its body. */
  async response(): Promise<{ head: string; text: string; status: number }> {
    const head = await this.head();
    const length = Number(/\r\nContent-Length: (\d+)/.exec(head)?.[1] ?? 0);
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1]);
    return { head, text: await this.exactly(length), status };
  }

  /** Everything to the end. */
  async rest(): Promise<string> {
    for (;;) {
      const chunk = await this.link.read();
      if (!chunk) return this.#take(this.#seen.length);
      this.#seen += Buffer.from(chunk).toString('latin1');
    }
  }

  /** Half-closes. */
  end(): Promise<void> {
    return this.link.closeWrite();
  }

  #take(length: number): string {
    const taken = this.#seen.slice(0, length);
    this.#seen = this.#seen.slice(length);
    return taken;
  }
}

/** An engine whose destinations are the test itself, one origin for each flow. */
export class ScriptedEngine extends FakeEngine {
  readonly clock: ManualClock;
  /** Ends every flow, as an operator would. */
  readonly kills = new Set<(cause: Error) => void>();
  readonly #peers = new ReadQueue<Peer>();

  constructor(clock = new ManualClock()) {
    super(clock);
    this.clock = clock;
  }

  /** The origin of the next flow. */
  async origin(): Promise<Peer> {
    const peer = await this.#peers.take();
    assert.ok(peer);
    return peer;
  }

  get destinations(): string[] {
    return this.streams.map(({ destination: { host, port } }) => `${host} ${port}`);
  }

  protected override onOrigin(origin: ByteLink, client: ByteLink, remote: ByteLink): void {
    this.#peers.push(new Peer(origin));
    this.kills.add((cause) => {
      client.destroy(cause);
      remote.destroy(cause);
    });
  }
}

export const quietLog: Logger = {
  error: () => undefined,
  warn: () => undefined,
  info: () => undefined,
  debug: () => undefined,
  trace: () => undefined,
  enabled: () => false,
  target: () => quietLog,
};

export const session: Session = {
  id: 7,
  inbound: 'http-in',
  source: '192.0.2.9',
  user: undefined,
  startedAt: 0,
  attach: () => undefined,
};

export const carrierOf = (link: ByteLink): Carrier => ({
  link,
  wire: { bytesRead: 0, bytesWritten: 0 },
  remote: { host: '192.0.2.9', port: 50_000 },
  local: { host: '127.0.0.1', port: 8080 },
});

export interface Proxy {
  readonly client: Peer;
  /** The proxy's end of the client's connection. */
  readonly server: ByteLink;
  readonly dispatcher: ScriptedEngine;
  readonly clock: ManualClock;
  /** Resolves with what ended the connection, `undefined` after a clean end. */
  readonly served: Promise<Error | undefined>;
}

/** An inbound with one client connection, and the client's end of it. */
export function startProxy(
  settings: Partial<HttpInboundSettings> = {},
  context: Partial<InboundContext> = {},
  linkClock?: ManualClock,
): Proxy {
  const dispatcher = new ScriptedEngine();
  const all = { accounts: [], allowTransparent: false, ...settings };
  const inbound = createHttpInbound(
    atOnce(httpAccounts(all)),
    inboundContext('http-in', { dispatcher, clock: dispatcher.clock }, context),
    all,
  );
  const [client, server] = linkPair(linkClock);
  const served = inbound.serve(carrierOf(server), session).then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? error : new Error(String(error))),
  );
  return { client: new Peer(client), server, dispatcher, clock: dispatcher.clock, served };
}

/** A request in absolute form, and a response without a body. */
export const GET = 'GET http://a.example/ HTTP/1.1\r\n\r\n';
export const EMPTY = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';

/** Sends a request and the origin's response, and reads both. */
export async function exchange(
  { client, origin }: { client: Peer; origin: Promise<Peer> },
  request: string,
  response: string,
): Promise<{ asked: string; origin: Peer }> {
  await client.send(request);
  const peer = await origin;
  const asked = await peer.head();
  await peer.send(response);
  return { asked, origin: peer };
}
