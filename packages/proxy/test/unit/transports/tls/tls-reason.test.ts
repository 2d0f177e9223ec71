import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tlsReason } from '../../../../src/transports/tls/tls-reason.ts';

test('an error of OpenSSL is reported without its queue', () => {
  // Reasons as Node 26.10 reports them.
  for (const [reason, words] of [
    ['wrong version number', 'the peer does not speak TLS'],
    ['http request', 'the peer speaks HTTP without TLS'],
    ['tlsv1 alert protocol version', 'the peer sent the alert: protocol version'],
    ['ssl/tls alert bad certificate', 'the peer sent the alert: bad certificate'],
    ['tlsv1 alert no application protocol', 'the peer sent the alert: no application protocol'],
    ['bad signature', 'bad signature'],
  ] as const) {
    const text = `40E3:error:0A00010B:SSL routines:some_function:${reason}:../deps/openssl/x.c:78:\n`;
    const error = Object.assign(new Error(text), { reason, library: 'SSL routines' });
    assert.equal(tlsReason(error), words);
  }
});

test('other errors keep their words, without advice about Node', () => {
  assert.equal(tlsReason(new Error('certificate has expired')), 'certificate has expired');
  const advised =
    'self-signed certificate; if the root CA is installed locally, try running Node.js with --use-system-ca';
  assert.equal(tlsReason(new Error(advised)), 'self-signed certificate');
});
