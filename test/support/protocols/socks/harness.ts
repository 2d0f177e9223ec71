import { atOnce } from '@weir/io/time';
import { linkPair, type ByteLink, type Carrier, type WireCounter } from '@weir/io/links';
import { DialError } from '@weir/io';
import type { Endpoint } from '@weir/io/addresses';
import type {
  InboundContext,
  InboundHandler,
  Outbound,
  OutboundContext,
} from '../../../../packages/proxy/src/protocols/contract.ts';
import {
  SocksInbound,
  socksAccounts,
} from '../../../../packages/proxy/src/protocols/socks/inbound.ts';
import { SocksOutbound } from '../../../../packages/proxy/src/protocols/socks/outbound.ts';
import type { SocksInboundSettings } from '../../../../packages/proxy/src/protocols/socks/settings.ts';
import type { LoginSettings } from '../../../../packages/proxy/src/protocols/users/account-settings.ts';
import type { Session } from '../../../../packages/proxy/src/tracker/flow.ts';
import { ManualClock } from '../../manual-clock.ts';
import { silentLogger } from '@weir/base/log';
import { KeptObjects } from '@weir/base/collections';
import { OwnListeners } from '@weir/io/net/own-listeners';
import { inboundContext } from '../inbound-context.ts';
import { FakeEngine } from '../inbounds/engine.ts';

export const plainSettings: SocksInboundSettings = {
  auth: 'none',
  accounts: [],
  udp: true,
  udpBind: undefined,
};

export const withAccounts = (
  ...accounts: [user: string, pass: string][]
): SocksInboundSettings => ({
  ...plainSettings,
  auth: 'password',
  accounts: accounts.map(([user, pass]) => ({ user, pass })),
});

export interface InboundFixture {
  readonly handler: InboundHandler;
  readonly dispatcher: FakeEngine;
  readonly clock: ManualClock;
  readonly session: Session;
  /** Sockets whose bytes belong to the session. */
  readonly attached: WireCounter[];
}

export function inbound(
  settings: SocksInboundSettings = plainSettings,
  context: Partial<InboundContext> = {},
): InboundFixture {
  const dispatcher = new FakeEngine('echo');
  const clock = new ManualClock();
  const attached: WireCounter[] = [];
  const handler = new SocksInbound(
    atOnce(socksAccounts(settings)),
    inboundContext('socks-in', { dispatcher, clock }, context),
    settings,
  );
  const session: Session = {
    id: 1,
    inbound: 'socks-in',
    source: '127.0.0.1',
    user: undefined,
    startedAt: 0,
    attach: (wire) => attached.push(wire),
  };
  return { handler, dispatcher, clock, session, attached };
}

const noWire: WireCounter = { bytesRead: 0, bytesWritten: 0 };

export const onLoopback: Pick<Carrier, 'remote' | 'local'> = {
  remote: { host: '127.0.0.1', port: 50_000 },
  local: { host: '127.0.0.1', port: 1080 },
};

export const onUnixSocket: Pick<Carrier, 'remote' | 'local'> = {
  remote: undefined,
  local: undefined,
};

/** A client's end of a connection that `fixture` serves, and how serving it ended. */
export function connectTo(
  { handler, session }: InboundFixture,
  ends: Pick<Carrier, 'remote' | 'local'> = onLoopback,
): { readonly client: ByteLink; readonly served: Promise<Error | undefined> } {
  const [client, link] = linkPair();
  const served = handler.serve({ link, wire: noWire, ...ends }, session).then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? error : new Error(String(error))),
  );
  // What the engine does when a handler is through.
  void served.then(() => link.destroy());
  return { client, served };
}

/** An outbound whose carriers are the near ends of `dialled` connections. */
export function outbound(
  settings: LoginSettings,
  dial: () => Carrier | Promise<Carrier>,
  context: Partial<OutboundContext> = {},
): { readonly outbound: Outbound; readonly clock: ManualClock } {
  const clock = new ManualClock();
  const made = new SocksOutbound(settings, {
    tag: 'socks-out',
    family: 'auto',
    resolver: {
      resolve: (host) => Promise.reject(new DialError('not_found', `${host}: no such host`)),
    },
    clock,
    log: silentLogger,
    ownListeners: new OwnListeners(),
    shared: new KeptObjects(),
    server: { host: 'proxy.example', port: 1080 },
    dial: () => Promise.resolve(dial()),
    ...context,
  });
  return { outbound: made, clock };
}

/** A carrier over a link, to a server on loopback. */
export const carrierOf = (
  link: ByteLink,
  remote: Endpoint | undefined = { host: '127.0.0.1', port: 1080 },
): Carrier => ({ link, wire: noWire, remote, local: { host: '127.0.0.1', port: 40_000 } });

export { bytes } from '../inbounds/bytes.ts';

export const neverAborted = (): { signal: AbortSignal } => ({
  signal: new AbortController().signal,
});
