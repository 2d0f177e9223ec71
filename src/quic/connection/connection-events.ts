import type { IpEndpoint } from '../../ip/ip-endpoint.ts';
import type { CloseReason } from '../contract.ts';
import type { StreamEvent } from '../streams/stream-events.ts';

/** What happened on a connection, for its driver: `Connection.nextEvent` returns one after the other. */
export type ConnectionEvent =
  | StreamEvent
  /** The handshake is complete (RFC 9001 §4.1.1): streams and datagrams may be used, the peer is authentic. */
  | { readonly kind: 'established' }
  /**
   * The handshake is confirmed (§4.1.2). From now on the peer uses only ids that were issued to it: a
   * server's endpoint forgets the id that the client had made up.
   */
  | { readonly kind: 'confirmed' }
  /** A received DATAGRAM frame; the handler owns its bytes. */
  | { readonly kind: 'datagram'; readonly data: Uint8Array }
  /** The peer uses another address, which is validated (RFC 9000 §9). */
  | { readonly kind: 'migrated'; readonly remote: IpEndpoint }
  /** A token for the client's next connection to this server (§8.1.3). */
  | { readonly kind: 'token'; readonly token: Uint8Array }
  /** The connection has ended for the application; it answers stray packets for a while yet. */
  | { readonly kind: 'closed'; readonly reason: CloseReason }
  /** The last event: there is nothing to send or to receive any more (§10.2), forget the connection. */
  | { readonly kind: 'drained' };
