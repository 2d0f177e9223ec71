import { MuxCarrier } from '../mux/mux-carrier.ts';
import type { ByteLink } from '../net/link.ts';
import { carryStream } from './carry-stream.ts';
import type { InboundContext, Origin } from './contract.ts';

/**
 * Serves a Mux.Cool connection to its end: each of its flows is a flow of its own, with the origin
 * of the carrier, its session included.
 *
 * @throws {ProtocolError} when the client does not speak Mux.Cool.
 */
export function serveMux(link: ByteLink, origin: Origin, context: InboundContext): Promise<void> {
  const carrier = new MuxCarrier(
    link,
    {
      stream: (stream, destination) => carryStream(stream, { origin, destination }, context),
      packets: (client) => context.dispatcher.packets({ origin, client }),
    },
    context.clock,
  );
  return carrier.run();
}
