import type { DesiredState } from './desired-state.ts';
import type { ListenerNetwork, ListenerView } from './listener-view.ts';
import type { RunningInbound } from './stage.ts';

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
