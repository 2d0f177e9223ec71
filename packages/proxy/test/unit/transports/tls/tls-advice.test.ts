import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withAdvice } from '../../../../src/transports/tls/tls-reason.ts';

test('the usual failures of verification say what can be done', () => {
  for (const [reason, advice] of [
    ['certificate has expired', /^certificate has expired \(it has to be renewed/],
    ['self-signed certificate', /\(name it in ca_file/],
    ['self-signed certificate in certificate chain', /\(its authority is unknown/],
    ['unable to verify the first certificate', /intermediate certificates/],
    [
      "Hostname/IP does not match certificate's altnames: Host: a.example. is not in the cert's altnames: DNS:b.example",
      /DNS:b\.example \(server_name has to be a name of it\)$/,
    ],
    ['the peer does not speak TLS', /\(the port may be another one/],
  ] as const) {
    assert.match(withAdvice(reason), advice);
  }
});

test('other failures keep their words', () => {
  assert.equal(withAdvice('bad signature'), 'bad signature');
});
