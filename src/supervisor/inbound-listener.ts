import type { OwnEndpoint } from '../net/loop-guard/own-listeners.ts';
import type { ListenSpec, SocketListenSpec } from '../spec.ts';

/** The kind of socket or device that an inbound listens on. A unix socket counts as TCP. */
export type ListenMeans = 'tcp' | 'tcp+udp' | 'udp' | 'device';

/** A listener that can give up its address, so that another can be bound there. */
export interface ReopenableListener {
  /** Whether closing this one could make room for `spec`: another address with the same port. */
  standsInTheWayOf(spec: SocketListenSpec): boolean;
  /** Releases the address; `reopen` may follow. */
  close(): Promise<void>;
  /** Binds the same address again, including a port that the kernel chose. */
  reopen(): Promise<void>;
}

/** A bound listener of an inbound, whichever way it holds its sessions. */
export interface InboundListener extends ReopenableListener {
  readonly spec: ListenSpec;
  readonly means: ListenMeans;
  /** For log lines. */
  readonly address: string;
  /** The bound addresses as data; none for a unix socket or a device. */
  readonly endpoints: readonly OwnEndpoint[];
  /** Live sessions that closing it would end; 0 where sessions outlive their listener. */
  readonly tied: number;
  /** Passes on the connections and datagrams held since it was bound; from now on without holding them. */
  serve(): void;
  /** Stops accepting clients for good; resolves when it has. */
  retire(): Promise<void>;
}

/** Whether two listeners may be in conflict about a port number. */
export const shareNetwork = (a: ListenMeans, b: ListenMeans): boolean =>
  networksOf(a).some((network) => networksOf(b).includes(network));

/** The networks of the ports that an inbound binds. */
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
