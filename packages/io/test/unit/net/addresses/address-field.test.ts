import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import {
  decodeAddressed,
  decodeAddressField,
  encodeAddressField,
  readAddressField,
  SOCKS_ADDRESS,
  V2RAY_ADDRESS,
} from '../../../../src/net/addresses/address-field.ts';
import { BoundedReader } from '../../../../src/net/links/bounded-reader.ts';
import { ProtocolError } from '../../../../src/net/errors.ts';
import { linkPair } from '../../../../src/net/links/memory-link.ts';
import { chunksOf, cuts, nearly } from '../../../../../../test/support/data/chunks.ts';

const NAME = Buffer.from('a.example').toString('hex');

/** Host, port, as SOCKS writes it, as v2ray writes it. */
const VECTORS = [
  ['192.0.2.7', 80, '01c00002070050', '005001c0000207'],
  [
    '2001:db8::7',
    443,
    '0420010db8' + '0'.repeat(22) + '0701bb',
    '01bb0320010db8' + '0'.repeat(22) + '07',
  ],
  ['a.example', 65_535, `0309${NAME}ffff`, `ffff0209${NAME}`],
] as const;

const FORMATS = [SOCKS_ADDRESS, V2RAY_ADDRESS];
const samples = VECTORS.flatMap(([, , ...both]) => both.map((hex) => Buffer.from(hex, 'hex')));

describe('an address field', () => {
  test('is written and read as the protocols have it', () => {
    for (const [host, port, ...both] of VECTORS) {
      for (const [i, format] of FORMATS.entries()) {
        const hex = both[i] ?? '';
        assert.equal(encodeAddressField({ host, port }, format)?.toString('hex'), hex);
        const bytes = Buffer.from(`ee${hex}ee`, 'hex');
        assert.deepEqual(decodeAddressField(bytes, 1, format), {
          endpoint: { host, port },
          end: bytes.length - 1,
        });
      }
    }
  });

  test('takes an address written as a name, or mapped, for the address', () => {
    for (const [host, hex] of [
      ['192.0.2.7', '00500209' + Buffer.from('192.0.2.7').toString('hex')],
      ['192.0.2.7', '005003' + '0'.repeat(20) + 'ffffc0000207'],
    ] as const) {
      const field = decodeAddressField(Buffer.from(hex, 'hex'), 0, V2RAY_ADDRESS);
      assert.deepEqual(field?.endpoint, { host, port: 80 });
    }
  });

  test('has an end even when its name is invalid', () => {
    for (const name of ['', 'a b', 'a\r\nb', '\u0000']) {
      const bytes = Buffer.concat([Buffer.of(3, name.length), Buffer.from(name), Buffer.of(0, 80)]);
      assert.deepEqual(decodeAddressField(bytes, 0, SOCKS_ADDRESS), {
        endpoint: undefined,
        end: bytes.length,
      });
    }
  });

  test('is not written for a host or a port that does not fit', () => {
    for (const format of FORMATS) {
      assert.ok(encodeAddressField({ host: 'x'.repeat(255), port: 1 }, format));
      assert.equal(encodeAddressField({ host: 'x'.repeat(256), port: 1 }, format), undefined);
      assert.equal(encodeAddressField({ host: '', port: 1 }, format), undefined);
      for (const port of [-1, 1.5, 65_536, Number.NaN, Infinity]) {
        assert.equal(encodeAddressField({ host: 'x', port }, format), undefined);
      }
      assert.ok(encodeAddressField({ host: 'x', port: 0 }, format));
    }
  });

  test('follows what precedes it in its message', () => {
    const bytes = encodeAddressField({ host: '192.0.2.7', port: 80 }, SOCKS_ADDRESS, [5, 1, 0]);
    assert.equal(bytes?.toString('hex'), '05010001c00002070050');
  });

  test('is incomplete until its last byte is there', () => {
    for (const [i, bytes] of samples.entries()) {
      const format = FORMATS[i % 2] ?? assert.fail();
      for (let length = 0; length < bytes.length; length++) {
        assert.equal(decodeAddressField(bytes.subarray(0, length), 0, format), undefined);
      }
      assert.equal(decodeAddressField(bytes, 0, format)?.end, bytes.length);
    }
  });

  test('of an unknown type is an error of the protocol, whose length is unknown as well', () => {
    for (const [format, type] of [
      [SOCKS_ADDRESS, 2],
      [SOCKS_ADDRESS, 0],
      [V2RAY_ADDRESS, 4],
    ] as const) {
      const bytes = Buffer.alloc(32, type);
      assert.throws(() => decodeAddressField(bytes, 0, format), ProtocolError);
      assert.equal(decodeAddressed(bytes, 0, format), undefined);
    }
  });

  test('precedes the data of a datagram, which is dropped without a valid one', () => {
    const bytes = Buffer.from('ee01c000020700500102', 'hex');
    assert.deepEqual(decodeAddressed(bytes, 1, SOCKS_ADDRESS), {
      data: Buffer.of(1, 2),
      peer: { host: '192.0.2.7', port: 80 },
    });
    assert.equal(decodeAddressed(bytes.subarray(0, 7), 1, SOCKS_ADDRESS), undefined);
    const unnamed = Buffer.from('03012000500102', 'hex');
    assert.equal(decodeAddressed(unnamed, 0, SOCKS_ADDRESS), undefined);
  });

  test('is read alike at once and from a link, whatever its bytes and pieces', async () => {
    await fc.assert(
      fc.asyncProperty(
        nearly(...samples),
        cuts,
        fc.constantFrom(...FORMATS),
        async (bytes, at, format) => {
          const known = (): unknown => {
            try {
              const field = decodeAddressField(bytes, 0, format);
              return field?.endpoint ? { ...field } : ProtocolError;
            } catch (error) {
              assert.ok(error instanceof ProtocolError);
              return ProtocolError;
            }
          };
          const [near, far] = linkPair();
          for (const chunk of chunksOf(bytes, at)) void far.write(chunk);
          await far.closeWrite();
          const read = async (): Promise<unknown> => {
            const reader = new BoundedReader(near, 1024);
            try {
              const endpoint = await readAddressField(reader, format);
              reader.release();
              let left = 0;
              for (let chunk = await near.read(); chunk; chunk = await near.read()) {
                left += chunk.length;
              }
              return { endpoint, end: bytes.length - left };
            } catch (error) {
              assert.ok(error instanceof ProtocolError, String(error));
              return ProtocolError;
            }
          };
          assert.deepEqual(await read(), known());
        },
      ),
      { numRuns: 300 },
    );
  });
});
