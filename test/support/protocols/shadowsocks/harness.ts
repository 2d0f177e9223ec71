import assert from 'node:assert/strict';
import { setImmediate as settle } from 'node:timers/promises';
import { atOnce } from '@weir/io/time';
import { asError } from '@weir/base';
import { silentLogger } from '@weir/base/log';
import type { Endpoint } from '@weir/io/addresses';
import { DialError } from '@weir/io';
import { type ByteLink, type Carrier, type WireCounter, linkPair } from '@weir/io/links';
import { KeptObjects } from '@weir/base/collections';
import { OwnListeners } from '@weir/io/net/own-listeners';
import type {
  InboundHandler,
  Outbound,
  OutboundContext,
} from '../../../../packages/proxy/src/protocols/contract.ts';
import { ShadowsocksInbound } from '../../../../packages/proxy/src/protocols/shadowsocks/inbound.ts';
import { ShadowsocksUsers } from '../../../../packages/proxy/src/protocols/shadowsocks/shadowsocks-users.ts';
import { METHODS, type MethodName } from '@weir/proxy/protocols/shadowsocks/methods';
import { ShadowsocksOutbound } from '../../../../packages/proxy/src/protocols/shadowsocks/outbound.ts';
import type { ShadowsocksInboundSettings } from '../../../../packages/proxy/src/protocols/shadowsocks/settings.ts';
import type { Session } from '../../../../packages/proxy/src/tracker/flow.ts';
import { ManualClock } from '../../manual-clock.ts';
import { KnownRandom } from '../../known-random.ts';
import { FakeEngine } from '../inbounds/engine.ts';
import { inboundContext } from '../inbound-context.ts';

export const METHOD_NAMES = Object.keys(METHODS) as MethodName[];
export const LEGACY = METHOD_NAMES.filter((name) => METHODS[name].edition === 'legacy');
export const MODERN = METHOD_NAMES.filter((name) => METHODS[name].edition === '2022');
export const WITH_IDENTITIES = METHOD_NAMES.filter((name) => METHODS[name].identities);

/** A key of the method's length, in base64. */
export const keyFor = (method: MethodName, byte: number): string =>
  Buffer.alloc(METHODS[method].keyLength, byte).toString('base64');

export const clientAt: Endpoint = { host: '192.0.2.7', port: 50_000 };
export const SITE: Endpoint = { host: 'example.com', port: 443 };
const noWire: WireCounter = { bytesRead: 0, bytesWritten: 0 };
export const sessionOf = (id: number): Session => ({
  id,
  inbound: 'ss',
  source: clientAt.host,
  user: undefined,
  startedAt: 0,
  attach: () => undefined,
});

export interface Server {
  readonly handler: InboundHandler;
  readonly dispatcher: FakeEngine;
  readonly clock: ManualClock;
}

export function server(
  method: MethodName,
  settings: Partial<ShadowsocksInboundSettings> = {},
  seed = 'server',
  clock = new ManualClock(),
): Server {
  const dispatcher = new FakeEngine('echo');
  const context = inboundContext('ss', { dispatcher, clock });
  const all = { method, key: keyFor(method, 1), users: [], ...settings };
  const users = atOnce(ShadowsocksUsers.of(all, context.memory));
  const handler = new ShadowsocksInbound(users, context, new KnownRandom(seed));
  return { handler, dispatcher, clock };
}

/** The far end of a connection to `server`, and the error that serving it ended with. */
export function connectTo(
  { handler }: Server,
  remote = clientAt,
): {
  readonly far: ByteLink;
  readonly served: Promise<Error | undefined>;
} {
  const [far, link] = linkPair();
  const carrier: Carrier = { link, wire: noWire, remote, local: undefined };
  const served = handler.serve(carrier, sessionOf(1)).then(() => undefined, asError);
  void served.then(() => link.destroy());
  return { far, served };
}

export interface Client {
  readonly outbound: Outbound;
  readonly clock: ManualClock;
  /** The far ends of its carriers that lead to no server. */
  readonly dialled: ByteLink[];
}

/** A client, whose carriers lead to `to`; without it their far ends are in `dialled`. */
export function client(
  method: MethodName,
  keys: readonly string[] = [keyFor(method, 1)],
  to?: Server,
  seed = 'client',
  { remote, ...context }: Partial<OutboundContext> & Pick<Partial<Carrier>, 'remote'> = {},
): Client {
  const clock = new ManualClock();
  const dialled: ByteLink[] = [];
  const outbound = new ShadowsocksOutbound(
    { method, keys },
    {
      tag: 'out',
      family: 'auto',
      resolver: { resolve: (host) => Promise.reject(new DialError('not_found', host)) },
      clock,
      log: silentLogger,
      ownListeners: new OwnListeners(),
      shared: new KeptObjects(),
      server: { host: '192.0.2.1', port: 8388 },
      dial: () => {
        let link: ByteLink;
        if (to) link = connectTo(to).far;
        else {
          const [near, far] = linkPair();
          dialled.push(far);
          link = near;
        }
        return Promise.resolve({ link, wire: noWire, remote, local: undefined });
      },
      ...context,
    },
    new KnownRandom(seed),
  );
  return { outbound, clock, dialled };
}

export const dialOptions = (): { signal: AbortSignal } => ({
  signal: new AbortController().signal,
});

/** The first write of a client that sends `payload`. */
export async function firstBytes(
  from: Client,
  payload: string,
  destination = SITE,
): Promise<Buffer> {
  const link = await from.outbound.connect(destination, dialOptions());
  await link.write(Buffer.from(payload));
  const [far] = from.dialled.splice(0);
  assert.ok(far);
  const chunk = await far.read();
  assert.ok(chunk);
  return Buffer.from(chunk);
}

/** Lets all time limits of a server pass, also those that are set when others pass. */
export async function expire({ clock }: Server): Promise<void> {
  for (let i = 0; i < 3; i++) {
    await settle();
    clock.advance(60_000);
  }
  await settle();
}
