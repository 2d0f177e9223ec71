import { ipVersion, type Endpoint } from './address.ts';

/**
 * Whether what comes from `source` may be passed on as an answer of `peer`, by a framing that
 * cannot say where a datagram comes from. Behind a name any address may answer, from its port.
 */
export const mayAnswer = (peer: Endpoint, source: Endpoint): boolean =>
  peer === source ||
  (peer.port === source.port &&
    (peer.host === source.host || (ipVersion(peer.host) === 0 && ipVersion(source.host) !== 0)));
