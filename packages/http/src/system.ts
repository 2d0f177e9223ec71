/** The needs of HTTP, by what this machine has: time, and links over sockets of Node, TLS included. */
export { SystemRandomSource } from '@weir/base/random';
export { selfSigned } from '@weir/crypto/self-signed';
export type { ByteLink } from '@weir/io/links';
export { SocketLink } from '@weir/io/sockets';
export { type Clock, systemClock } from '@weir/io/time';
