import type { OwnEndpoint } from '../net/loop-guard/own-listeners.ts';
import type { ListenSpec, SocketListenSpec } from '../spec.ts';

/** What an inbound listens with. A unix socket counts as TCP. */
export type ListenMeans = 'tcp' | 'tcp+udp' | 'udp' | 'device';

/** A listener that frees its address, so that another may be bound there. */
export interface LeavingListener {
  /** Whether closing this one could make room for `spec`: another address with the same port. */
  standsInTheWayOf(spec: SocketListenSpec): boolean;
  /** Frees the address; it may be opened again. */
  close(): Promise<void>;
  /** Binds the same address again, including a port that the kernel chose. */
  reopen(): Promise<void>;
}

/** A bound listener of an inbound, whichever way it holds its sessions. */
export interface InboundListener extends LeavingListener {
  readonly spec: ListenSpec;
  readonly means: ListenMeans;
  /** As people read it. */
  readonly address: string;
  /** The bound addresses as data; none for a unix socket or a device. */
  readonly endpoints: readonly OwnEndpoint[];
  /** Live sessions that closing it would end; 0 where sessions outlive their listener. */
  readonly tied: number;
  /** Passes on what was held since it was bound, and from now on everything immediately. */
  serve(): void;
  /** Accepts no new client for good. Resolves when that is so. */
  retire(): Promise<void>;
}

/** Whether listeners may share a port number. */
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
