import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readForeign } from '../../../src/import/document.ts';
import type { Address } from '../../../../../test/support/data/address.ts';
import { certificate } from '../../../../../test/support/ways/certificate.ts';
import { rayOut } from '../../../../../test/support/ways/ray.ts';
import { singBoxOut } from '../../../../../test/support/ways/sing-box.ts';
import { CARRIERS, wayTitle, type Way } from '../../../../../test/support/ways/way.ts';
import { weirOut } from '../../../../../test/support/ways/weir-config.ts';
import { specOf, textOf } from '../../../../../test/support/import/support.ts';
import '../../../../../test/support/import/load-forms.ts';

/*
 * The interop suite runs these configurations of Xray and sing-box against Weir: what is imported from
 * them has to be what Weir's own configuration of the same way is.
 */

const SERVER: Address = { host: '127.0.0.1', port: 4321 };

const WAYS: readonly Way[] = [
  ...(['trojan', 'vless'] as const).flatMap((protocol) =>
    CARRIERS.map((carrier): Way => ({ protocol, carrier })),
  ),
  ...['aes-128-gcm', 'chacha20-poly1305'].flatMap((cipher) =>
    CARRIERS.map((carrier): Way => ({ protocol: 'vmess', cipher, carrier })),
  ),
  ...['aes-256-gcm', '2022-blake3-aes-128-gcm'].map((cipher): Way => ({
    protocol: 'shadowsocks',
    cipher,
  })),
  { protocol: 'shadowsocks', cipher: '2022-blake3-aes-128-gcm', users: true },
  { protocol: 'socks', login: true },
  { protocol: 'http', login: true, carrier: { network: 'tcp', tls: true } },
];
const HYSTERIA2: readonly Way[] = [
  { protocol: 'hysteria2' },
  { protocol: 'hysteria2', obfuscated: true },
];

/** The authority by the name of its file, in place of its text. */
function withCaFile(outbound: object): object {
  const text = JSON.stringify(outbound, (key, value: unknown) =>
    key === 'certificates' ? [{ usage: 'verify', certificateFile: certificate().caFile }] : value,
  );
  return JSON.parse(text) as object;
}

async function importsLike(way: Way, document: object): Promise<void> {
  const { entries } = readForeign(JSON.stringify(document));
  assert.deepEqual(await specOf(textOf(entries)), await specOf(weirOut(way, SERVER)));
}

describe('an outbound of Xray', () => {
  for (const way of WAYS) {
    test(`${wayTitle(way)} is imported`, () =>
      importsLike(way, { outbounds: [withCaFile(rayOut(way, SERVER))] }));
  }
});

describe('an outbound of sing-box', () => {
  for (const way of [...WAYS, ...HYSTERIA2]) {
    test(`${wayTitle(way)} is imported`, () =>
      importsLike(way, { outbounds: [singBoxOut(way, SERVER)] }));
  }
});
