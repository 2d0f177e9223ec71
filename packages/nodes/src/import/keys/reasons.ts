/* Verdicts for features that several programs have under different names. */

/** A server that is reached through another server. */
export const CHAINED =
  'the connection to this server goes through another one, which Weir cannot do; without that the server would see your own address';
export const ECH =
  'encrypted ClientHello is not supported; the name of the server would be visible on the way';
export const CLIENT_CERTIFICATE = 'certificates of the client are not supported';
export const PINNED =
  'a certificate cannot be pinned by its hash; write it, or its CA, to a PEM file, and name that as `ca_file`';
export const VERIFIED_NAME = 'the name that is verified is the one that is sent, server_name';
export const MULTIPLEX = 'each flow has a connection of its own';
export const UDP_OVER_TCP = "UDP goes as the protocol's own datagrams";
export const FINGERPRINT = 'the TLS handshake is that of OpenSSL, not of a browser';
export const FRAGMENT = 'the TLS handshake is sent in one piece';
export const BANDWIDTH = 'no rate is stated; congestion control finds it';
export const ALPN = 'Weir offers what the transport needs';
export const SOURCE = 'connections leave by the routes of the system';
export const TUNING = 'Weir has no setting for it';
export const TLS_VERSIONS = 'TLS 1.2 and 1.3 are used, with the ciphers of OpenSSL';
export const NO_RESOLVER = 'names are resolved by [dns]';
export const OTHER_API = 'the API of Weir is another one, in [api]';
export const HEADERS = 'no further HTTP headers are sent';

/** A restriction to one network; Weir's outbounds carry both. */
export const ONE_NETWORK = 'flows of every network are sent; limit them by `network` in a rule';

/** A server that accepts multiplexed connections. */
export const SERVER_MULTIPLEX = 'clients have to switch multiplexing off';
