import type { DesiredState } from './desired-state.ts';
import type { RunningInbound } from './stage.ts';

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

/** Returns the bound addresses of running inbounds, in the order of the configuration. */
export function boundListeners(
  running: ReadonlyMap<string, RunningInbound>,
  { spec }: Pick<DesiredState, 'spec'>,
): readonly ListenerView[] {
  return spec.inbounds.flatMap(({ tag, protocol }): readonly ListenerView[] => {
    const inbound = running.get(tag);
    if (!inbound || (inbound.kind === 'sessions' && inbound.listener.isReleased)) return [];
    const { endpoints, means, address } = inbound.listener;
    const [first] = endpoints;
    if (first) {
      const { host, port } = first.endpoint;
      return [
        { tag, protocol, networks: endpoints.map(({ network }) => network), address: host, port },
      ];
    }
    const networks: readonly ListenerNetwork[] = [means === 'device' ? 'tun' : 'unix'];
    return [{ tag, protocol, networks, address, port: null }];
  });
}
