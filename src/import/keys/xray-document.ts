import { dropped, refused, same, type KeyTable } from '../verdicts.ts';
import { OTHER_API } from './reasons.ts';

const NO_PLACE = dropped('Weir has nothing for it');
const CACHE = dropped('answers are always kept as long as they say');
const FAMILY = dropped('write `address_family` of outbounds');
const ONE_SERVER = dropped('all names are resolved by one server');

/** Keys of an Xray configuration outside its lists (`infra/conf/*.go`, 2323273) that are not carried over. */
export const XRAY_DOCUMENT_KEYS: KeyTable = {
  'log.access': dropped('flows are logged with the level debug'),
  'log.error': dropped('the log goes to standard error; see docs/service.md'),
  'log.dnsLog': dropped('queries are logged with the level debug'),
  'log.maskAddress': dropped('addresses are logged as they are'),
  'routing.domainMatcher': same(),
  'routing.settings': dropped('it is an older way to write `routing`; write it there'),
  transport: dropped('it is an older way to write `streamSettings`; write it there'),
  env: NO_PLACE,
  policy: dropped('time limits are those of Weir'),
  api: OTHER_API,
  metrics: OTHER_API,
  stats: OTHER_API,
  reverse: dropped('a reverse proxy is not supported'),
  fakeDns: dropped('addresses are real; names of flows are sniffed'),
  fakedns: dropped('addresses are real; names of flows are sniffed'),
  observatory: dropped('members of a balancer are tested by a connection to their server'),
  burstObservatory: dropped('members of a balancer are tested by a connection to their server'),
  version: same(),
  geodata: dropped('name the files as `route.geoip` and `route.geosite`'),
  remarks: same(),

  'dns.hosts': dropped('write the names into /etc/hosts, which the system resolver reads'),
  'dns.clientIp': dropped('queries carry no subnet'),
  'dns.tag': dropped('queries go directly, not by rules'),
  'dns.queryStrategy': FAMILY,
  'dns.disableCache': CACHE,
  'dns.serveStale': CACHE,
  'dns.serveExpiredTTL': CACHE,
  'dns.disableFallback': ONE_SERVER,
  'dns.disableFallbackIfMatch': ONE_SERVER,
  'dns.enableParallelQuery': ONE_SERVER,
  'dns.useSystemHosts': dropped('/etc/hosts is read by the system resolver alone'),
};

/** Keys of a DNS server of Xray that are not carried over. */
export const XRAY_DNS_KEYS: KeyTable = {
  clientIp: dropped('queries carry no subnet'),
  skipFallback: refused('it is for some names alone'),
  domains: refused('it is for some names alone'),
  expectedIPs: refused('it is for some answers alone'),
  expectIPs: refused('it is for some answers alone'),
  unexpectedIPs: refused('it is for some answers alone'),
  queryStrategy: FAMILY,
  tag: dropped('queries go directly, not by rules'),
  timeoutMs: dropped('Weir has no setting for it'),
  disableCache: CACHE,
  serveStale: CACHE,
  serveExpiredTTL: CACHE,
  finalQuery: same(),
};
