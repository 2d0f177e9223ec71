import { type ByteLink, linkPair } from '@weir/io/links';
import type {
  Outbound,
  OutboundContext,
  InboundContext,
  InboundHandler,
} from '../../../packages/proxy/src/protocols/contract.ts';
import { ManualClock } from '../manual-clock.ts';
import { silentLogger } from '@weir/base/log';
import { inboundContext } from './inbound-context.ts';
import { KeptObjects } from '@weir/base/collections';
import { OwnListeners } from '@weir/io/net/own-listeners';
import { FakeEngine } from './inbounds/engine.ts';
import { carrierOf, type InboundFixture } from './socks/harness.ts';

/** A handler in an engine that echoes. */
export function serverOf(
  create: (context: InboundContext) => InboundHandler,
  tag = 'in',
  clock = new ManualClock(),
): InboundFixture {
  const dispatcher = new FakeEngine('echo');
  const context = inboundContext(tag, { dispatcher, clock });
  const session = {
    id: 1,
    inbound: tag,
    source: '127.0.0.1',
    user: undefined,
    startedAt: 0,
    attach: () => undefined,
  };
  return { handler: create(context), dispatcher, clock, session, attached: [] };
}

export interface ClientFixture {
  readonly outbound: Outbound;
  readonly clock: ManualClock;
  /** The server's ends of what was dialled. */
  readonly dialled: ByteLink[];
}

/** An outbound whose server's ends are the test's. */
export function clientOf(
  create: (context: OutboundContext) => Outbound,
  dial?: OutboundContext['dial'],
  clock = new ManualClock(),
): ClientFixture {
  const dialled: ByteLink[] = [];
  const outbound = create({
    tag: 'out',
    family: 'auto',
    resolver: { resolve: () => Promise.reject(new Error('nothing is resolved here')) },
    clock,
    log: silentLogger,
    ownListeners: new OwnListeners(),
    shared: new KeptObjects(),
    server: { host: 'proxy.example', port: 443 },
    dial:
      dial ??
      (() => {
        const [near, far] = linkPair();
        dialled.push(far);
        return Promise.resolve(carrierOf(near));
      }),
  });
  return { outbound, clock, dialled };
}
