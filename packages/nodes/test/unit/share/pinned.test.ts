import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type SharedTls, ShareError } from '@weir/proxy/protocols/forms';
import { clashProxy, xrayOutbound } from '../../../src/share/forms.ts';
import { serverWith, VERIFIED } from '../../../../../test/support/share/servers.ts';
import '../../../../../test/support/import/load-forms.ts';

const PINNED: SharedTls = { ...VERIFIED, certificate: { pem: '', sha256: 'ab'.repeat(32) } };
const hysteria2 = (tls: SharedTls, obfuscation?: string) =>
  serverWith({ protocol: 'hysteria2', auth: 'u:p', tls, obfuscation });

describe('a certificate that no authority vouches for', () => {
  test('is a hash with colons for mihomo, as JSON Schemas of editors want it', () => {
    const { fingerprint } = clashProxy(hysteria2(PINNED));
    assert.equal(fingerprint, `AB${':AB'.repeat(31)}`);
  });

  test('is a hash for Xray, also of Hysteria 2 where clients may accept any', () => {
    const masks = { udp: [{ type: 'salamander', settings: { password: 'cry' } }] };
    assert.deepEqual(xrayOutbound(hysteria2({ ...PINNED, insecure: true }, 'cry')), {
      tag: 'n',
      protocol: 'hysteria',
      settings: { version: 2, address: 'proxy.example.com', port: 443 },
      streamSettings: {
        network: 'hysteria',
        hysteriaSettings: { version: 2, auth: 'u:p' },
        finalmask: masks,
        security: 'tls',
        tlsSettings: {
          serverName: 'proxy.example.com',
          pinnedPeerCertSha256: PINNED.certificate?.sha256,
          alpn: ['h3'],
        },
      },
    });
  });

  test('has to be known where Xray speaks Hysteria 2, which accepts no other', () => {
    assert.throws(() => xrayOutbound(hysteria2({ ...VERIFIED, insecure: true })), ShareError);
  });
});
