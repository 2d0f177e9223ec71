import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  TestAuthority,
  type TestCertificate,
} from '../../../../../test/support/data/test-certificates.ts';
import {
  authority,
  clientTls,
  named,
  serverTls,
  shake,
  SILENT,
  type ClientOptions,
} from '../../../../../test/support/quic/tls/tls-peers.ts';

const addressed = authority.issue({ ip: ['127.0.0.1', '::1'] });
const root = new TestAuthority('root');
const issuing = root.subordinate();
/** A certificate that the issuing authority signs, sent with that of the authority, or alone. */
function chained(names: Parameters<TestAuthority['issue']>[0], isAlone = false): TestCertificate {
  const { cert, key } = issuing.issue(names);
  return { cert: isAlone ? cert : `${cert}\n${issuing.cert}`, key };
}
const below = chained({ dns: ['test.example'] });
const alone = chained({ dns: ['test.example'] }, true);
const expired = chained({ dns: ['test.example'], expired: true });
const MISMATCH = "Hostname/IP does not match certificate's altnames:";

/** What happens with each certificate; the alert is what the server gets as CRYPTO_ERROR. */
const CASES: readonly {
  readonly name: string;
  readonly client: ClientOptions;
  readonly certificate?: TestCertificate;
  readonly alert?: number;
  readonly failure?: string;
}[] = [
  { name: 'the name of the certificate', client: {} },
  { name: 'the name with a dot at the end', client: { serverName: 'test.example.' } },
  { name: 'a name that a wildcard covers', client: { serverName: 'a.wild.example' } },
  {
    name: 'two labels under a wildcard',
    client: { serverName: 'a.b.wild.example' },
    alert: 42,
    failure: `${MISMATCH} Host: a.b.wild.example. is not in the cert's altnames: DNS:test.example, DNS:*.wild.example`,
  },
  {
    name: 'another name',
    client: { serverName: 'other.example' },
    alert: 42,
    failure: `${MISMATCH} Host: other.example. is not in the cert's altnames: DNS:test.example, DNS:*.wild.example`,
  },
  {
    name: 'an IPv4 address',
    client: { serverName: '127.0.0.1' },
    certificate: addressed,
  },
  { name: 'an IPv6 address', client: { serverName: '::1' }, certificate: addressed },
  {
    name: 'another IP address',
    client: { serverName: '127.0.0.2' },
    certificate: addressed,
    alert: 42,
    failure: `${MISMATCH} IP: 127.0.0.2 is not in the cert's list: 127.0.0.1, ::1`,
  },
  {
    name: 'an expired certificate',
    client: {},
    certificate: authority.issue({ dns: ['test.example'], expired: true }),
    alert: 45,
    failure: 'certificate has expired',
  },
  {
    name: 'a certificate of an unknown authority',
    client: {},
    certificate: new TestAuthority('another authority').issue({ dns: ['test.example'] }),
    alert: 48,
    failure: 'unable to verify the first certificate',
  },
  {
    name: 'a certificate of an issuing authority that it trusts',
    client: { ca: issuing.cert },
    certificate: below,
  },
  {
    name: 'a lone certificate of an issuing authority that it trusts',
    client: { ca: issuing.cert },
    certificate: alone,
  },
  {
    name: 'a chain to a root that it trusts',
    client: { ca: root.cert },
    certificate: below,
  },
  {
    name: 'the very certificate that it trusts',
    client: { ca: alone.cert },
    certificate: alone,
  },
  {
    name: 'another name than that of the certificate that it trusts',
    client: { ca: alone.cert, serverName: 'other.example' },
    certificate: alone,
    alert: 42,
    failure: `${MISMATCH} Host: other.example. is not in the cert's altnames: DNS:test.example`,
  },
  {
    name: 'an expired certificate that it trusts',
    client: { ca: expired.cert },
    certificate: expired,
    alert: 45,
    failure: 'certificate has expired',
  },
  {
    name: 'a certificate beside the one that it trusts',
    client: { ca: alone.cert },
    certificate: chained({ dns: ['test.example'] }, true),
    alert: 48,
    failure: 'unable to verify the first certificate',
  },
  {
    name: 'any certificate, when it verifies nothing',
    client: { allowInsecure: true, serverName: 'whatever.example' },
    certificate: new TestAuthority('another authority').issue({ dns: ['x'], expired: true }),
  },
];

for (const { name, client, certificate, alert, failure } of CASES) {
  const verdict = failure === undefined ? 'accepts' : 'rejects';
  test(`a client ${verdict} ${name}`, () => {
    using pair = shake(client, certificate);
    assert.equal(pair.client.tls.failure, failure);
    assert.equal(pair.client.alert, alert);
    assert.equal(pair.client.tls.isComplete, failure === undefined);
    assert.equal(pair.server.tls.isComplete, failure === undefined);
    if (failure !== undefined) assert.equal(pair.client.events.at(-1), 'alert');
  });
}

test('a client sends its server name unless it is an IP address', () => {
  using byName = shake({});
  using byAddress = shake({ serverName: '127.0.0.1' }, addressed);
  assert.ok(byName.client.firstBytes().includes('test.example'));
  assert.ok(!byAddress.client.firstBytes().includes('127.0.0.1'));
  assert.ok(byAddress.client.tls.isComplete);
});

test('a server does not look at the name that a client sends', () => {
  using pair = shake({ serverName: 'whatever.example', allowInsecure: true });
  assert.ok(pair.server.tls.isComplete);
});

test('a client that offers other protocols than h3 is rejected', () => {
  using pair = shake({ protocols: ['h2', 'http/1.1', 'h3-29'] });
  assert.equal(pair.server.alert, 120);
  assert.equal(pair.server.tls.failure, 'the peer offers no supported application protocol');
});

test('a client that offers h3 among others is accepted', () => {
  using pair = shake({ protocols: ['h2', 'h3'] });
  assert.ok(pair.client.tls.isComplete && pair.server.tls.isComplete);
});

test('a client that offers no protocol at all is rejected (RFC 9001 §8.1)', () => {
  using pair = shake({ protocols: [] });
  assert.equal(pair.server.alert, 120);
  assert.equal(pair.server.tls.isComplete, false);
  assert.ok(!pair.server.events.some((event) => event.startsWith('secret')));
});

test('a key of another certificate is refused', () => {
  const { key } = authority.issue({ dns: ['test.example'] });
  assert.throws(() => serverTls({ cert: named.cert, key }), {
    name: 'ServerCertificateError',
    part: 'key',
    message: 'invalid private key: key values mismatch',
  });
});

test('a text without a certificate or a key is refused', () => {
  assert.throws(() => serverTls({ cert: '', key: named.key }), {
    name: 'ServerCertificateError',
    part: 'certificate',
  });
  assert.throws(() => serverTls({ cert: named.cert, key: 'no key' }), {
    name: 'ServerCertificateError',
    part: 'key',
  });
});

for (const serverName of ['', '.', 'test.example\0.evil.example']) {
  test(`a client that would verify the name ${JSON.stringify(serverName)} is not made`, () => {
    using tls = clientTls({ serverName });
    assert.throws(() => tls.createHandshake(SILENT), {
      name: 'NativeError',
      message: 'TLS cannot verify a server without a valid name',
    });
  });
}
