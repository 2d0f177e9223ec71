import type { InboundProtocol } from '../protocols/protocol.ts';
import { inboundProtocol } from '../protocols/registry.ts';
import type { InboundSpec } from '../spec.ts';
import type { ListenMeans } from './inbound-listener.ts';

/** The server side of a protocol by its canonical name. */
export type ProtocolOf = (name: string) => InboundProtocol<unknown>;

/** What a plan has to know of inbounds and only their protocols can say. Pure. */
export interface InboundFacts {
  /** The accounts in its settings; `undefined` for an inbound without users. */
  readonly usersOf: (inbound: InboundSpec) => readonly unknown[] | undefined;
  readonly meansOf: (inbound: InboundSpec) => ListenMeans;
  /**
   * Why an inbound cannot change while sessions are live, although it listens where it did;
   * `undefined` when it can.
   */
  readonly restartReason: (before: InboundSpec, after: InboundSpec) => string | undefined;
}

/** @param protocolOf the registry's when left out. */
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
