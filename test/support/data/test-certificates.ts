import { generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import { parseIP } from '../../../src/net/addresses/address.ts';

/** A certificate and its key as PEM text, as `node:tls` takes them. */
export interface TestCertificate {
  readonly cert: string;
  readonly key: string;
}

export interface TestCertificateOptions {
  readonly dns?: readonly string[];
  readonly ip?: readonly string[];
  readonly expired?: boolean;
}

/** A certificate authority that lives for one test: nothing has to be on disk or to be renewed. */
export class TestAuthority {
  readonly cert: string;
  readonly #name: string;
  readonly #key: KeyObject;

  constructor(name = 'Weir test authority') {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    this.#name = name;
    this.#key = privateKey;
    this.cert = this.#sign(name, publicKey, [BASIC_CONSTRAINTS_CA], false);
  }

  /** A certificate for a server with these names. */
  issue({ dns = [], ip = [], expired = false }: TestCertificateOptions): TestCertificate {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const names = [
      ...dns.map((name) => der(0x82, Buffer.from(name))),
      ...ip.map((address) => der(0x87, Buffer.from(parseIP(address) ?? []))),
    ];
    const extension = sequence(SUBJECT_ALT_NAME, der(OCTET_STRING, sequence(...names)));
    return {
      cert: this.#sign('server', publicKey, [extension], expired),
      key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    };
  }

  /** X.509 version 3 (RFC 5280 §4.1). */
  #sign(subject: string, key: KeyObject, extensions: readonly Buffer[], expired: boolean): string {
    const body = sequence(
      der(0xa0, der(INTEGER, Buffer.of(2))),
      der(INTEGER, Buffer.of(1, ++serial)),
      ECDSA_WITH_SHA256,
      commonName(this.#name),
      sequence(utcTime('200101000000Z'), utcTime(expired ? '210101000000Z' : '491231235959Z')),
      commonName(subject),
      key.export({ type: 'spki', format: 'der' }),
      der(0xa3, sequence(...extensions)),
    );
    const signature = Buffer.concat([Buffer.of(0), sign('sha256', body, this.#key)]);
    const certificate = sequence(body, ECDSA_WITH_SHA256, der(0x03, signature));
    const lines = certificate.toString('base64').match(/.{1,64}/g) ?? [];
    return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
  }
}

let serial = 0;

const INTEGER = 0x02;
const OCTET_STRING = 0x04;

/** One DER element: tag, length, content. */
function der(tag: number, ...content: readonly Buffer[]): Buffer {
  const body = Buffer.concat(content);
  const { length } = body;
  if (length < 0x80) return Buffer.concat([Buffer.of(tag, length), body]);
  const size =
    length < 0x100 ? Buffer.of(0x81, length) : Buffer.of(0x82, length >> 8, length & 0xff);
  return Buffer.concat([Buffer.of(tag), size, body]);
}

function sequence(...content: readonly Buffer[]): Buffer {
  return der(0x30, ...content);
}

const commonName = (name: string): Buffer =>
  sequence(der(0x31, sequence(hex('0603550403'), der(0x0c, Buffer.from(name)))));

const utcTime = (time: string): Buffer => der(0x17, Buffer.from(time));

function hex(text: string): Buffer {
  return Buffer.from(text, 'hex');
}

const ECDSA_WITH_SHA256 = sequence(hex('06082a8648ce3d040302'));
const SUBJECT_ALT_NAME = hex('0603551d11');
/** Critical, and a certificate authority. */
const BASIC_CONSTRAINTS_CA = sequence(
  hex('0603551d13'),
  hex('0101ff'),
  der(OCTET_STRING, sequence(hex('0101ff'))),
);
