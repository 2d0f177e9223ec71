import { type InboundProtocol, inboundProtocol } from '@weir/proxy/protocols';
import type { InboundSpec } from '@weir/proxy/spec';
import type { ListenMeans } from './inbound-listener.ts';

/** The server side of a protocol by its canonical name. */
export type ProtocolOf = (name: string) => InboundProtocol<unknown>;

/** Facts about inbounds that a plan depends on and that their protocols determine. Pure. */
export interface InboundFacts {
  /** Returns the accounts in an inbound's settings; `undefined` for an inbound without users. */
  readonly usersOf: (inbound: InboundSpec) => readonly unknown[] | undefined;
  readonly meansOf: (inbound: InboundSpec) => ListenMeans;
  /**
   * Returns the reason why an inbound that keeps its address cannot change while sessions are live; `undefined` when it
   * can.
   */
  readonly restartReason: (before: InboundSpec, after: InboundSpec) => string | undefined;
}

/**
 * Facts about inbounds.
 * @param protocolOf by default the protocols of the registry
 */
export const inboundFacts = (protocolOf: ProtocolOf = inboundProtocol): InboundFacts => ({
  usersOf: ({ protocol, settings }) => protocolOf(protocol).users(settings),
  meansOf({ protocol, listen }) {
    const side = protocolOf(protocol);
    if (side.kind === 'sessions') return side.listens;
    return side.datagrams && listen.kind !== 'unix' ? 'tcp+udp' : 'tcp';
  },
  restartReason(before, after) {
    const side = protocolOf(after.protocol);
    if (side.kind === 'carriers') return undefined;
    if (before.protocol !== after.protocol) return 'its protocol changes';
    return side.restartReason(before.settings, after.settings);
  },
});
