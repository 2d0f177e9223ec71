import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { normalizeHost } from '@weir/io/addresses';
import type {
  SharedAccess,
  SharedCarrier,
  SharedServer,
  SharedTls,
} from '@weir/proxy/protocols/forms';
import { draftOf } from '../../../src/share/forms.ts';
import { outboundText } from '../../../src/import/write/tables.ts';
import type { SharedStream } from '../../../../proxy/src/protocols/forms/shared-server.ts';
import { specOf } from '../../../../../test/support/import/support.ts';
import { comparable, FORMS, onlyDraft } from '../../../../../test/support/share/forms.ts';
import { accessOf, type FlatAccess } from '../../../../../test/support/share/servers.ts';
import { CODE_POINT } from '../../../../../test/support/data/code-point.ts';

const charactersOf = (text: string): string[] => text.split('');

/** Unicode of every plane; control characters as well. */
const anyText = fc.string({ unit: CODE_POINT, minLength: 1, maxLength: 30, size: 'max' });
const ascii = fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 40, size: 'max' });
const host = fc.oneof(
  fc.constantFrom('proxy.example.com', 'xn--1lqs71d.example', '192.0.2.1'),
  fc.ipV6().map((address) => normalizeHost(address) ?? '2001:db8::1'),
);
const path = fc
  .string({ unit: fc.constantFrom(...charactersOf("/abcXYZ019._~!$&'()*+,;=:@%-")), maxLength: 20 })
  .map((rest) => `/${rest}`)
  .filter((text) => !/[?&]ed=/.test(text));
const carrier: fc.Arbitrary<SharedCarrier> = fc.oneof(
  fc.constant({ kind: 'raw' } as const),
  fc.record({
    kind: fc.constant('ws' as const),
    path,
    host: fc.constantFrom(undefined, 'cdn.example', '[2001:db8::1]'),
  }),
  fc.record({
    kind: fc.constant('grpc' as const),
    serviceName: fc.string({
      unit: fc.constantFrom(...charactersOf('abcXYZ019._-+&= %')),
      minLength: 1,
    }),
    authority: fc.constantFrom(undefined, '[2001:db8::1]'),
  }),
);
const id = fc.uuid();
const obfuscation = fc.option(
  ascii.filter((text) => text.length >= 4),
  { nil: undefined },
);
const login = fc.option(
  fc.record({ user: ascii.filter((text) => !text.includes(':')), pass: ascii }),
  { nil: undefined },
);
const legacy = fc.constantFrom('aes-128-gcm', 'aes-256-gcm', 'chacha20-ietf-poly1305');
const key = fc.uint8Array({ minLength: 16, maxLength: 16 }).map((bytes) => bytes.toBase64());

/** @param address the server, whose name is sent or verified */
function accessTo(address: string): fc.Arbitrary<SharedAccess> {
  const tls: fc.Arbitrary<SharedTls> = fc.record({
    serverName: fc.constantFrom('sni.example', address),
    insecure: fc.boolean(),
    certificate: fc.constant(undefined),
  });
  const stream: fc.Arbitrary<SharedStream> = fc.record({
    tls: fc.option(tls, { nil: undefined }),
    carrier,
  });
  const flat: fc.Arbitrary<FlatAccess> = fc.oneof(
    fc.record({ protocol: fc.constant('vless' as const), id, stream }),
    fc.record({ protocol: fc.constant('vmess' as const), id, stream }),
    fc.record({ protocol: fc.constant('trojan' as const), password: anyText, stream }),
    fc.record({ protocol: fc.constant('shadowsocks' as const), method: legacy, password: anyText }),
    fc.record({
      protocol: fc.constant('shadowsocks' as const),
      method: fc.constant('2022-blake3-aes-128-gcm'),
      password: fc.oneof(
        key,
        fc.tuple(key, key).map((keys) => keys.join(':')),
      ),
    }),
    fc.record({ protocol: fc.constant('hysteria2' as const), auth: ascii, tls, obfuscation }),
    fc.record({ protocol: fc.constant('socks' as const), login }),
    fc.record({ protocol: fc.constant('http' as const), login, stream }),
  );
  return flat.map(accessOf);
}

const server: fc.Arbitrary<SharedServer> = host.chain((address) =>
  fc.record({
    name: anyText,
    host: fc.constant(address),
    port: fc.integer({ min: 1, max: 65_535 }),
    access: accessTo(address),
  }),
);

describe('what is shared as', () => {
  for (const [form, { write, lacks }] of Object.entries(FORMS)) {
    test(`${form} is imported as the same outbound`, async () => {
      await fc.assert(
        fc.asyncProperty(
          server.filter((each) => !lacks(each)),
          async (shared) => {
            const draft = onlyDraft(write(shared));
            assert.equal(draft.name, shared.name);
            const [imported, written] = await Promise.all([
              specOf(outboundText('out', draft)),
              specOf(outboundText('out', draftOf(shared, undefined))),
            ]);
            assert.ok(written);
            assert.deepEqual(comparable(imported, form), comparable(written, form));
          },
        ),
        { numRuns: 60 },
      );
    });
  }
});
