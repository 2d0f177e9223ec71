/** Streams and packets: their contracts, and links around links. */
export { BoundedReader } from './net/links/bounded-reader.ts';
export { closeGracefully, LinkWatch, onClosed, type WatchResult } from './net/links/closing.ts';
export { endInTurns, relay, type RelayEnd, turnToEnd } from './net/links/relay.ts';
export {
  type ByteGate,
  type ByteLink,
  type Carrier,
  type GateWaiter,
  MORE,
  OWNED,
  type Packet,
  type PacketLink,
  type ReplyPath,
  type Unreachable,
  type WireCounter,
} from './net/links/link.ts';
export { linkPair } from './net/links/memory-link.ts';
export { packetPair } from './net/packets/memory-packets.ts';
export { asSole, freeChunk, joined, ownChunk, ReadQueue, strip } from './net/links/read-queue.ts';
export { ClosablePackets, QueuedPackets, ReceivingPackets } from './net/packets/packets.ts';
