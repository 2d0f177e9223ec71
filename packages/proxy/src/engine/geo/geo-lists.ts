import { NetworkListBuilder } from '../router/tables/network-list.ts';
import { GeoFileError, type GeoipList } from './geo-data.ts';
import { WireReader } from './wire-reader.ts';
import { type DomainList, NameListBuilder } from '../router/tables/domain-list.ts';

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

/** Reads one network. @throws {GeoFileError} for an invalid one */
export function readNetwork(reader: WireReader): {
  readonly address: Uint8Array;
  readonly prefix: number;
} {
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

// GeoSite, Domain and Domain.Attribute of v2ray's `routercommon/common.proto`.
export const SITE_DOMAIN = 2;
/** The field in which newer generators repeat the code. */
export const SITE_CODE = 4;
const DOMAIN_TYPE = 1;
const DOMAIN_VALUE = 2;
const DOMAIN_ATTRIBUTE = 3;
const ATTRIBUTE_KEY = 1;

export const PLAIN = 0;
export const REGEX = 1;
export const ROOT_DOMAIN = 2;
export const FULL = 3;

/**
 * Reads the domains of one GeoSite message into one list for each attribute: all domains for `undefined`, otherwise
 * those with the attribute (in lower case), whatever its value.
 *
 * @throws {GeoFileError} for an invalid message
 */
export function readGeosite(
  message: Uint8Array,
  attributes: Iterable<string | undefined>,
): Map<string | undefined, DomainList> {
  const lists = Array.from(new Set(attributes), (attribute) => ({
    attribute,
    domains: new DomainCollector(),
  }));
  const carried: string[] = [];
  const site = new WireReader(message);
  while (site.next()) {
    if (site.field !== SITE_DOMAIN) continue;
    const domain = readDomain(site.message(), carried);
    for (const { attribute, domains } of lists) {
      if (attribute === undefined || carried.includes(attribute)) domains.add(domain);
    }
  }
  return new Map(lists.map(({ attribute, domains }) => [attribute, domains.build()]));
}

/** A domain as stored in the file. */
export interface GeositeDomain {
  readonly type: number;
  readonly value: Uint8Array;
}

/** Reads one domain. @param carried set to the domain's attributes */
export function readDomain(reader: WireReader, carried: string[]): GeositeDomain {
  let type = PLAIN;
  let value: Uint8Array = new Uint8Array(0);
  carried.length = 0;
  while (reader.next()) {
    if (reader.field === DOMAIN_TYPE) type = reader.number();
    else if (reader.field === DOMAIN_VALUE) value = reader.content();
    else if (reader.field === DOMAIN_ATTRIBUTE) {
      const attribute = reader.message();
      while (attribute.next()) {
        if (attribute.field === ATTRIBUTE_KEY) carried.push(attribute.text().toLowerCase());
      }
    }
  }
  return { type, value };
}

class DomainCollector {
  readonly #suffix = new NameListBuilder();
  readonly #full = new NameListBuilder();
  readonly #keyword: string[] = [];
  readonly #regex: string[] = [];

  add({ type, value }: GeositeDomain): void {
    if (type === ROOT_DOMAIN) this.#suffix.add(value);
    else if (type === FULL) this.#full.add(value);
    else if (type === PLAIN) this.#keyword.push(Buffer.from(value).toString().toLowerCase());
    else if (type === REGEX) this.#regex.push(Buffer.from(value).toString());
    else throw new GeoFileError(`a domain has the unknown type ${type}`);
  }

  build(): DomainList {
    return {
      suffix: this.#suffix.build(),
      full: this.#full.build(),
      keyword: this.#keyword,
      regex: this.#regex,
    };
  }
}
