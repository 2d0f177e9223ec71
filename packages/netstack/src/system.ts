/** The needs of a stack, by what this machine has: time, random bytes, and a TUN device of Linux. */
export {
  type DeviceHandlers,
  type DeviceTraits,
  type InboundPacket,
  type PacketDevice,
  type PacketOutput,
  toEndpoint,
} from '@weir/base/ip';
export { type RandomSource, SystemRandomSource } from '@weir/base/random';
export type { ByteLink, PacketLink } from '@weir/io/links';
export { systemSockets } from '@weir/io/sockets';
export { type Clock, systemClock } from '@weir/io/time';
