import assert from 'node:assert/strict';
import { atOnce } from '@weir/io/time';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { Http3Request } from '@weir/http/http3';
import {
  authenticationRequest,
  authenticationResponse,
  Authenticator,
  isAuthentication,
  readAuthentication,
  readTerms,
} from '../../../../src/protocols/hysteria2/authentication.ts';
import { SeededRandom } from '../../../../../../test/support/simnet/seeded-random.ts';

const random = new SeededRandom(1);

const requestWith = (fields: Readonly<Record<string, string>>): Http3Request => ({
  method: 'POST',
  scheme: 'https',
  authority: 'hysteria',
  path: '/auth',
  fields: Object.entries(fields).map(([name, value]) => ({ name, value })),
});

test('an authentication has its fields in the order of the reference', () => {
  const request = authenticationRequest('user:pass', random);
  assert.ok(isAuthentication(request));
  assert.deepEqual(
    request.fields.map(({ name }) => name),
    ['hysteria-padding', 'hysteria-auth', 'hysteria-cc-rx', 'content-length'],
  );
  assert.deepEqual(readAuthentication(request), { auth: 'user:pass', receiveRate: 0 });
  const length = request.fields[0]?.value.length ?? 0;
  assert.ok(length >= 256 && length < 2048);
});

test('a credential that is not ASCII is sent in UTF-8', () => {
  const { auth } = readAuthentication(authenticationRequest('pässwort', random));
  assert.equal(Buffer.from(auth, 'latin1').toString('utf8'), 'pässwort');
});

for (const [what, change, expected] of [
  ['with a query', { path: '/auth?x=1' }, true],
  ['with another method', { method: 'GET' }, false],
  ['with another authority', { authority: 'example.com' }, false],
  ['with another path', { path: '/auth/' }, false],
  ['with a path in upper case', { path: '/AUTH' }, false],
] as const) {
  test(`a request ${what} is ${expected ? 'an' : 'no'} authentication`, () => {
    assert.equal(isAuthentication({ ...requestWith({}), ...change }), expected);
  });
}

for (const [text, rate] of [
  ['0', 0],
  ['6250000', 6_250_000],
  ['18446744073709551615', Number.MAX_SAFE_INTEGER],
  ['', 0],
  ['-1', 0],
  ['1e6', 0],
  ['auto', 0],
] as const) {
  test(`a client that states the rate ${JSON.stringify(text)} has ${rate}`, () => {
    const request = requestWith({ 'hysteria-auth': 'a', 'hysteria-cc-rx': text });
    assert.deepEqual(readAuthentication(request), { auth: 'a', receiveRate: rate });
  });
}

test('an authentication without its fields is empty', () => {
  assert.deepEqual(readAuthentication(requestWith({})), { auth: '', receiveRate: 0 });
});

test('the terms of a server survive a round trip', () => {
  for (const udp of [true, false]) {
    for (const receiveRate of [0, 125_000, 'auto'] as const) {
      const response = authenticationResponse({ udp, receiveRate }, random);
      assert.equal(response.status, 233);
      assert.deepEqual(readTerms(response), { udp, receiveRate });
    }
  }
});

test('a server that says nothing relays no UDP and has no limit', () => {
  assert.deepEqual(readTerms({ status: 233, fields: [] }), { udp: false, receiveRate: 0 });
});

test('one password is compared exactly, colons included', () => {
  const authenticator = atOnce(Authenticator.of({ password: 'pass:word' }));
  assert.equal(authenticator.authenticate('pass:word'), '');
  for (const auth of ['', 'pass', 'word', 'Pass:word', 'pass:word ', ' pass:word', 'x:pass:word']) {
    assert.equal(authenticator.authenticate(auth), undefined, auth);
  }
});

const users = atOnce(
  Authenticator.of({
    users: [
      { user: 'Alice', pass: 'a:b', label: 'alice@example.com' },
      { user: 'bob', pass: 'secret', label: 'bob' },
    ],
  }),
);

for (const [auth, label] of [
  ['Alice:a:b', 'alice@example.com'],
  ['ALICE:a:b', 'alice@example.com'],
  ['bob:secret', 'bob'],
  ['Bob:secret', 'bob'],
  ['bob:Secret', undefined],
  ['alice:a', undefined],
  ['alice:A:b', undefined],
  ['bob:', undefined],
  ['bob', undefined],
  [':secret', undefined],
  ['secret', undefined],
  ['', undefined],
  [':', undefined],
  ['eve:secret', undefined],
  ['bob:a:b', undefined],
] as const) {
  test(`the credential ${JSON.stringify(auth)} ${label === undefined ? 'is wrong' : `is that of ${label}`}`, () => {
    assert.equal(users.authenticate(auth), label);
  });
}

test('credentials that are not printable ASCII never match', () => {
  const wire = (text: string): string => Buffer.from(text).toString('latin1');
  for (const text of ['pässwort', 'tab\there', 'zero\0']) {
    const one = atOnce(Authenticator.of({ password: text }));
    const many = atOnce(Authenticator.of({ users: [{ user: 'u', pass: text, label: 'u' }] }));
    for (const auth of [text, wire(text)]) {
      assert.equal(one.authenticate(auth), undefined);
      assert.equal(many.authenticate(`u:${auth}`), undefined);
    }
  }
  const named = atOnce(Authenticator.of({ users: [{ user: 'ü', pass: 'p', label: 'u' }] }));
  assert.equal(named.authenticate(`${wire('ü')}:p`), undefined);
});

test('only the credentials of a table match, whatever is sent', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary-ascii' }), (auth) => {
      const isKnown = /^(?:alice:a:b|bob:secret)$/i.test(auth);
      if (!isKnown) assert.equal(users.authenticate(auth), undefined);
    }),
  );
});

test('a session stays accepted while its user has the same password, in whatever case it was named', () => {
  const tableOf = (user: string, pass: string): Authenticator =>
    atOnce(Authenticator.of({ users: [{ user, pass, label: user }] }));
  const credential = users.credentialOf('ALICE:a:b');
  assert.equal(users.accepts(credential), true);
  assert.equal(tableOf('alice', 'a:b').accepts(credential), true);
  assert.equal(tableOf('alice', 'b').accepts(credential), false);
  assert.equal(tableOf('bob', 'a:b').accepts(credential), false);
  assert.equal(atOnce(Authenticator.of({ password: 'a:b' })).accepts(credential), false);
  assert.ok(!credential.includes('a:b'));
});

test('a session of the one password stays accepted while that is the password, colons included', () => {
  const passwordOf = (password: string): Authenticator => atOnce(Authenticator.of({ password }));
  const credential = passwordOf('bob:secret').credentialOf('bob:secret');
  assert.equal(passwordOf('bob:secret').accepts(credential), true);
  assert.equal(passwordOf('secret').accepts(credential), false);
  assert.equal(users.accepts(credential), false);
});
