import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  formatIP,
  isMappedIPv4,
  parseIP,
  putIPv6,
  putMappedIPv4,
  splitZone,
  unmapIPv4,
} from '../../../src/ip/ip-text.ts';

const hex = (bytes: Uint8Array | undefined): string | undefined =>
  bytes && Buffer.from(bytes).toString('hex');

test('an address of 16 bytes has the text of RFC 5952', () => {
  for (const [groups, text] of [
    // §4.2.2: one group of zeros is not shortened, not even the last or the first one.
    ['00010002000300040005000600070000', '1:2:3:4:5:6:7:0'],
    ['00000002000300040005000600070008', '0:2:3:4:5:6:7:8'],
    // §4.2.3: the longest run is, and the first of two that are equally long.
    ['00010000000000010000000000000001', '1:0:0:1::1'],
    ['00010000000000010001000100000000', '1::1:1:1:0:0'],
    ['00000000000000000000000000000000', '::'],
    ['20010db8000000000000000000000000', '2001:db8::'],
    ['0000000000000000000000000000000a', '::a'],
    // §5: a mapped address is shown with dots, and no other one is.
    ['00000000000000000000ffffc0000201', '::ffff:192.0.2.1'],
    ['00000000000000000001ffffc0000201', '::1:ffff:c000:201'],
    ['00000000000000000000ff00c0000201', '::ff00:c000:201'],
    ['0000000000000000000000ffc0000201', '::ff:c000:201'],
  ] as const) {
    assert.equal(formatIP(Buffer.from(groups, 'hex')), text);
  }
});

test('only the 12 bytes of RFC 4291 §2.5.5.2 precede a mapped address', () => {
  const mapped = Buffer.from('ee00000000000000000000ffffc0000201', 'hex');
  assert.equal(isMappedIPv4(mapped, 1), true);
  for (let at = 0; at < 12; at++) {
    const changed = Buffer.from(mapped);
    changed[1 + at] = 1;
    assert.equal(isMappedIPv4(changed, 1), false, `byte ${at}`);
  }
});

test('an address with dots is read wherever they end it', () => {
  for (const [text, bytes] of [
    ['::192.0.2.1', '000000000000000000000000c0000201'],
    ['::1:192.0.2.1', '000000000000000000000001c0000201'],
    ['::1:2:192.0.2.1', '000000000000000000010002c0000201'],
    ['1:2:3:4:5:6:192.0.2.1', '000100020003000400050006c0000201'],
    ['1::192.0.2.1', '000100000000000000000000c0000201'],
  ] as const) {
    assert.equal(hex(parseIP(text)), bytes, text);
  }
});

test('an address is written over what was there, and nothing beside it', () => {
  for (const [text, bytes] of [
    ['::', '00000000000000000000000000000000'],
    ['1::', '00010000000000000000000000000000'],
    ['::2', '00000000000000000000000000000002'],
    ['1::2', '00010000000000000000000000000002'],
  ] as const) {
    const out = Buffer.alloc(24, 0xee);
    putIPv6(text, out, 3);
    assert.equal(out.toString('hex'), `eeeeee${bytes}eeeeeeeeee`, text);
  }
  const out = Buffer.alloc(18, 0xee);
  putMappedIPv4('192.0.2.1', out, 1);
  assert.equal(out.toString('hex'), 'ee00000000000000000000ffffc0000201ee');
});

test('only a mapped address with dots becomes the IPv4 address in it', () => {
  assert.equal(unmapIPv4('::ffff:192.0.2.1'), '192.0.2.1');
  for (const text of [
    '192.0.2.1',
    '::ffff:c000:201',
    '::ffff:a.example',
    '::fffe:192.0.2.1',
    // As long as the prefix of a mapped address, but none.
    'example192.0.2.1',
  ]) {
    assert.equal(unmapIPv4(text), text);
  }
});

test('the zone of an address follows its percent sign', () => {
  assert.deepEqual(splitZone('fe80::1%eth0'), { address: 'fe80::1', zone: 'eth0' });
  assert.deepEqual(splitZone('fe80::1%a%b'), { address: 'fe80::1', zone: 'a%b' });
  assert.deepEqual(splitZone('%eth0'), { address: '', zone: 'eth0' });
  assert.deepEqual(splitZone('fe80::1'), { address: 'fe80::1', zone: '' });
});
