import assert from 'node:assert/strict';
import type { Endpoint } from '@weir/io/addresses';
import type { Packet, WireCounter, ReplyPath } from '@weir/io/links';
import type {
  DatagramServer,
  DatagramSessions,
  SessionClient,
} from '../../../../packages/proxy/src/protocols/contract.ts';
import { DatagramCodec2022 } from '../../../../packages/proxy/src/protocols/shadowsocks/edition-2022/datagram-codec.ts';
import { LegacyDatagramCodec } from '../../../../packages/proxy/src/protocols/shadowsocks/legacy/datagrams.ts';
import { METHODS, type MethodName } from '@weir/proxy/protocols/shadowsocks/methods';
import type { DatagramCodec } from '../../../../packages/proxy/src/protocols/shadowsocks/packets.ts';
import type { ShadowsocksInboundSettings } from '../../../../packages/proxy/src/protocols/shadowsocks/settings.ts';
import { ManualClock } from '../../manual-clock.ts';
import { clientAt, keyFor, server, sessionOf } from './harness.ts';
import { KnownRandom } from '../../known-random.ts';

export const ELSEWHERE: Endpoint = { host: '198.51.100.4', port: 1234 };

export const text = (data: string): Buffer => Buffer.from(data);

/** The codec of a client with that chain of keys. */
export function codec(
  name: MethodName,
  keys: readonly string[] = [keyFor(name, 1)],
  { seed = 'client', clock = new ManualClock() } = {},
): DatagramCodec {
  const { [name]: method } = METHODS;
  const random = new KnownRandom(seed);
  const chain = keys.map((key) => Buffer.from(key, 'base64'));
  return method.edition === 'legacy'
    ? new LegacyDatagramCodec(method, chain.at(-1)!, random) // tests give at least one
    : new DatagramCodec2022({ method, clock, random }, chain);
}

/** A server of datagrams whose destinations echo. */
export function listening(
  name: MethodName,
  settings: Partial<ShadowsocksInboundSettings> = {},
  clock = new ManualClock(),
) {
  const { handler, dispatcher } = server(name, settings, 'server', clock);
  const sessions = new FakeSessions();
  const socket = new FakeSocket();
  const datagrams = handler.serveDatagrams?.(sessions);
  assert.ok(datagrams);
  const receive = (data: Uint8Array | undefined, peer = clientAt, known = false): boolean => {
    assert.ok(data);
    return datagrams.receive({ data: Buffer.from(data), peer }, socket, known);
  };
  return {
    datagrams: datagrams satisfies DatagramServer,
    dispatcher,
    clock,
    sessions,
    socket,
    receive,
  };
}

/** A UDP socket of a server, as far as associations see it. */
export class FakeSocket implements ReplyPath {
  readonly sent: Packet[] = [];
  readonly closed: Promise<Error | undefined>;
  readonly close: () => void;
  acceptsClients = true;
  /** Number of associations that respond through the socket. */
  holds = 0;

  constructor() {
    const { promise, resolve } = Promise.withResolvers<Error | undefined>();
    this.closed = promise;
    this.close = () => resolve(undefined);
  }

  send(packet: Packet): void {
    this.sent.push(packet);
  }

  hold(): () => void {
    this.holds++;
    return () => void this.holds--;
  }
}

/** Opens sessions and keeps those that are live. */
export class FakeSessions implements DatagramSessions {
  readonly live = new Map<number, (cause: Error) => void>();
  readonly wires: WireCounter[] = [];
  #last = 0;

  open({ wire, destroy }: SessionClient) {
    const id = ++this.#last;
    this.live.set(id, destroy);
    this.wires.push(wire);
    return {
      session: sessionOf(id),
      moved: () => undefined,
      close: () => void this.live.delete(id),
    };
  }
}
