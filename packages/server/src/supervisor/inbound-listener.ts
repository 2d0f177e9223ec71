import type { OwnEndpoint } from '@weir/io/net/own-listeners';
import type { InboundProtocol } from '@weir/proxy/protocols';
import { inboundProtocol } from '@weir/proxy/protocols';
import type { InboundSpec, ListenSpec, SocketListenSpec } from '@weir/proxy/spec';

/** The kind of socket or device that an inbound listens on. A unix socket counts as TCP. */
export type ListenMeans = 'tcp' | 'tcp+udp' | 'udp' | 'device';

/** A listener that can release its address, so that another can be bound there. */
export interface ReopenableListener {
  /** Whether closing this listener could make room for `spec`: another address with the same port. */
  conflictsWith(spec: SocketListenSpec): boolean;
  /** Releases the address; `reopen` may follow. */
  close(): Promise<void>;
  /** Binds the same address again, including a port that the kernel chose. */
  reopen(): Promise<void>;
}

/** A bound listener of an inbound, regardless of how its sessions are held. */
export interface InboundListener extends ReopenableListener {
  readonly spec: ListenSpec;
  readonly means: ListenMeans;
  /** The bound address, for log lines. */
  readonly address: string;
  /** The bound addresses as data; none for a unix socket or a device. */
  readonly endpoints: readonly OwnEndpoint[];
  /** Number of live sessions that closing the listener would end; 0 if sessions outlive their listener. */
  readonly tied: number;
  /** Passes on the connections and datagrams queued since the listener was bound, and later ones directly. */
  serve(): void;
  /** Stops accepting clients permanently; resolves when it has. Live sessions keep what they need of the listener. */
  retire(): Promise<void>;
  /** Releases what a listener of `means` needs of the address; `reopen` may follow. */
  makeRoom(means: ListenMeans): Promise<void>;
  /**
   * Passes associations on to the listener that this one has made room for.
   * @returns the number of those that end, because it is of another kind
   */
  replacedBy(other: InboundListener): number;
  /** Undoes `close` of a retired listener, for the sessions that need it. */
  restore(): Promise<void>;
  /** Resolves when all resources of a retired listener are released. */
  readonly closed: Promise<void>;
}

/** Whether two listeners may conflict over a port number. */
export const shareNetwork = (a: ListenMeans, b: ListenMeans): boolean =>
  networksOf(a).some((network) => networksOf(b).includes(network));

/** Returns the networks of the ports that an inbound binds. */
function networksOf(means: ListenMeans): readonly ('tcp' | 'udp')[] {
  switch (means) {
    case 'tcp':
    case 'udp':
      return [means];
    case 'tcp+udp':
      return ['tcp', 'udp'];
    case 'device':
      return [];
    default:
      return means satisfies never;
  }
}

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

/** Facts about inbounds. @param protocolOf by default the protocols of the registry */
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
