import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type SharedServer, ShareError } from '@weir/proxy/protocols/forms';
import { shareLink } from '../../../src/share/forms.ts';
import {
  BARE,
  type FlatAccess,
  ID,
  serverWith,
  VERIFIED,
} from '../../../../../test/support/share/servers.ts';
import '../../../../../test/support/import/load-forms.ts';

const TLS = { tls: VERIFIED, carrier: { kind: 'raw' } } as const;
const INSECURE = { ...VERIFIED, insecure: true };
const PINNED = { ...VERIFIED, certificate: { pem: '', sha256: 'ab'.repeat(32) } };
const PIN = PINNED.certificate.sha256;
const WS = { kind: 'ws', path: '/a b?x=1', host: 'cdn.example' } as const;
const GRPC = { kind: 'grpc', serviceName: 'Gun', authority: undefined } as const;

const vmessOf = (link: string): unknown =>
  JSON.parse(Buffer.from(link.slice('vmess://'.length), 'base64').toString());

describe('the share link', () => {
  for (const [what, server, link] of [
    [
      'of VLESS over TCP',
      serverWith({ protocol: 'vless', id: ID, stream: BARE }),
      `vless://${ID}@proxy.example.com:443?encryption=none&security=none&type=tcp#n`,
    ],
    [
      'of VLESS over TLS, to an IPv6 address, with a name in other scripts',
      serverWith(
        { protocol: 'vless', id: ID, stream: TLS },
        { host: '2001:db8::1', name: '東京 1' },
      ),
      `vless://${ID}@[2001:db8::1]:443?encryption=none&security=tls&sni=proxy.example.com&type=tcp#%E6%9D%B1%E4%BA%AC%201`,
    ],
    [
      'of VLESS over WebSocket',
      serverWith({ protocol: 'vless', id: ID, stream: { tls: INSECURE, carrier: WS } }),
      `vless://${ID}@proxy.example.com:443?encryption=none&security=tls&sni=proxy.example.com&allowInsecure=1&type=ws&path=%2Fa%20b%3Fx%3D1&host=cdn.example#n`,
    ],
    [
      'of Trojan over gRPC',
      serverWith({
        protocol: 'trojan',
        password: "a:b@c/?#'%",
        stream: { tls: VERIFIED, carrier: GRPC },
      }),
      'trojan://a%3Ab%40c%2F%3F%23%27%25@proxy.example.com:443?security=tls&sni=proxy.example.com&type=grpc&serviceName=Gun&mode=gun#n',
    ],
    [
      'of a server whose certificate is verified for its address, which is no SNI',
      serverWith(
        {
          protocol: 'trojan',
          password: 'p',
          stream: { ...TLS, tls: { ...VERIFIED, serverName: '192.0.2.1' } },
        },
        { host: '192.0.2.1' },
      ),
      'trojan://p@192.0.2.1:443?security=tls&type=tcp#n',
    ],
    [
      'of Shadowsocks with a password',
      serverWith({ protocol: 'shadowsocks', method: 'aes-256-gcm', password: '>>>???' }),
      'ss://YWVzLTI1Ni1nY206Pj4-Pz8_@proxy.example.com:443#n',
    ],
    [
      'of Shadowsocks 2022 with two keys',
      serverWith({
        protocol: 'shadowsocks',
        method: '2022-blake3-aes-128-gcm',
        password: 'YQ==:Yg+/',
      }),
      'ss://2022-blake3-aes-128-gcm:YQ%3D%3D%3AYg%2B%2F@proxy.example.com:443#n',
    ],
    [
      'of Hysteria 2',
      serverWith({
        protocol: 'hysteria2',
        auth: 'ann:p:q @',
        tls: INSECURE,
        obfuscation: 'cry & cry',
      }),
      'hysteria2://ann:p%3Aq%20%40@proxy.example.com:443/?sni=proxy.example.com&insecure=1&obfs=salamander&obfs-password=cry%20%26%20cry#n',
    ],
    [
      'of VLESS to a certificate that no authority vouches for',
      serverWith({ protocol: 'vless', id: ID, stream: { ...TLS, tls: PINNED } }),
      `vless://${ID}@proxy.example.com:443?encryption=none&security=tls&sni=proxy.example.com&pcs=${PIN}&type=tcp#n`,
    ],
    [
      'of Trojan to such a certificate, of which any is accepted',
      serverWith({
        protocol: 'trojan',
        password: 'p',
        stream: { ...TLS, tls: { ...PINNED, insecure: true } },
      }),
      'trojan://p@proxy.example.com:443?security=tls&sni=proxy.example.com&allowInsecure=1&type=tcp#n',
    ],
    [
      'of VMess to such a certificate, which has a place in the form of VLESS alone',
      serverWith({ protocol: 'vmess', id: ID, stream: { tls: PINNED, carrier: GRPC } }),
      `vmess://${ID}@proxy.example.com:443?encryption=aes-128-gcm&security=tls&sni=proxy.example.com&pcs=${PIN}&type=grpc&serviceName=Gun&mode=gun#n`,
    ],
    [
      'of Hysteria 2 to such a certificate, whose hash hysteria compares beside the chain',
      serverWith({ protocol: 'hysteria2', auth: 'p', tls: PINNED, obfuscation: undefined }),
      `hysteria2://p@proxy.example.com:443/?sni=proxy.example.com&insecure=1&pinSHA256=${PIN}#n`,
    ],
    [
      'of HTTP to such a certificate, which has no place in it',
      serverWith({ protocol: 'http', login: undefined, stream: { ...TLS, tls: PINNED } }),
      'https://proxy.example.com:443?sni=proxy.example.com#n',
    ],
    [
      'of an address behind the Host of a WebSocket, which clients would take for the name',
      serverWith(
        {
          protocol: 'trojan',
          password: 'p',
          stream: { tls: { ...VERIFIED, serverName: '192.0.2.1' }, carrier: { ...WS, path: '/' } },
        },
        { host: '192.0.2.1' },
      ),
      'trojan://p@192.0.2.1:443?security=tls&sni=192.0.2.1&type=ws&path=%2F&host=cdn.example#n',
    ],
    [
      'of SOCKS with a login',
      serverWith({ protocol: 'socks', login: { user: 'ann', pass: 'p:q' } }),
      'socks://YW5uOnA6cQ==@proxy.example.com:443#n',
    ],
    [
      'of SOCKS with a login whose base64 has a slash',
      serverWith({ protocol: 'socks', login: { user: '   ', pass: ' ?' } }),
      'socks://ICAgOiA_@proxy.example.com:443#n',
    ],
    [
      'of SOCKS without one',
      serverWith({ protocol: 'socks', login: undefined }),
      'socks://proxy.example.com:443#n',
    ],
    [
      'of HTTP over TLS',
      serverWith({ protocol: 'http', login: { user: 'a@b', pass: 'c/d' }, stream: TLS }),
      'https://a%40b:c%2Fd@proxy.example.com:443?sni=proxy.example.com#n',
    ],
  ] satisfies readonly (readonly [string, SharedServer, string])[]) {
    test(what, () => assert.equal(shareLink(server), link));
  }

  test("of VMess is v2rayN's JSON, all values as text", () => {
    const server = serverWith({
      protocol: 'vmess',
      id: ID,
      stream: { tls: VERIFIED, carrier: WS },
    });
    assert.deepEqual(vmessOf(shareLink(server)), {
      v: '2',
      ps: 'n',
      add: 'proxy.example.com',
      port: '443',
      id: ID,
      aid: '0',
      scy: 'aes-128-gcm',
      net: 'ws',
      type: 'none',
      host: 'cdn.example',
      path: '/a b?x=1',
      tls: 'tls',
      sni: 'proxy.example.com',
      alpn: '',
      fp: '',
    });
  });

  test('of VMess over gRPC has the service as its path', () => {
    const stream = { tls: undefined, carrier: { ...GRPC, authority: '[2001:db8::1]' } };
    const link = vmessOf(shareLink(serverWith({ protocol: 'vmess', id: ID, stream })));
    const { net, type, path, tls, authority } = link as Record<string, string>;
    assert.deepEqual(
      [net, type, path, tls, authority],
      ['grpc', 'gun', 'Gun', '', '[2001:db8::1]'],
    );
  });

  test('is one word in any shell: nothing but unreserved characters and delimiters', () => {
    const printable = Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)).join('');
    const link = shareLink(serverWith({ protocol: 'trojan', password: printable, stream: TLS }));
    assert.match(link, /^trojan:\/\/[A-Za-z0-9._~%-]+@[^\s'"()*!]+$/);
  });

  for (const [why, access] of [
    ['an empty Trojan password', { protocol: 'trojan', password: '', stream: TLS }],
    ['a SOCKS user with a colon', { protocol: 'socks', login: { user: 'a:b', pass: '' } }],
    [
      'HTTP over WebSocket',
      { protocol: 'http', login: undefined, stream: { tls: undefined, carrier: WS } },
    ],
  ] satisfies readonly (readonly [string, FlatAccess])[]) {
    test(`has no form for ${why}`, () => {
      assert.throws(() => shareLink(serverWith(access)), ShareError);
    });
  }
});
