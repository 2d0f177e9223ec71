import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as http from '../../../src/protocols/http/settings.ts';
import type { InboundSettingsContext } from '../../../src/protocols/protocol.ts';
import * as socks from '../../../src/protocols/socks/settings.ts';
import * as trojan from '../../../src/protocols/trojan/settings.ts';
import * as vless from '../../../src/protocols/vless/settings.ts';
import { loginSettings } from '../../../src/protocols/users/account-settings.ts';
import { DecodeError } from '../../../src/schema/errors.ts';
import { tableNode } from '../../../../../test/support/schema/nodes.ts';

const files = { content: () => assert.fail('no file is named') };
const TCP: InboundSettingsContext = {
  files,
  tag: 'in',
  listen: { kind: 'ip', host: '127.0.0.1', port: 1080 },
};
const UNIX: InboundSettingsContext = {
  files,
  tag: 'in',
  listen: { kind: 'unix', path: '/run/socks' },
};

const refusal = (message: string) => (error: unknown) => {
  assert.ok(error instanceof DecodeError);
  assert.equal(error.message, message);
  return true;
};

describe('the settings of a SOCKS inbound', () => {
  test('are open, with UDP, when nothing is written', () => {
    assert.deepEqual(socks.inboundSettings(tableNode({}), TCP), {
      auth: 'none',
      accounts: [],
      udp: true,
      udpBind: undefined,
    });
  });

  test('hold accounts in file order, repeated users included', () => {
    const accounts = [
      { user: 'a', pass: '1' },
      { user: 'b', pass: '2' },
      { user: 'a', pass: '3' },
    ];
    const settings = socks.inboundSettings(tableNode({ auth: 'password', accounts }), TCP);
    assert.deepEqual(settings.accounts, accounts);
  });

  test('may require passwords without any account', () => {
    const { auth, accounts } = socks.inboundSettings(tableNode({ auth: 'password' }), TCP);
    assert.deepEqual({ auth, accounts }, { auth: 'password', accounts: [] });
  });

  test('ignore accounts without authentication', () => {
    const table = tableNode({ accounts: [{ user: 'a', pass: '1' }] });
    assert.deepEqual(socks.inboundSettings(table, TCP).accounts, []);
  });

  test('accept two kinds of authentication, in lower case', () => {
    for (const auth of ['', 'Password', 'NONE', 'gssapi', ' none']) {
      assert.throws(
        () => socks.inboundSettings(tableNode({ auth }), TCP),
        refusal('unknown socks auth'),
      );
    }
  });

  test('bind datagrams to any IP address, and to no name', () => {
    const bind = (udp_bind: string): string | undefined =>
      socks.inboundSettings(tableNode({ udp_bind }), TCP).udpBind;
    assert.equal(bind('0.0.0.0'), '0.0.0.0');
    assert.equal(bind('::'), '::');
    assert.equal(bind('2001:DB8:0::1'), '2001:db8::1');
    assert.equal(bind('::ffff:192.0.2.1'), '::ffff:192.0.2.1');
    for (const text of [
      '',
      'localhost',
      '[::]',
      '127.0.0.1:0',
      '10.0.0.0/8',
      '01.2.3.4',
      '::1%lo',
    ]) {
      assert.throws(() => bind(text), refusal('invalid IP address syntax'));
    }
  });

  test('need an address for datagrams on a unix socket, unless there are none', () => {
    assert.throws(
      () => socks.inboundSettings(tableNode({}), UNIX),
      /^DecodeError: udp_bind is required when listen is a unix socket and udp is true/,
    );
    assert.equal(socks.inboundSettings(tableNode({ udp: false }), UNIX).udpBind, undefined);
    assert.equal(socks.inboundSettings(tableNode({ udp_bind: '::' }), UNIX).udpBind, '::');
  });
});

describe('the settings of a SOCKS or HTTP outbound', () => {
  test('have no account without a user, whatever the password', () => {
    assert.deepEqual(loginSettings(tableNode({})), { account: undefined });
    assert.deepEqual(loginSettings(tableNode({ pass: 'p' })), { account: undefined });
  });

  test('have an empty password when only a user is written', () => {
    assert.deepEqual(loginSettings(tableNode({ user: 'u' })), {
      account: { user: 'u', pass: '' },
    });
  });

  test('have an account as it is written', () => {
    assert.deepEqual(loginSettings(tableNode({ user: 'u', pass: 'p' })), {
      account: { user: 'u', pass: 'p' },
    });
  });
});

describe('the settings of an HTTP inbound', () => {
  test('are an open proxy when nothing is written', () => {
    assert.deepEqual(http.inboundTable(tableNode({})), {
      accounts: [],
      allowTransparent: false,
    });
  });

  test('take colons in passwords and none in users', () => {
    const accounts = [{ user: 'a', pass: 'p:q' }];
    const table = tableNode({ accounts, allow_transparent: true });
    assert.deepEqual(http.inboundTable(table), { accounts, allowTransparent: true });
    assert.throws(
      () => http.inboundTable(tableNode({ accounts: [{ user: 'a:b', pass: '' }] })),
      refusal('an account user may not contain `:`'),
    );
  });
});

describe('the settings of a Trojan inbound', () => {
  test('have no users by default', () => {
    assert.deepEqual(trojan.inboundTable(tableNode({})), { users: [] });
    assert.deepEqual(trojan.inboundTable(tableNode({ users: [] })), { users: [] });
  });

  test('hold users in file order, with labels or without, whatever the password', () => {
    const users = [{ password: 'a', email: 'mia' }, { password: '' }, { password: 'a' }];
    assert.deepEqual(trojan.inboundTable(tableNode({ users })).users, [
      { password: 'a', email: 'mia' },
      { password: '', email: '' },
      { password: 'a', email: '' },
    ]);
  });

  test('have no keys of other programs', () => {
    for (const key of ['password', 'clients', 'fallbacks']) {
      assert.throws(
        () => trojan.inboundTable(tableNode({ [key]: 'x' })),
        refusal(`unknown field \`${key}\`, expected \`users\``),
      );
    }
    for (const key of ['flow', 'level', 'id']) {
      assert.throws(
        () => trojan.inboundTable(tableNode({ users: [{ password: 'a', [key]: 'x' }] })),
        refusal(`unknown field \`${key}\`, expected \`password\` or \`email\``),
      );
    }
    assert.throws(
      () => trojan.inboundTable(tableNode({ users: [{ email: 'mia' }] })),
      refusal('missing field `password`'),
    );
  });

  test('do not repeat a password of the wrong type', () => {
    const users = [{ password: 123_456n }];
    assert.throws(
      () => trojan.inboundTable(tableNode({ users })),
      refusal('invalid type: integer, expected a string'),
    );
  });
});

describe('the settings of a Trojan outbound', () => {
  test('are a password and nothing else', () => {
    assert.deepEqual(trojan.outboundTable(tableNode({ password: '' })), { password: '' });
    assert.throws(() => trojan.outboundTable(tableNode({})), refusal('missing field `password`'));
    assert.throws(
      () => trojan.outboundTable(tableNode({ password: 'a', email: 'mia' })),
      refusal('unknown field `email`, expected `password`'),
    );
  });
});

describe('the settings of VLESS', () => {
  const ID = 'b831381d-6324-4d53-ad4f-8cda48b30811';
  const id = ID.replaceAll('-', '');

  test('take ids in every form and keep them in one', () => {
    const users = [{ id: ID }, { id: `{${ID.toUpperCase()}}` }, { id: `urn:uuid:${ID}` }, { id }];
    assert.deepEqual(vless.inboundTable(tableNode({ users })), {
      users: [{ id }, { id }, { id }, { id }],
    });
    assert.deepEqual(vless.inboundTable(tableNode({})), { users: [] });
    assert.deepEqual(vless.outboundTable(tableNode({ id: ID })), { id });
  });

  test('reject an invalid id, without quoting it', () => {
    for (const bad of ['', 'mia', `${ID}0`]) {
      const users = [{ id: bad }];
      assert.throws(() => vless.inboundTable(tableNode({ users })), refusal('invalid uuid'));
      assert.throws(() => vless.outboundTable(tableNode({ id: bad })), refusal('invalid uuid'));
    }
    assert.throws(() => vless.outboundTable(tableNode({})), refusal('missing field `id`'));
    assert.throws(
      () => vless.outboundTable(tableNode({ id: 1n })),
      refusal('invalid type: integer, expected a string'),
    );
  });

  test('have no keys of other programs', () => {
    for (const key of ['clients', 'decryption', 'fallbacks']) {
      assert.throws(
        () => vless.inboundTable(tableNode({ [key]: 'none' })),
        refusal(`unknown field \`${key}\`, expected \`users\``),
      );
    }
    for (const key of ['flow', 'email', 'level']) {
      const entry = { id: ID, [key]: '' };
      const message = `unknown field \`${key}\`, expected \`id\``;
      assert.throws(() => vless.inboundTable(tableNode({ users: [entry] })), refusal(message));
      assert.throws(() => vless.outboundTable(tableNode(entry)), refusal(message));
    }
  });
});
