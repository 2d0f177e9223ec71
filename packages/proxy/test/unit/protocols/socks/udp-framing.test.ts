import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { UdpFraming } from '../../../../src/protocols/socks/association.ts';
import { bytes } from '../../../../../../test/support/protocols/socks/harness.ts';

const hex = (data: Uint8Array | undefined): string | undefined =>
  data && Buffer.from(data).toString('hex');

describe('the header of SOCKS datagrams', () => {
  const vectors = [
    ['192.0.2.7', 53, `0000 00 01 c0000207 0035 'query'`],
    ['2001:db8::7', 53, `0000 00 04 20010db8000000000000000000000007 0035 'query'`],
    ['dns.example', 53, `0000 00 03 0b 'dns.example' 0035 'query'`],
  ] as const;
  for (const [host, port, framed] of vectors) {
    test(`with ${host} is written and read as in RFC 1928 §7`, () => {
      const framing = new UdpFraming();
      const packet = { data: Buffer.from('query'), peer: { host, port } };
      assert.equal(hex(framing.encode(packet)), hex(bytes(framed)));
      const read = framing.decode(bytes(framed));
      assert.deepEqual(read?.peer, packet.peer);
      assert.equal(hex(read?.data), hex(packet.data));
    });
  }

  test('a datagram may be empty', () => {
    const framing = new UdpFraming();
    const peer = { host: '192.0.2.7', port: 53 };
    const empty = framing.encode({ data: new Uint8Array(0), peer });
    assert.equal(hex(empty), '00000001c00002070035');
    assert.equal(framing.decode(empty ?? Buffer.alloc(0))?.data.length, 0);
  });

  test('fragments are dropped', () => {
    const framing = new UdpFraming();
    const whole = bytes(`0000 00 01 c0000207 0035 'query'`);
    const fragment = bytes(`0000 01 01 c0000207 0035 'query'`);
    assert.equal(framing.decode(fragment), undefined);
    assert.ok(framing.decode(whole));
    assert.equal(framing.decode(fragment), undefined, 'after a whole one as well');
  });

  test('what was kept of a header does not change with the memory that it came from', () => {
    const framing = new UdpFraming();
    const first = bytes(`0000 00 01 c0000207 0035 'query'`);
    framing.decode(first);
    first.fill(0xee);
    assert.equal(framing.decode(first), undefined);
    assert.equal(framing.decode(bytes(`0000 00 01 c0000207 0035 'again'`))?.peer.host, '192.0.2.7');
  });

  test('a name that does not fit is rejected, and the next datagram is sent', () => {
    const framing = new UdpFraming();
    const data = Buffer.from('x');
    assert.equal(framing.encode({ data, peer: { host: '', port: 0 } }), undefined);
    assert.equal(framing.encode({ data, peer: { host: 'x'.repeat(256), port: 53 } }), undefined);
    const good = framing.encode({ data, peer: { host: '192.0.2.7', port: 53 } });
    assert.equal(hex(good), '00000001c0000207003578');
  });

  test('any run of datagrams reads like each of them alone', () => {
    const header = fc.constantFrom(...vectors.map(([, , framed]) => bytes(framed)));
    const datagram = fc.oneof(
      fc.uint8Array({ maxLength: 300, size: 'max' }),
      header,
      // A valid header with one octet changed, truncated anywhere.
      fc.tuple(header, fc.nat(12), fc.nat(255), fc.nat(30)).map(([good, at, value, length]) => {
        const bad = Buffer.from(good);
        bad[at] = value;
        return bad.subarray(0, length);
      }),
    );
    fc.assert(
      fc.property(fc.array(datagram, { maxLength: 8 }), (run) => {
        const framing = new UdpFraming();
        for (const each of run) {
          const read = framing.decode(each);
          const alone = new UdpFraming().decode(each);
          assert.deepEqual(read?.peer, alone?.peer);
          assert.equal(hex(read?.data), hex(alone?.data));
        }
      }),
      { numRuns: 500 },
    );
  });

  test('any run of packets that is written is read back', () => {
    const packet = fc.record({
      data: fc.uint8Array({ maxLength: 50, size: 'max' }),
      peer: fc.record({
        host: fc.constantFrom('192.0.2.7', '192.0.2.8', '2001:db8::7', 'dns.example'),
        port: fc.constantFrom(0, 53, 443),
      }),
    });
    fc.assert(
      fc.property(fc.array(packet, { maxLength: 8 }), (run) => {
        const [writer, reader] = [new UdpFraming(), new UdpFraming()];
        for (const each of run) {
          const framed = writer.encode(each);
          assert.ok(framed);
          const read = reader.decode(framed);
          assert.deepEqual({ ...read?.peer }, { ...each.peer });
          assert.equal(hex(read?.data), hex(each.data));
        }
      }),
    );
  });
});
