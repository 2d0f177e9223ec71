/** The needs of an endpoint, by what this machine has: time, random bytes, sockets, and TLS by the OpenSSL of Node. */
export { type BindDatagrams, type DatagramSocket, toEndpoint } from '@weir/base/ip';
export { type RandomSource, SystemRandomSource } from '@weir/base/random';
export { selfSigned } from '@weir/crypto/self-signed';
export type { ByteLink } from '@weir/io/links';
export { systemSockets } from '@weir/io/sockets';
export { type Clock, systemClock } from '@weir/io/time';
export { OpenSslClientTls, OpenSslServerTls } from './openssl-tls.ts';
