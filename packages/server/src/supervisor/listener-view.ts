/** The address that an inbound is bound to. Field names are those of views. */
export interface ListenerView {
  /** The tag of the inbound. */
  readonly tag: string;
  /** The canonical name of the protocol. */
  readonly protocol: string;
  /** The networks of the port, or the kind of what is in place of one. */
  readonly networks: readonly ListenerNetwork[];
  /** The bound IP address, the path of the unix socket, or the name of the TUN device. */
  readonly address: string;
  /** The bound port, also where the configuration has port 0; `null` for a unix socket and a device. */
  readonly port: number | null;
}

export type ListenerNetwork = 'tcp' | 'udp' | 'unix' | 'tun';
