import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  addUser,
  listUsers,
  removeUser,
  rotateUser,
  type UserErrorCode,
} from '../../../src/edit/users/edit-users.ts';
import { SourceText } from '../../../src/sources/source-text.ts';
import '../../../../../test/support/import/load-forms.ts';

const source = (text: string): SourceText => new SourceText(text, 'weir.toml');

const inbound = (protocol: string, settings: string): SourceText =>
  source(`[[inbound]]\ntag = "in"\nprotocol = "${protocol}"\nsettings = { ${settings} }\n`);

const add = (text: SourceText, name = 'ann', secret = 'S', force = false) =>
  addUser(text, { inbound: 'in', name, secret: () => secret, force });

const remove = (text: SourceText, name: string, force = false) =>
  removeUser(text, { inbound: 'in', name, force });

/** The list that follows in the settings, without labels of vless and vmess. */
const after = ({ text }: { readonly text: string }): string =>
  text.slice(text.indexOf('settings = { ') + 13, -3).replaceAll(/\s+/g, ' ');

const fails = (work: () => unknown, code: UserErrorCode, message: RegExp): void => {
  assert.throws(work, { name: 'UserError', code, message });
};

const ID = 'b831381d-6324-4d53-ad4f-8cda48b30811';
const OTHER = '6F0A3C1E-0000-4d53-ad4f-8cda48b30812';

describe('a user is added in the form of', () => {
  for (const [protocol, before, expected] of [
    ['trojan', 'users = []', 'users = [{ password = "S", email = "ann" }]'],
    [
      'shadowsocks',
      'clients = [{password="a"}]',
      'clients = [{password="a"}, {password="S",email="ann"}]',
    ],
    ['vless', 'users = []', 'users = [ { id = "S" } # name: ann ]'],
    ['vmess', 'users = []', 'users = [ { id = "S" } # name: ann ]'],
    ['hysteria2', 'udp = true', 'udp = true, users = [{ user = "ann", pass = "S" }]'],
    ['hy2', 'udp = true', 'udp = true, users = [{ user = "ann", pass = "S" }]'],
    // A dotted key that goes on after another one.
    [
      'hysteria',
      'tls.cert_file = "c", udp = true, tls.key_file = "k"',
      'tls.cert_file = "c", udp = true, tls.key_file = "k", users = [{ user = "ann", pass = "S" }]',
    ],
    ['socks', 'auth = "password"', 'auth = "password", accounts = [{ user = "ann", pass = "S" }]'],
    ['http', 'accounts = []', 'accounts = [{ user = "ann", pass = "S" }]'],
  ] as const) {
    test(protocol, () => {
      assert.equal(after(add(inbound(protocol, before))), expected);
    });
  }

  test('Shadowsocks, whose method decides about the secret', () => {
    const asked: unknown[] = [];
    addUser(inbound('shadowsocks', 'method = "m", users = [{ password = "a" }]'), {
      inbound: 'in',
      name: 'ann',
      secret: (kind, method) => {
        asked.push(kind.secret, method);
        return 'S';
      },
      force: false,
    });
    assert.deepEqual(asked, ['password', 'm']);
  });
});

test('a name or a secret that is taken is refused, and no secret is named', () => {
  const trojan = inbound('trojan', 'users = [{ password = "S3cret", email = "ann" }]');
  fails(() => add(trojan), 'duplicate', /has a user "ann" already/);
  fails(() => add(trojan, 'bob', 'S3cret'), 'duplicate', /^the user "ann" .* has this password/);
  const vless = inbound('vless', `users = [{ id = "{${ID}}" }]`);
  const id = ID.replaceAll('-', '').toUpperCase();
  fails(() => add(vless, 'bob', id), 'duplicate', /^the user "b831381d" .* has this id already/);
  const http = inbound('http', 'accounts = [{ user = "ann", pass = "S" }]');
  assert.ok(add(http, 'bob'), 'accounts may share a password');
});

test('names that a protocol cannot carry are refused', () => {
  for (const name of ['', ' ', ' ann', 'a\nb', 'a\u202eb', '#1', 'x'.repeat(129)]) {
    fails(() => add(inbound('trojan', 'users = []'), name), 'invalid_name', /cannot be called/);
  }
  for (const protocol of ['http', 'hysteria2', 'hy2']) {
    fails(() => add(inbound(protocol, 'users = []'), 'a:b'), 'invalid_name', /":"/);
  }
  fails(() => add(inbound('hysteria', ''), 'änn'), 'invalid_name', /ASCII/);
  assert.ok(add(inbound('vless', 'users = []'), 'Änn # 😀'));
});

test('what would lock others out, or let them in, is refused or said', () => {
  const ss = inbound('shadowsocks', 'password = "p"');
  fails(() => add(ss), 'meaning', /no longer takes its single password/);
  assert.match(add(ss, 'ann', 'S', true).notes.join(), /locked out/);
  const last = inbound('shadowsocks', 'users = [{ password = "p", email = "ann" }]');
  fails(() => remove(last, 'ann'), 'meaning', /lets in every client/);
  assert.match(remove(last, 'ann', true).notes.join(), /lets in every client/);
  const http = inbound('http', 'accounts = [{ user = "ann", pass = "p" }]');
  fails(() => remove(http, 'ann'), 'meaning', /open to everybody/);
  assert.match(add(inbound('http', ''), 'ann').notes.join(), /was open/);
  fails(() => add(inbound('hysteria2', 'password = "p"')), 'meaning', /one password for all/);
  const hysteria = inbound('hysteria2', 'users = [{ user = "ann", pass = "p" }]');
  fails(() => remove(hysteria, 'ann', true), 'meaning', /the last user/);
  assert.match(add(inbound('socks', '')).notes.join(), /needs auth = "password"/);
  assert.deepEqual(add(inbound('socks', 'auth = "password"')).notes, []);
  const trojan = inbound('trojan', 'users = [{ password = "p", email = "ann" }]');
  assert.match(remove(trojan, 'ann').notes.join(), /rejects every client/);
});

test('a user is found by its name, its number, its id or the start of that', () => {
  const users = `users = [{ id = "${ID}" }, { id = "${OTHER}" }]`;
  const vless = inbound('vless', users);
  for (const name of [ID, ID.toUpperCase(), 'b831381d', '#1']) {
    assert.equal(after(remove(vless, name)), `users = [{ id = "${OTHER}" }]`);
  }
  assert.equal(remove(vless, '6f0a3c1e').user.index, 1);
  fails(() => remove(vless, 'ann'), 'unknown_user', /has no user "ann"/);
  const twice = inbound(
    'trojan',
    'users = [{ password = "a", email = "x" }, { password = "b", email = "x" }, { password = "c" }]',
  );
  fails(() => remove(twice, 'x'), 'ambiguous', /by its number, #1, #2$/);
  assert.equal(remove(twice, '#2').user.index, 1);
  assert.equal(remove(twice, '#3').user.name, undefined);
  fails(() => removeUser(vless, { inbound: 'on', name: 'x', force: false }), 'no_inbound', /"on"/);
  fails(() => remove(inbound('tun', ''), 'x'), 'no_inbound', /has no users/);
});

test('a secret is replaced in place', () => {
  const trojan = inbound('trojan', 'users = [{ password = "a", email = "ann" }]');
  const { text } = rotateUser(trojan, { inbound: 'in', name: 'ann', secret: () => 'b' });
  assert.equal(after({ text }), 'users = [{ password = "b", email = "ann" }]');
});

test('all users of a file are listed, with the labels of their flows', () => {
  const text = `[[inbound]]
tag = "a"
protocol = "hysteria2"
settings.users = [{ user = "u", pass = "p", email = "e" }, { user = "v", pass = "p" }]
[[inbound]]
tag = "b"
protocol = "tun"
[[inbound]]
tag = "c"
protocol = "vmess"
[[inbound.settings.users]] # name: ann
id = "${ID}"
`;
  const shown = listUsers(source(text)).map((user) => [user.inbound, user.shown, user.label]);
  assert.deepEqual(shown, [
    ['a', 'u', 'e'],
    ['a', 'v', 'v'],
    ['c', 'ann', undefined],
  ]);
  assert.equal(listUsers(source(text), 'c').length, 1);
});
