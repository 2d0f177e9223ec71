import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import {
  decodeAddressed,
  SOCKS_ADDRESS,
  formatIP,
  unmapIPv4,
  type Endpoint,
  decodeName,
} from '@weir/io/addresses';
import type { Packet } from '@weir/io/links';
import { encodeAddressed } from '../../../../src/protocols/socks/wire.ts';

const encode = (endpoint: Endpoint): Buffer | undefined => encodeAddressed([], endpoint);
const decode = (bytes: Uint8Array, offset = 0): Packet | undefined =>
  decodeAddressed(bytes, offset, SOCKS_ADDRESS);

describe('SOCKS addresses', () => {
  const vectors: [host: string, port: number, hex: string][] = [
    ['192.0.2.7', 80, '01c00002070050'],
    ['2001:db8::7', 443, '0420010db800000000000000000000000701bb'],
    ['a.example', 65_535, `0309${Buffer.from('a.example').toString('hex')}ffff`],
  ];
  for (const [host, port, hex] of vectors) {
    test(`${host} is written and read as in RFC 1928 §5`, () => {
      assert.equal(encode({ host, port })?.toString('hex'), hex);
      const read = decode(Buffer.from(hex, 'hex'));
      assert.deepEqual([read?.peer, read?.data.length], [{ host, port }, 0]);
    });
  }

  test('every IPv4, IPv6 and named endpoint survives writing and reading', () => {
    const host = fc.oneof(
      fc.ipV4(),
      fc.uint8Array({ minLength: 16, maxLength: 16 }).map((ip) => unmapIPv4(formatIP(ip))),
      fc.domain(),
    );
    fc.assert(
      fc.property(host, fc.integer({ min: 0, max: 65_535 }), (host, port) => {
        const written = encodeAddressed([9, 9], { host, port });
        assert.ok(written);
        const read = decode(Buffer.concat([written, Buffer.of(1, 2, 3)]), 2);
        assert.deepEqual(read?.peer, { host, port });
        assert.deepEqual([...read.data], [1, 2, 3]);
      }),
    );
  });

  test('a truncated address is invalid', () => {
    for (const [host, port] of vectors) {
      const whole = encode({ host, port }) ?? Buffer.alloc(0);
      for (let length = 0; length < whole.length; length++) {
        assert.equal(decode(whole.subarray(0, length)), undefined);
      }
    }
  });

  test('names that do not fit and ports that are none are not written', () => {
    assert.equal(encode({ host: '', port: 1 }), undefined);
    assert.equal(encode({ host: 'x'.repeat(256), port: 1 }), undefined);
    assert.equal(encode({ host: 'ü'.repeat(128), port: 1 }), undefined);
    assert.equal(encode({ host: 'a.example', port: -1 }), undefined);
    assert.equal(encode({ host: 'a.example', port: 65_536 }), undefined);
    assert.ok(encode({ host: 'x'.repeat(255), port: 1 }));
  });

  const names: [text: string, host: string | undefined][] = [
    ['a.example', 'a.example'],
    ['A.Example.', 'A.Example.'],
    ['under_score.example', 'under_score.example'],
    ['bücher.example', 'bücher.example'],
    ['192.0.2.7', '192.0.2.7'],
    ['192.0.2.07', '192.0.2.07'],
    ['2001:DB8:0::7', '2001:db8::7'],
    ['[2001:db8::7]', '2001:db8::7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['', undefined],
    ['a b', undefined],
    ['a\tb', undefined],
    ['a\r\nb', undefined],
    ['a\u0000', undefined],
    ['a\u007fb', undefined],
    ['a\u0085b', undefined],
    ['a\u00a0b', undefined],
    ['a\u2028b', undefined],
  ];
  for (const [text, host] of names) {
    test(`the name ${JSON.stringify(text)} means ${host ?? 'nothing'}`, () => {
      assert.equal(decodeName(Buffer.from(text)), host);
    });
  }

  test('a name that is not UTF-8 means nothing', () => {
    assert.equal(decodeName(Uint8Array.of(0x61, 0xff)), undefined);
    assert.equal(decodeName(Uint8Array.of(0xc0, 0x80)), undefined);
  });
});
