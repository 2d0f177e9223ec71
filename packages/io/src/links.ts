/** Streams and packets: their contracts, and links around links. */
export { BoundedReader } from './net/links/bounded-reader.ts';
export { closeGracefully } from './net/links/close-gracefully.ts';
export { endInTurns, turnToEnd } from './net/links/ended-flows.ts';
export { LinkWatch, onClosed, type WatchResult } from './net/links/link-watch.ts';
export {
  type ByteLink,
  type Carrier,
  MORE,
  OWNED,
  type Packet,
  type PacketLink,
  type ReplyPath,
  type Unreachable,
  type WireCounter,
} from './net/links/link.ts';
export { linkPair } from './net/links/memory-link.ts';
export { ReadQueue } from './net/links/read-queue.ts';
export { relay, type RelayEnd } from './net/links/relay.ts';
export { asSole, freeChunk, joined, ownChunk, strip } from './net/links/spent-chunk.ts';
export { ClosablePackets, QueuedPackets } from './net/packets/packet-queue.ts';
export { ReceivingPackets } from './net/packets/receiving-packets.ts';
