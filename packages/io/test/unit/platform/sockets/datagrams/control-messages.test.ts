import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { addressText, blankEndpoint, toEndpoint } from '@weir/base/ip';
import {
  CONTROL_LENGTH,
  getControl,
  getReportedError,
  putControl,
  type ReceiveControl,
} from '../../../../../src/platform/sockets/datagrams/control-messages.ts';

/** What an earlier datagram has left. */
const used = (): ReceiveControl => ({
  stride: 9,
  ecn: 3,
  hasOwn: true,
  own: blankEndpoint(),
  overflow: 9,
});

const hex = (words: Uint32Array, length: number): string =>
  Buffer.from(words.buffer, words.byteOffset).toString('hex', 0, length);

const wordsOf = (text: string): Uint32Array => {
  const words = new Uint32Array(CONTROL_LENGTH / 4);
  new Uint8Array(words.buffer).set(Buffer.from(text.replaceAll(' ', ''), 'hex'));
  return words;
};

const transmit = {
  buffer: new Uint8Array(0),
  offset: 0,
  length: 0,
  segmentSize: 1200,
  ecn: 2,
} as const;

const endpoint = (host: string, scope = 0) => toEndpoint(host, 443, scope) ?? assert.fail();

describe('control messages', () => {
  test('carry segment size, source and ECN of an IPv4 socket', () => {
    const out = new Uint32Array(CONTROL_LENGTH / 4).fill(0xeeee_eeee);
    const to = { ...transmit, destination: endpoint('192.0.2.1'), source: endpoint('192.0.2.7') };
    const length = putControl(out, 0, to, 1200, false);
    assert.equal(length, 24 + 32 + 24);
    // Each: length, level, type, data.
    const expected =
      '1200000000000000 11000000 67000000 b004000000000000' +
      '1c00000000000000 00000000 08000000 00000000c00002070000000000000000' +
      '1400000000000000 00000000 01000000 0200000000000000';
    assert.equal(hex(out, length), expected.replaceAll(' ', ''));
  });

  test('carry segment size, source with its interface and ECN of an IPv6 socket', () => {
    const out = new Uint32Array(CONTROL_LENGTH / 4).fill(0xeeee_eeee);
    const [destination, source] = [endpoint('fe80::1', 3), endpoint('fe80::7', 3)];
    const length = putControl(out, 0, { ...transmit, destination, source }, 1200, true);
    const expected =
      '1200000000000000 11000000 67000000 b004000000000000' +
      '2400000000000000 29000000 32000000 fe80000000000000 0000000000000007 0300000000000000' +
      '1400000000000000 29000000 43000000 0200000000000000';
    assert.equal(hex(out, length), expected.replaceAll(' ', ''));
  });

  test('are read as the kernel writes them', () => {
    const control = used();
    const ipv4 = wordsOf(
      '1400000000000000 11000000 68000000 b004000000000000' +
        '1c00000000000000 00000000 08000000 02000000c0000201c000020700000000' +
        '1100000000000000 00000000 01000000 0300000000000000' +
        '1400000000000000 01000000 28000000 0500000000000000',
    );
    getControl(ipv4, 0, 24 + 32 + 24 + 24, control);
    assert.equal(addressText(control.own), '192.0.2.7');
    const { own, ...rest } = control;
    assert.equal(own.scope, 0);
    assert.deepEqual(rest, { stride: 1200, ecn: 3, hasOwn: true, overflow: 5 });
    const linkLocal =
      '2400000000000000 29000000 32000000 fe800000000000000000000000000007 03000000';
    getControl(wordsOf(linkLocal), 0, 40, control);
    assert.deepEqual([addressText(control.own), control.own.scope], ['fe80::7', 3]);
    const global = linkLocal.replace('fe80', '2001');
    getControl(wordsOf(global), 0, 40, control);
    assert.deepEqual([addressText(control.own), control.own.scope], ['2001::7', 0]);
  });

  test('of the error queue have the number of an error that ICMP reports', () => {
    const error = (origin: string, level = '00000000', type = '0b000000'): string =>
      `2c00000000000000 ${level} ${type} 6f000000 ${origin}030300 00000000 00000000 0200000000000000c0000207`;
    const of = (text: string, length = CONTROL_LENGTH): number =>
      getReportedError(wordsOf(text), 0, length);
    assert.equal(of(error('02')), 111);
    assert.equal(of(error('03', '29000000', '19000000')), 111);
    // After another control message; of this host itself; truncated; of another type.
    const overflow = '1400000000000000 01000000 28000000 0500000000000000';
    assert.equal(of(overflow + error('02')), 111);
    assert.equal(of(error('01')), 0);
    assert.equal(of(error('02'), 36), 0);
    assert.equal(of(error('02', '00000000', '08000000')), 0);
    assert.equal(of(''), 0);
  });

  test('that are absent leave nothing of the datagram before', () => {
    const control = used();
    getControl(new Uint32Array(0), 0, 0, control);
    const { own: _, ...rest } = control;
    assert.deepEqual(rest, { stride: 0, ecn: 0, hasOwn: false, overflow: undefined });
  });

  test('with any bytes give values in range and leave nothing of the datagram before', () => {
    const header = fc.tuple(
      fc.oneof(fc.nat(64), fc.constantFrom(0, 15, 16, 17, 0xffff_ffff)),
      fc.constantFrom(0, 0, 0, 1),
      fc.constantFrom(0, 1, 17, 41, 99),
      fc.constantFrom(1, 8, 11, 25, 40, 50, 67, 104, 7),
      fc.array(fc.nat(0xffff_ffff), { maxLength: 6 }),
    );
    const plausible = fc
      .array(header, { maxLength: 6 })
      .map((all) =>
        all.flatMap(([size, high, level, type, data]) => [size, high, level, type, ...data]),
      );
    const any = fc.array(fc.nat(0xffff_ffff), { maxLength: 40, size: 'max' });
    fc.assert(
      fc.property(fc.oneof(plausible, any), fc.nat(200), fc.nat(8), (values, length, start) => {
        const words = new Uint32Array(start + values.length);
        words.set(values, start);
        const control = used();
        getControl(words, start, Math.min(length, values.length * 4), control);
        const error = getReportedError(words, start, Math.min(length, values.length * 4));
        assert.ok(Number.isInteger(error));
        const { stride, ecn, own, overflow } = control;
        assert.ok(stride >= 0 && stride <= 0xffff);
        assert.ok(Number.isInteger(ecn) && ecn >= 0 && ecn <= 3);
        assert.ok(Object.values(own).every(Number.isInteger));
        assert.ok(overflow === undefined || (Number.isInteger(overflow) && overflow >= 0));
      }),
    );
  });
});
