import { NetworkListBuilder } from '../router/tables/network-list.ts';
import { GeoFileError, type GeoipList } from './geo-data.ts';
import { WireReader } from './wire-reader.ts';

// GeoIP and CIDR of v2ray's `routercommon/common.proto`.
export const GEOIP_CIDR = 2;
export const GEOIP_INVERSE = 3;
/** The field in which newer generators repeat the code. */
export const GEOIP_CODE = 5;
const CIDR_IP = 1;
const CIDR_PREFIX = 2;

/**
 * Reads the networks of one GeoIP message.
 * @throws {GeoFileError} for an invalid message
 */
export function readGeoip(message: Uint8Array): GeoipList {
  const networks = new NetworkListBuilder();
  let inverse = false;
  const list = new WireReader(message);
  while (list.next()) {
    if (list.field === GEOIP_CIDR) {
      const { address, prefix } = readNetwork(list.message());
      networks.add(address, prefix);
    } else if (list.field === GEOIP_INVERSE) inverse = list.number() !== 0;
  }
  return { networks: networks.build(), inverse };
}

/** A network as stored in the file. */
interface GeoipNetwork {
  readonly address: Uint8Array;
  readonly prefix: number;
}

/** Reads one network. @throws {GeoFileError} for an invalid one */
export function readNetwork(reader: WireReader): GeoipNetwork {
  let address: Uint8Array = new Uint8Array(0);
  let prefix = 0;
  while (reader.next()) {
    if (reader.field === CIDR_IP) address = reader.content();
    else if (reader.field === CIDR_PREFIX) prefix = reader.number();
  }
  if (address.length !== 4 && address.length !== 16) {
    throw new GeoFileError(`a network has an address of ${address.length} bytes`);
  }
  if (prefix > address.length * 8) {
    throw new GeoFileError(`a network of ${address.length} bytes has a prefix of ${prefix} bits`);
  }
  return { address, prefix };
}
