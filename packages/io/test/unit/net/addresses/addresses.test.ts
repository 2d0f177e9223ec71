import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import os from 'node:os';
import { syncBuiltinESMExports } from 'node:module';
import { isIP } from 'node:net';
import { afterEach, beforeEach, describe, mock, test } from 'node:test';
import { toEndpoint } from '@weir/base/ip';
import { chooseAddresses } from '@weir/server/app/log/process-log';
import {
  canonicalHost,
  decodeName,
  isLinkLocal,
  isLocalhost,
  mayRespondFor,
  wireHost,
  normalizeDomain,
  normalizeHost,
  numericEndpoint,
  showAddresses,
  shownEndpoint,
  shownForeign,
  shownHost,
  shownSource,
} from '../../../../src/net/addresses/addresses.ts';
import { DialError, toDialError } from '../../../../src/net/errors.ts';
import { failureFields } from '../../../../../proxy/src/engine/flow-log.ts';
import { CODE_POINT } from '../../../../../../test/support/data/code-point.ts';

test('an IP address has one text, however it was written; other hosts stay as they are', () => {
  const texts: readonly [string, string][] = [
    ['0:0:0:0:0:0:0:1', '::1'],
    ['::0001', '::1'],
    ['2001:DB8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['::ffff:7f00:1', '127.0.0.1'],
    ['0:0:0:0:0:FFFF:127.0.0.1', '127.0.0.1'],
    ['192.0.2.1', '192.0.2.1'],
    ['fe80::1%eth0', 'fe80::1%eth0'],
    ['proxy.example', 'proxy.example'],
  ];
  for (const [written, text] of texts) assert.equal(canonicalHost(written), text);
});

test('a datagram is a response of a peer when its source may be that peer', () => {
  const from = (host: string, port = 53) => ({ host, port });
  const named = from('dns.example');
  assert.equal(mayRespondFor(named, named), true);
  for (const [peer, source, may] of [
    [from('192.0.2.1'), from('192.0.2.1'), true],
    [from('192.0.2.1'), from('192.0.2.1', 54), false],
    [from('192.0.2.1'), from('192.0.2.2'), false],
    // The address of a name is not known here, and no response comes from a name.
    [named, from('192.0.2.1'), true],
    [named, from('2001:db8::1'), true],
    [named, from('192.0.2.1', 54), false],
    [named, from('dns.example'), true],
    [named, from('other.example'), false],
    [from('192.0.2.1'), from('dns.example'), false],
  ] as const) {
    assert.equal(mayRespondFor(peer, source), may, `${peer.host} ${source.host}:${source.port}`);
  }
});

const SPELLINGS: Readonly<Record<string, readonly string[]>> = {
  'blocked.example': [
    'blocked.example',
    'Blocked.EXAMPLE.',
    'ｂlocked.example',
    'blo\u00adcked.example',
    'blocked。example',
    'blocked．example｡',
    'ⓑⓛⓞⓒⓚⓔⓓ.example',
    'bloc\u212aed.example',
  ],
  'xn--bcher-kva.example': ['bücher.example', 'BU\u0308CHER.example.', 'XN--BCHER-KVA.example'],
  '_dmarc.example': ['_dmarc.example'],
  '127.0.0.1': [
    '127.0.0.1',
    '127.0.0.1.',
    '127.1',
    '0x7f.1',
    '0X7F000001',
    '2130706433',
    '017700000001',
    '①②⑦.0.0.1',
    '１２７。０。０。１',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1%1',
  ],
  '2001:db8::1': ['2001:db8::1', '2001:DB8:0:0::1', '2001:db8::1%eth0'],
  'fe80::1': ['fe80::1', 'FE80:0::1'],
  'fe80::1%eth0': ['fe80::1%eth0', 'FE80:0::1%eth0'],
  'febf::1%eth0': ['febf::1%eth0'],
  // Neither is link-local: the one begins otherwise, the other one was site-local (RFC 3879).
  '2080::1': ['2080::1%eth0'],
  'fec0::1': ['fec0::1%eth0'],
  'ff02::1%2': ['ff02::1%2'],
};

for (const [host, spellings] of Object.entries(SPELLINGS)) {
  for (const spelling of spellings) {
    test(`${JSON.stringify(spelling)} is ${host}`, () => {
      assert.equal(normalizeHost(spelling), host);
    });
  }
}

const NO_HOSTS = [
  '',
  '.',
  'a..example',
  'example..',
  'example。.',
  '.example',
  'a b.example',
  'ex%61mple.com',
  'bü/cher.example',
  'bü%41.example',
  'example.com:80',
  'foo.1',
  '256.1.1.1',
  '4294967296',
  '1.2.3.4.5',
  '[::1]',
  'a\u202eb.example',
  `${'a'.repeat(64)}.example`,
  `${'a.'.repeat(126)}aa`,
  'ü'.repeat(2000),
];

for (const text of NO_HOSTS) {
  test(`${JSON.stringify(text.slice(0, 20))} (${text.length}) is no host`, () => {
    assert.equal(normalizeHost(text), undefined);
  });
}

test('a name may be as long as DNS allows in any case, and a text to convert four times that', () => {
  const longest = `${'a.'.repeat(126)}a`;
  assert.equal(longest.length, 253);
  assert.equal(normalizeHost(longest), longest);
  assert.equal(normalizeHost(longest.toUpperCase()), longest);
  assert.equal(normalizeHost(`${longest}.`), longest);
  assert.equal(normalizeHost(`A${longest}`), undefined);
  // Soft hyphens are dropped.
  assert.equal(normalizeHost(`a${'\u00ad'.repeat(4 * 253 - 1)}`), 'a');
  assert.equal(normalizeHost(`a${'\u00ad'.repeat(4 * 253)}`), undefined);
});

test('a name on the wire that is an address in brackets or without them is that address', () => {
  for (const [text, host] of [
    ['[2001:DB8::1]', '2001:db8::1'],
    ['2001:DB8::1', '2001:db8::1'],
    ['::ffff:c000:201', '192.0.2.1'],
    ['192.0.2.1', '192.0.2.1'],
    ['[192.0.2.11', '[192.0.2.11'],
    ['1192.0.2.1]', '1192.0.2.1]'],
    ['a192.0.2.1b', 'a192.0.2.1b'],
    ['[a.example]', '[a.example]'],
    ['A.example', 'A.example'],
    // A zone has a meaning on the client's host alone; such a name is resolved to nothing.
    ['fe80::1%eth0', 'fe80::1%eth0'],
  ] as const) {
    assert.equal(decodeName(Buffer.from(text)), host, text);
  }
});

test('a normal form is its own normal form, whatever it came from', () => {
  const unit = fc.constantFrom('a', 'X', '1', '0x', '.', '。', '-', 'ü', '１', '\u00ad', ':', '%');
  const text = fc.oneof(fc.string({ unit, maxLength: 12 }), fc.string({ unit: CODE_POINT }));
  fc.assert(
    fc.property(text, (written) => {
      const host = normalizeHost(written);
      if (host === undefined) return;
      if (isIP(host) === 0) assert.match(host, /^[a-z0-9._-]{1,253}$/);
      assert.equal(normalizeHost(host), host);
    }),
    { numRuns: 5000 },
  );
});

// In a suite: the fast tests share a process, whose other tests have the real interfaces.
describe('a numeric endpoint', () => {
  beforeEach(() => {
    mock.method(os, 'networkInterfaces', () => ({
      lo: [{ address: '127.0.0.1' }, { address: '::1', scopeid: 0 }],
      eth0: [{ address: '192.0.2.2' }, { address: 'fd00::2', scopeid: 0 }, { scopeid: 4 }],
    }));
    syncBuiltinESMExports();
  });

  afterEach(() => {
    mock.restoreAll();
    syncBuiltinESMExports();
  });

  test('the scope of a link-local address is the index of the interface that its zone names', () => {
    assert.deepEqual(numericEndpoint('fe80::1%eth0', 53), toEndpoint('fe80::1', 53, 4));
    assert.deepEqual(numericEndpoint('fe80::1', 53), toEndpoint('fe80::1', 53, 0));
    assert.deepEqual(numericEndpoint('192.0.2.1', 53), toEndpoint('192.0.2.1', 53, 0));
  });

  test('names, and zones without an interface that has a link-local address, have no endpoint', () => {
    for (const host of ['fe80::1%eth1', 'fe80::1%lo', 'a.example', 'a.example%eth0', '']) {
      assert.equal(numericEndpoint(host, 53), undefined, host);
    }
  });

  test('an address with a scope needs its interface', () => {
    assert.equal(isLinkLocal({ scopeid: 4 }), true);
    assert.equal(isLinkLocal({ scopeid: 0 }), false);
    assert.equal(isLinkLocal({}), false);
  });
});

const GOOD: Readonly<Record<string, string>> = {
  'example.com': 'example.com',
  'EXAMPLE.Com.': 'example.com',
  '_dmarc.example': '_dmarc.example',
  printer: 'printer',
  '1.2.3.4.example': '1.2.3.4.example',
  '4chan.example': '4chan.example',
  'bücher.example': 'xn--bcher-kva.example',
  'BÜCHER。example': 'xn--bcher-kva.example',
  [`${'a'.repeat(63)}.example`]: `${'a'.repeat(63)}.example`,
};

for (const [host, name] of Object.entries(GOOD)) {
  test(`${JSON.stringify(host)} is asked as ${JSON.stringify(name)}`, () => {
    assert.equal(normalizeDomain(host), name);
  });
}

const BAD: Readonly<Record<string, string>> = {
  'an empty name': '',
  'the root': '.',
  'an empty label': 'a..example',
  'two final dots': 'example..',
  'a leading dot': '.example',
  'a label of 64': `${'a'.repeat(64)}.example`,
  'a name of 254': `${'a.'.repeat(126)}aa`,
  'a space': 'exam ple.com',
  'a NUL': 'example.com\0',
  'a line break': 'example.com\n',
  'a slash after a foreign letter': 'bücher/example.com',
  'a tab after a foreign letter': 'bü\tcher.example',
  'a port': 'example.com:53',
  'a short IPv4 form': '127.1',
  'an IPv4 address as one number': '2130706433',
  'a hexadecimal IPv4 address': '0x7f000001',
  'an IPv4 address in full-width digits': '１２７.０.０.１',
  'an IPv4 address with a final dot': '127.0.0.1.',
};

for (const [what, host] of Object.entries(BAD)) {
  test(`${what} is not a host name`, () => assert.equal(normalizeDomain(host), undefined));
}

test('localhost is this machine, and so is everything below it', () => {
  assert.equal(isLocalhost('localhost'), true);
  assert.equal(isLocalhost('a.localhost'), true);
  assert.equal(isLocalhost('notlocalhost'), false);
  assert.equal(isLocalhost('localhost.example'), false);
});

test('a canonical name is its own canonical form, whatever it came from', () => {
  fc.assert(
    fc.property(fc.string({ unit: CODE_POINT, maxLength: 80, size: 'max' }), (host) => {
      const name = normalizeDomain(host);
      if (name === undefined) return;
      assert.match(name, /^[a-z0-9._-]{1,253}$/);
      assert.equal(normalizeDomain(name), name);
    }),
    { numRuns: 2000 },
  );
});

afterEach(() => showAddresses('full'));

test('addresses are shown in full unless chosen otherwise', () => {
  assert.equal(shownHost('a.b.example'), 'a.b.example');
  assert.equal(shownEndpoint({ host: '2001:db8::1', port: 53 }), '[2001:db8::1]:53');
  assert.equal(shownForeign('dial 192.0.2.1'), 'dial 192.0.2.1');
});

test('net keeps the network of an address, and two labels of a name', () => {
  showAddresses('net');
  for (const [host, shown] of [
    ['192.0.2.17', '192.0.2.0'],
    ['2001:db8:1:2::3', '2001:db8:1::'],
    ['::ffff:192.0.2.17', '192.0.2.0'],
    ['fe80::1%eth0', 'fe80::'],
    ['www.mail.example.com', '*.example.com'],
    ['example.com', 'example.com'],
    ['localhost', 'localhost'],
    ['a:b', '<address>'],
  ] as const) {
    assert.equal(shownHost(host), shown);
  }
  assert.equal(shownEndpoint({ host: '192.0.2.17', port: 53 }), '192.0.2.0:53');
  assert.equal(shownForeign('dial 192.0.2.1'), '<text>');
  assert.equal(shownForeign(''), '');
});

test('none shows the port alone, in errors and fields as well', () => {
  showAddresses('none');
  const target = { host: 'a.example', port: 443 };
  assert.equal(shownEndpoint(target), '<address>:443');
  assert.equal(shownSource(undefined), undefined);
  const reset = Object.assign(new Error('connect EPROTO 192.0.2.1:443'), { code: 'EPROTO' });
  assert.equal(toDialError(reset, target).message, '<address>:443: EPROTO');
  const own = new DialError('refused', 'as it was made');
  assert.equal(toDialError(own, target), own);
  const resolved = { version: { tag: 'out' }, rule: 0 } as unknown as Parameters<
    typeof failureFields
  >[2];
  const origin = { inbound: 'in', user: 'mia', source: '192.0.2.1' };
  const fields = failureFields(origin, target, resolved, 'refused');
  assert.deepEqual([fields.host, fields.source, fields.port], ['<address>', '<address>', 443]);
});

test('whatever a host is, net shows no more than its end', () => {
  showAddresses('net');
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.domain(), fc.ipV4(), fc.ipV6()), (host) => {
      const shown = shownHost(host);
      const labels = shown.replace(/^\*\./, '').split('.');
      assert.ok(labels.length <= 2 || /^[\d.]+\.0$/.test(shown), shown);
    }),
  );
});

test('an unknown WEIR_LOG_ADDRESSES is a problem, and shows nothing', () => {
  assert.deepEqual(chooseAddresses(), { shown: 'full', problem: undefined });
  assert.deepEqual(chooseAddresses('net'), { shown: 'net', problem: undefined });
  const { shown, problem = '' } = chooseAddresses('off');
  assert.equal(shown, 'none');
  assert.match(
    problem,
    /^WEIR_LOG_ADDRESSES="off" is neither "full", "net" nor "none": showing no/,
  );
});

test('a host of the configuration is changed only if it is not ASCII or has a zone', () => {
  for (const [written, ascii] of [
    ['Bücher.example', 'xn--bcher-kva.example'],
    ['bücher.example.:8443', 'xn--bcher-kva.example:8443'],
    ['WWW.Example.:80', 'WWW.Example.:80'],
    ['[2001:db8::1]', '[2001:db8::1]'],
    ['2001:DB8::1', '2001:DB8::1'],
    ['fe80::1%eth0', 'fe80::1'],
    ['[fe80::1%eth0]', '[fe80::1]'],
    ['[fe80::1%eth0]:8443', '[fe80::1]:8443'],
    ['[fe80::1%eth0', '[fe80::1%eth0'],
    ['１９２.0.2.１:80', '192.0.2.1:80'],
    ['ü ü', 'ü ü'],
    ['', ''],
  ] as const) {
    assert.equal(wireHost(written), ascii);
  }
});
