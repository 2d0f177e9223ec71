import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { DomainSniffer, sniffDomain } from '../../../../src/engine/sniff.ts';
import { OPENSSL, refragment } from '../../../../../../test/support/engine/sniff/client-hello.ts';

const REQUEST = Buffer.from(
  'GET http://h/x HTTP/1.1\r\nA: b\r\n c\r\nHost: example.com:80\r\n\r\n',
);

/** Bytes that go far into a parser: real first flights with a few bytes changed. */
const mutated = fc
  .tuple(
    fc.constantFrom(OPENSSL.tls13, OPENSSL.noName, refragment(OPENSSL.tls12, 30), REQUEST),
    fc.array(fc.tuple(fc.nat(400), fc.nat(255)), { maxLength: 4 }),
  )
  .map(([seed, changes]) => {
    const bytes = Buffer.from(seed);
    for (const [at, value] of changes) bytes[at % bytes.length] = value;
    return bytes;
  });

const asciiGarbage = fc
  .array(
    fc.constantFrom('GET', ' ', '/', 'HTTP/1.', '1', '\r', '\n', 'Host', ':', 'a.b', '\t', 'é'),
  )
  .map((parts) => Buffer.from(parts.join('')));

const input = fc.oneof(fc.uint8Array({ maxLength: 300, size: 'max' }), mutated, asciiGarbage);

test('any bytes give an answer, and what more bytes say never contradicts it', () => {
  fc.assert(
    fc.property(input, (bytes) => {
      let answer = sniffDomain(bytes.subarray(0, 0));
      for (let length = 1; length <= bytes.length; length++) {
        const next = sniffDomain(bytes.subarray(0, length));
        if (answer.done) assert.deepEqual(next, answer);
        answer = next;
      }
    }),
    { numRuns: 400 },
  );
});

test('the result does not depend on how the bytes are chunked', () => {
  fc.assert(
    fc.property(input, fc.array(fc.nat(300)), (bytes, cuts) => {
      const sniffer = new DomainSniffer();
      for (const cut of [...cuts, bytes.length].toSorted((a, b) => a - b)) {
        const soFar = bytes.subarray(0, cut);
        const found = sniffer.look(soFar);
        assert.deepEqual(found, sniffDomain(soFar));
        if (found.done) return;
      }
    }),
    { numRuns: 1000 },
  );
});

test('a name that is found is lower-case, of bounded length, and no address', () => {
  fc.assert(
    fc.property(input, (bytes) => {
      const sniffed = sniffDomain(bytes);
      if (!sniffed.done || sniffed.domain === undefined) return;
      assert.match(sniffed.domain, /^(?!.*\.\.)[a-z0-9_-][a-z0-9_.-]{0,252}$/);
      assert.doesNotMatch(sniffed.domain, /(^|\.)[0-9]+$/);
    }),
    { numRuns: 1000 },
  );
});
