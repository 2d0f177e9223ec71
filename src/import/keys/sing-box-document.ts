import { dropped, same, type KeyTable } from '../verdicts.ts';
import { OTHER_API, SOURCE } from './reasons.ts';

const NO_PLACE = dropped('Weir has nothing for it');
const CACHE = dropped('answers are always kept as long as they say');

/** Keys of a sing-box configuration outside its lists (`option/*.go`, 7df171f) that are not carried over. */
export const SING_BOX_DOCUMENT_KEYS: KeyTable = {
  $schema: same(),
  'log.output': dropped('the log goes to standard error; see docs/service.md'),
  'log.timestamp': same(),
  ntp: dropped("the system's clock is used; VMess needs it right within two minutes"),
  certificate: dropped("the system's authorities are trusted; write `ca_file` for others"),
  services: NO_PLACE,
  'experimental.*': OTHER_API,
  'experimental.cache_file': dropped(
    'picks are kept in the configuration; answers of DNS are not kept',
  ),
  'experimental.clash_api.*': OTHER_API,

  'route.geoip': dropped('name a file of v2ray as `route.geoip`'),
  'route.geosite': dropped('name a file of v2ray as `route.geosite`'),
  'route.find_process': dropped('Weir does not know which program a flow comes from'),
  'route.find_neighbor': dropped('Weir does not know which device a flow comes from'),
  'route.dhcp_lease_files': dropped('Weir does not know which device a flow comes from'),
  // Weir's own connections never go through its TUN devices.
  'route.auto_detect_interface': same(),
  'route.override_android_vpn': same(),
  'route.default_interface': SOURCE,
  'route.default_mark': SOURCE,
  'route.default_network_strategy': SOURCE,
  'route.default_network_type': SOURCE,
  'route.default_fallback_network_type': SOURCE,
  'route.default_fallback_delay': SOURCE,
  'route.default_domain_resolver.strategy': dropped('write `address_family` of outbounds'),
  'route.default_domain_resolver.disable_cache': CACHE,
  'route.default_domain_resolver.rewrite_ttl': CACHE,
  'route.default_domain_resolver.client_subnet': dropped('queries carry no subnet'),

  'dns.rules': dropped('all names are resolved by one server'),
  'dns.reverse_mapping': dropped('names are sniffed, not taken from DNS'),
  'dns.strategy': dropped('write `address_family` of outbounds'),
  'dns.disable_cache': CACHE,
  'dns.disable_expire': CACHE,
  'dns.independent_cache': CACHE,
  'dns.cache_capacity': CACHE,
  'dns.client_subnet': dropped('queries carry no subnet'),
  'dns.fakeip': dropped('addresses are real; names of flows are sniffed'),
};
