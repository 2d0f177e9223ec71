import { same, type KeyTable } from '../verdicts.ts';
import {
  ALPN,
  BANDWIDTH,
  ECH,
  FINGERPRINT,
  FRAGMENT,
  MULTIPLEX,
  TUNING,
  VERIFIED_NAME,
} from './reasons.ts';

/**
 * Parameters of share links, and keys of v2rayN's JSON, that are not carried over
 * (XTLS/Xray-core discussion 716; v2rayN's wiki; hysteria's URI scheme).
 */
export const LINK_KEYS: KeyTable = {
  fp: FINGERPRINT,
  alpn: ALPN,
  ech: ECH,
  vcn: VERIFIED_NAME,
  // Read only with TLS.
  pcs: same(),
  pinSHA256: same(),
  fragment: FRAGMENT,
  mux: MULTIPLEX,
  // Parameters of REALITY, which is refused as such, and of unused transports.
  pbk: same(),
  sid: same(),
  spx: same(),
  pqv: same(),
  mode: same((value) => value === 'gun'),
  headerType: same(),
  seed: same(),
  quicSecurity: same(),
  key: same(),
  extra: same(),
  // The encoding of UDP, which Weir sends in a separate stream.
  packetEncoding: same(),
  udp: same(),
  group: same(),
  remarks: same(),
  up: BANDWIDTH,
  down: BANDWIDTH,
  upmbps: BANDWIDTH,
  downmbps: BANDWIDTH,
  fastopen: TUNING,
  tfo: TUNING,
  v: same(),
  ps: same(),
};
