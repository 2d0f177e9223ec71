import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import * as fc from 'fast-check';
import { chooseAddresses } from '@weir/server/app/log/process-log';
import { failureFields } from '../../../../proxy/src/engine/flow-log.ts';
import { DialError, toDialError } from '../../../src/net/errors.ts';
import {
  showAddresses,
  shownEndpoint,
  shownForeign,
  shownHost,
  shownSource,
} from '../../../src/net/addresses/shown-address.ts';

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
