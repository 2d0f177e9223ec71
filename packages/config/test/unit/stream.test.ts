import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { InboundStreamSpec, OutboundStreamSpec } from '@weir/proxy/spec';
import { TestAuthority } from '../../../../test/support/data/test-certificates.ts';
import {
  fakeFiles,
  inbound,
  load,
  loadErrorOf,
  outbound,
  placeOf,
} from '../../../../test/support/config/support.ts';

const authority = new TestAuthority();
const leaf = authority.issue({ dns: ['server.test'] });
const FILES = fakeFiles({
  'cert.pem': leaf.cert,
  'key.pem': leaf.key,
  'other.pem': authority.issue({ dns: ['server.test'] }).key,
  'ca.pem': authority.cert,
  'empty.pem': '',
});

const IN = 'protocol = "http"\nport = 1\n';
const OUT = 'protocol = "http"\nserver = "proxy.example"\nport = 1\n';
const CERT = 'cert_file = "cert.pem", key_file = "key.pem"';

async function inboundStream(stream: string): Promise<InboundStreamSpec | undefined> {
  const { spec } = await load(inbound(`${IN}stream = { ${stream} }`), FILES);
  return spec.inbounds[0]?.stream;
}

async function outboundStream(
  stream: string,
  lines = OUT,
): Promise<OutboundStreamSpec | undefined> {
  const { spec } = await load(outbound(`${lines}stream = { ${stream} }`), FILES);
  return spec.outbounds[0]?.stream;
}

const TLS_SERVER = { certificates: leaf.cert, key: leaf.key };
const RAW = { kind: 'raw' } as const;

const INBOUNDS: readonly [stream: string, expected: InboundStreamSpec | undefined][] = [
  ['', undefined],
  ['network = "tcp", tls = { cert_file = "missing" }', undefined],
  [`network = "tls", tls = { ${CERT} }`, { carrier: RAW, tls: TLS_SERVER }],
  [`network = "tls", security = "none", tls = { ${CERT} }`, { carrier: RAW, tls: TLS_SERVER }],
  [
    `network = "tls", tls = { ${CERT}, ca_file = "missing", allow_insecure = true }`,
    { carrier: RAW, tls: TLS_SERVER },
  ],
  ['network = "ws"', { carrier: { kind: 'ws', path: '/', host: undefined }, tls: undefined }],
  [
    'network = "ws", ws = { path = "ray?ed=2048", host = "CDN.test:443" }',
    { carrier: { kind: 'ws', path: '/ray', host: 'cdn.test' }, tls: undefined },
  ],
  [
    'network = "ws", ws.host = "Bücher.example:443"',
    { carrier: { kind: 'ws', path: '/', host: 'xn--bcher-kva.example' }, tls: undefined },
  ],
  [
    `network = "ws", security = " tls ", ws = { path = "", host = "" }, tls = { ${CERT} }`,
    { carrier: { kind: 'ws', path: '/', host: undefined }, tls: TLS_SERVER },
  ],
  [
    'network = "grpc", grpc = { service_name = "Gun", authority = "x" }, ws = { path = "/x" }',
    { carrier: { kind: 'grpc', serviceName: 'Gun' }, tls: undefined },
  ],
];
describe('the stream of an inbound', () => {
  for (const [stream, expected] of INBOUNDS) {
    test(`{ ${stream} }`, async () => assert.deepEqual(await inboundStream(stream), expected));
  }
});

const tls = (serverName: string, allowInsecure = false, ca = false): OutboundStreamSpec['tls'] => ({
  serverName,
  allowInsecure,
  ca: ca ? { file: 'ca.pem', certificates: [authority.cert.trim()] } : undefined,
});
const ws = (host: string, path = '/', earlyData = 0): OutboundStreamSpec['carrier'] => ({
  kind: 'ws',
  path,
  host,
  earlyData,
});
const grpc = (of: string): OutboundStreamSpec['carrier'] => ({
  kind: 'grpc',
  serviceName: 'Gun',
  authority: of,
});

const OUTBOUNDS: readonly [stream: string, expected: OutboundStreamSpec | undefined][] = [
  ['security = "none"', undefined],
  ['network = "tls"', { carrier: RAW, tls: tls('proxy.example') }],
  [
    'network = "tls", tls = { server_name = "sni.test", ca_file = "ca.pem" }',
    { carrier: RAW, tls: tls('sni.test', false, true) },
  ],
  [
    'network = "tls", tls = { allow_insecure = true, cert_file = "missing" }',
    { carrier: RAW, tls: tls('proxy.example', true) },
  ],
  [
    'network = "tls", tls = { allow_insecure = false, ca_file = "ca.pem" }',
    { carrier: RAW, tls: tls('proxy.example', false, true) },
  ],
  ['network = "ws"', { carrier: ws('proxy.example'), tls: undefined }],
  [
    'network = "ws", tls = { server_name = "sni.test", ca_file = "missing", allow_insecure = true }',
    { carrier: ws('sni.test'), tls: undefined },
  ],
  [
    'network = "ws", ws = { host = "cdn.test", path = "/r?ed=99999" }, tls = { server_name = "sni" }',
    { carrier: ws('cdn.test', '/r', 16_384), tls: undefined },
  ],
  [
    'network = "ws", security = "tls", ws.host = "cdn.test"',
    { carrier: ws('cdn.test'), tls: tls('proxy.example') },
  ],
  [
    'network = "grpc", grpc.service_name = "Gun"',
    { carrier: grpc('proxy.example'), tls: undefined },
  ],
  [
    'network = "grpc", grpc.service_name = "Gun", tls.server_name = "sni.test"',
    { carrier: grpc('sni.test'), tls: undefined },
  ],
  [
    'network = "grpc", security = "tls", tls.server_name = "s", grpc = { service_name = "Gun", authority = "a" }',
    { carrier: grpc('a'), tls: tls('s') },
  ],
];
describe('the stream of an outbound', () => {
  for (const [stream, expected] of OUTBOUNDS) {
    test(`{ ${stream} }`, async () => assert.deepEqual(await outboundStream(stream), expected));
  }

  test('writes an IPv6 server in brackets where hosts are named, and bare where names are verified', async () => {
    const lines = 'protocol = "socks"\nserver = "2001:db8::1"\nport = 1\n';
    assert.deepEqual(await outboundStream('network = "ws", security = "tls"', lines), {
      carrier: ws('[2001:db8::1]'),
      tls: tls('2001:db8::1'),
    });
  });

  test('writes an IPv6 address in brackets that is named for the host', async () => {
    const named = 'ws.host = "2001:db8::1"';
    assert.deepEqual(await outboundStream(`network = "ws", ${named}`), {
      carrier: ws('[2001:db8::1]'),
      tls: undefined,
    });
    const authority = 'grpc = { service_name = "Gun", authority = "[2001:db8::1]:443" }';
    assert.deepEqual(await outboundStream(`network = "grpc", ${authority}`), {
      carrier: grpc('[2001:db8::1]:443'),
      tls: undefined,
    });
  });

  test('keeps the zone of its server to this host', async () => {
    const lines = 'protocol = "socks"\nserver = "fe80::1%eth0"\nport = 1\n';
    assert.deepEqual(await outboundStream('network = "ws", security = "tls"', lines), {
      carrier: ws('[fe80::1]'),
      tls: tls('fe80::1'),
    });
  });

  test('has names that are not ASCII in the form that TLS and HTTP carry', async () => {
    const lines = 'protocol = "socks"\nserver = "Bücher.example."\nport = 1\n';
    const ascii = 'xn--bcher-kva.example';
    assert.deepEqual(await outboundStream('network = "ws", security = "tls"', lines), {
      carrier: ws(ascii),
      tls: tls(ascii),
    });
    const named = 'ws.host = "bücher.example:8443", tls.server_name = "例え.example"';
    assert.deepEqual(await outboundStream(`network = "ws", security = "tls", ${named}`), {
      carrier: ws(`${ascii}:8443`),
      tls: tls('xn--r8jz45g.example'),
    });
    const authority = 'grpc = { service_name = "Gun", authority = "bücher.example" }';
    assert.deepEqual(await outboundStream(`network = "grpc", ${authority}`), {
      carrier: grpc(ascii),
      tls: undefined,
    });
  });

  test('belongs to what takes one, and to nothing else', async () => {
    const lines = 'protocol = "freedom"\n';
    assert.equal(await outboundStream('network = "", tls.ca_file = "missing"', lines), undefined);
  });
});

test('a renewed certificate is another stream', async () => {
  const renewed = authority.issue({ dns: ['server.test'] });
  const files = fakeFiles({ 'cert.pem': renewed.cert, 'key.pem': renewed.key });
  const text = inbound(`${IN}stream = { network = "tls", tls = { ${CERT} } }`);
  const [before, after] = [await load(text, FILES), await load(text, files)];
  assert.notDeepEqual(before.spec.inbounds, after.spec.inbounds);
});

type Row = readonly [what: string, text: string, message: string, place: string, kind?: 'io'];
const inTls = (keys: string): string =>
  inbound(`${IN}stream = { network = "tls", tls = { ${keys} } }`);
const outTls = (keys: string): string =>
  outbound(`${OUT}stream = { network = "tls", tls = { ${keys} } }`);

const REFUSED: readonly Row[] = [
  ['TLS without a certificate', inTls(''), 'tls stream needs tls.cert_file', '8:22 (inbound in)'],
  [
    'TLS below ws without a certificate',
    inbound(`${IN}stream = { network = "ws", security = "tls" }`),
    'tls stream needs tls.cert_file',
    '8:22 (inbound in)',
  ],
  [
    'TLS without a key',
    inTls('cert_file = "cert.pem"'),
    'tls stream needs tls.key_file',
    '8:22 (inbound in)',
  ],
  [
    'a key of another certificate',
    inTls('cert_file = "cert.pem", key_file = "other.pem"'),
    'no private key assigned',
    '8:72 (inbound in)',
  ],
  [
    'a certificate file that is not there',
    inTls('cert_file = "missing", key_file = "key.pem"'),
    'cannot read tls.cert_file missing: no such file or directory',
    '8:49 (inbound in)',
    'io',
  ],
  [
    'a certificate file without a certificate',
    inTls('cert_file = "empty.pem", key_file = "key.pem"'),
    'tls.cert_file empty.pem: no certificate in the file',
    '8:49 (inbound in)',
  ],
  [
    'a key file without a key',
    inTls('cert_file = "cert.pem", key_file = "empty.pem"'),
    'tls.key_file empty.pem: no private key in the file',
    '8:72 (inbound in)',
  ],
  [
    'a CA file beside no verification',
    outTls('allow_insecure = true, ca_file = "ca.pem"'),
    'tls.allow_insecure and tls.ca_file cannot both be set',
    '6:70 (outbound out)',
  ],
  [
    'a CA file without a certificate',
    outTls('ca_file = "empty.pem"'),
    'no certificate in CA PEM bundle',
    '6:47 (outbound out)',
  ],
  [
    'a CA file that is not there',
    outTls('ca_file = "missing"'),
    'cannot read tls.ca_file missing: no such file or directory',
    '6:47 (outbound out)',
    'io',
  ],
  [
    'gRPC without a service',
    outbound(`${OUT}stream = { network = "grpc" }`),
    'grpc stream needs grpc.service_name',
    '6:22 (outbound out)',
  ],
  [
    'gRPC with an empty service',
    inbound(`${IN}stream = { network = "grpc", grpc.service_name = "" }`),
    'grpc stream needs grpc.service_name',
    '8:50 (inbound in)',
  ],
];
describe('a stream is refused for', () => {
  for (const [what, text, message, place, kind = 'invalid'] of REFUSED) {
    test(what, async () => {
      const error = await loadErrorOf(text, FILES);
      assert.deepEqual([error.message, placeOf(error), error.kind], [message, place, kind]);
    });
  }
});
