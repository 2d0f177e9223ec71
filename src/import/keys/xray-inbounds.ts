import { dropped, refused, same, type KeyTable } from '../verdicts.ts';
import { ALPN, CLIENT_CERTIFICATE, ECH, HEADERS, SOURCE, TLS_VERSIONS, TUNING } from './reasons.ts';
import { STREAM_KEYS } from './xray-stream.ts';

const LABEL = same();
const FALLBACK = dropped('connections of others than users are closed');
const SNIFFED = dropped('TLS and HTTP are sniffed, in flows to addresses');
const PROXY_PROTOCOL = refused('the PROXY protocol is not supported');

/** Keys of Xray's inbounds (`infra/conf/*.go`, 2323273) that are not carried over. */
export const XRAY_INBOUND_KEYS: KeyTable = {
  allocate: dropped('ports do not change'),
  'settings.userLevel': LABEL,
  'settings.level': LABEL,
  'settings.email': LABEL,
  'settings.timeout': TUNING,
  'settings.default': LABEL,
  'settings.detour': dropped('clients are not sent to another port'),
  'settings.disableInsecureEncryption': same(),
  'settings.fallbacks': FALLBACK,
  'settings.testseed': TUNING,
  'settings.desc': same(),
  'settings.dns': dropped('name servers are not set: see docs/tun.md'),
  'settings.autoSystemRoutingTable': dropped('write the networks as `routes`'),
  'settings.autoOutboundsInterface': same(),

  'sniffing.destOverride': SNIFFED,
  'sniffing.domainsExcluded': SNIFFED,
  'sniffing.ipsExcluded': SNIFFED,
  'sniffing.metadataOnly': SNIFFED,

  'streamSettings.address': same(),
  'streamSettings.port': same(),
  'streamSettings.finalmask': refused('masks of the transport are not supported'),
  'streamSettings.realitySettings': same(),
  'streamSettings.tlsSettings.serverName': same(),
  'streamSettings.tlsSettings.allowInsecure': same(),
  'streamSettings.tlsSettings.alpn': ALPN,
  'streamSettings.tlsSettings.enableSessionResumption': same(),
  'streamSettings.tlsSettings.disableSystemRoot': same(),
  'streamSettings.tlsSettings.minVersion': TLS_VERSIONS,
  'streamSettings.tlsSettings.maxVersion': TLS_VERSIONS,
  'streamSettings.tlsSettings.cipherSuites': TLS_VERSIONS,
  'streamSettings.tlsSettings.curvePreferences': TLS_VERSIONS,
  'streamSettings.tlsSettings.fingerprint': same(),
  'streamSettings.tlsSettings.rejectUnknownSni': dropped('clients may ask for any name'),
  'streamSettings.tlsSettings.masterKeyLog': dropped('keys are never written to a file'),
  'streamSettings.tlsSettings.verifyPeerCertByName': CLIENT_CERTIFICATE,
  'streamSettings.tlsSettings.verifyPeerCertInNames': CLIENT_CERTIFICATE,
  'streamSettings.tlsSettings.pinnedPeerCertSha256': CLIENT_CERTIFICATE,
  'streamSettings.tlsSettings.pinnedPeerCertificateChainSha256': CLIENT_CERTIFICATE,
  'streamSettings.tlsSettings.pinnedPeerCertificatePublicKeySha256': CLIENT_CERTIFICATE,
  'streamSettings.tlsSettings.echConfigList': same(),
  'streamSettings.tlsSettings.echServerKeys': ECH,
  'streamSettings.tlsSettings.echForceQuery': same(),
  'streamSettings.tlsSettings.echSockopt': same(),
  'streamSettings.tcpSettings.acceptProxyProtocol': PROXY_PROTOCOL,
  'streamSettings.rawSettings.acceptProxyProtocol': PROXY_PROTOCOL,
  'streamSettings.wsSettings.acceptProxyProtocol': PROXY_PROTOCOL,
  'streamSettings.wsSettings.headers.*': HEADERS,
  'streamSettings.wsSettings.heartbeatPeriod': TUNING,
  'streamSettings.grpcSettings.authority': same(),
  'streamSettings.grpcSettings.multiMode': same(),
  ...STREAM_KEYS,

  'streamSettings.sockopt.acceptProxyProtocol': PROXY_PROTOCOL,
  'streamSettings.sockopt.tproxy': refused(
    'a transparent proxy is not supported; write an inbound `tun`',
  ),
  'streamSettings.sockopt.mark': SOURCE,
  'streamSettings.sockopt.interface': SOURCE,
  'streamSettings.sockopt.V6Only': SOURCE,
  'streamSettings.sockopt.v6only': SOURCE,
  'streamSettings.sockopt.trustedXForwardedFor': dropped(
    "a client's address is that of its connection",
  ),
  'streamSettings.sockopt.*': TUNING,
};

/** Keys of users of Xray's inbounds that are not carried over. */
export const XRAY_USER_KEYS: KeyTable = {
  level: LABEL,
  security: LABEL,
  seed: refused('VLESS with a seed is not supported'),
  reverse: refused('a reverse proxy is not supported'),
  encryption: LABEL,
  experiments: LABEL,
  testpre: TUNING,
  testseed: TUNING,
};
