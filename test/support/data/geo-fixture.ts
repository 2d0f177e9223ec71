/**
 * Writes geoip.dat and geosite.dat as their generators do: protobuf messages GeoIPList and
 * GeoSiteList of v2ray's `routercommon/common.proto`.
 */

export interface GeositeFixture {
  readonly code: string;
  readonly domains: readonly DomainFixture[];
}

export interface DomainFixture {
  readonly type: 'plain' | 'regex' | 'root' | 'full';
  readonly value: string;
  /** Keys; a number is written as `int_value`, anything else as `bool_value`. */
  readonly attributes?: Readonly<Record<string, boolean | number>>;
}

export interface GeoipFixture {
  readonly code: string;
  readonly networks: readonly {
    readonly ip: readonly number[] | Uint8Array;
    readonly prefix: number;
  }[];
  readonly inverse?: boolean;
}

const TYPES = { plain: 0, regex: 1, root: 2, full: 3 };

export const encodeGeosite = (sites: readonly GeositeFixture[]): Buffer =>
  Buffer.concat(sites.map((site) => field(1, encodeSite(site))));

export const encodeGeoip = (lists: readonly GeoipFixture[]): Buffer =>
  Buffer.concat(
    lists.map(({ code, networks, inverse }) =>
      field(
        1,
        Buffer.concat([
          field(1, code),
          ...networks.map(({ ip, prefix }) =>
            field(2, Buffer.concat([field(1, Buffer.from(ip)), number(2, prefix)])),
          ),
          number(3, inverse ? 1 : 0),
        ]),
      ),
    ),
  );

function encodeSite({ code, domains }: GeositeFixture): Buffer {
  const parts = domains.map(({ type, value, attributes = {} }) =>
    field(
      2,
      Buffer.concat([
        number(1, TYPES[type]),
        field(2, value),
        ...Object.entries(attributes).map(([key, set]) =>
          field(
            3,
            Buffer.concat([
              field(1, key),
              typeof set === 'number' ? number(3, set) : number(2, set ? 1 : 0),
            ]),
          ),
        ),
      ]),
    ),
  );
  return Buffer.concat([field(1, code), ...parts]);
}

/** A length-delimited field. */
export function field(number: number, content: string | Uint8Array): Buffer {
  const bytes = Buffer.from(content);
  return Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes]);
}

/** A varint field; proto3 leaves zeros out. */
export const number = (field: number, value: number): Buffer =>
  value === 0 ? Buffer.alloc(0) : Buffer.concat([varint(field * 8), varint(value)]);

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 0x7f) {
    bytes.push((rest & 0x7f) | 0x80);
    rest = Math.floor(rest / 128);
  }
  return Buffer.from([...bytes, rest]);
}
