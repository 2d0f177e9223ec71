import type { Carrier } from '../net/link.ts';
import type { InboundStreamSpec, ListenSpec } from '../spec.ts';
import { createAcceptor, type StreamDeps } from './acceptor.ts';
import { listenTcp, type Listener } from './tcp-listener.ts';

/**
 * Binds, and makes carriers of what comes by the stream settings of an inbound.
 *
 * Who has to change the settings of a bound listener combines `listenTcp` and `createAcceptor`.
 *
 * @throws {BindError} when nothing could be bound.
 */
export async function listen(
  spec: ListenSpec,
  stream: InboundStreamSpec | undefined,
  onCarrier: (carrier: Carrier) => void,
  deps: StreamDeps,
): Promise<Listener> {
  const acceptor = createAcceptor(stream, onCarrier, deps);
  const listener = await listenTcp(spec, {
    onConnection: (connection) => acceptor.accept(connection),
  });
  return {
    address: listener.address,
    endpoint: listener.endpoint,
    async close() {
      await listener.close();
      acceptor.close();
    },
  };
}
