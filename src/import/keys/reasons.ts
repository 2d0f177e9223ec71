import { dropped, refused } from '../verdicts.ts';

/* Verdicts for features that several programs have under different names. */

/** A server that is reached through another server. */
export const CHAINED = refused(
  'the connection to this server goes through another one, which Weir cannot do; without that the server would see your own address',
);
export const ECH = refused(
  'encrypted ClientHello is not supported; the name of the server would be visible on the way',
);
export const CLIENT_CERTIFICATE = refused('certificates of the client are not supported');
export const PINNED = refused(
  'a certificate cannot be pinned by its hash; write it, or its CA, to a PEM file, and name that as `ca_file`',
);
export const VERIFIED_NAME = dropped(
  'the name that is verified is the one that is sent, server_name',
);
export const MULTIPLEX = dropped('each flow has a connection of its own');
export const UDP_OVER_TCP = dropped("UDP goes as the protocol's own datagrams");
export const FINGERPRINT = dropped('the TLS handshake is that of OpenSSL, not of a browser');
export const FRAGMENT = dropped('the TLS handshake is sent in one piece');
export const BANDWIDTH = dropped('no rate is stated; congestion control finds it');
export const ALPN = dropped('Weir offers what the transport needs');
export const SOURCE = dropped('connections leave by the routes of the system');
export const TUNING = dropped('Weir has no setting for it');
export const TLS_VERSIONS = dropped('TLS 1.2 and 1.3 are used, with the ciphers of OpenSSL');
export const NO_RESOLVER = dropped('names are resolved by [dns]');
export const OTHER_API = dropped('the API of Weir is another one, in [api]');
export const HEADERS = dropped('no further HTTP headers are sent');

/** A restriction to one network; Weir's outbounds carry both. */
export const ONE_NETWORK = dropped(
  'flows of every network are sent; limit them by `network` in a rule',
);

/** A server that accepts multiplexed connections. */
export const SERVER_MULTIPLEX = dropped('clients have to switch multiplexing off');
