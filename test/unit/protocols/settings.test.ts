import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as http from '../../../src/protocols/http/settings.ts';
import type { InboundSettingsContext } from '../../../src/protocols/protocol.ts';
import * as socks from '../../../src/protocols/socks/settings.ts';
import * as vmess from '../../../src/protocols/vmess/settings.ts';
import { DecodeError, PlainDecodeError } from '../../../src/schema/errors.ts';
import { tableNode } from '../schema/nodes.ts';

const TCP: InboundSettingsContext = {
  tag: 'in',
  listen: { kind: 'ip', host: '127.0.0.1', port: 1080 },
};
const UNIX: InboundSettingsContext = { tag: 'in', listen: { kind: 'unix', path: '/run/socks' } };

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

  test('may ask for passwords that nobody has', () => {
    const { auth, accounts } = socks.inboundSettings(tableNode({ auth: 'password' }), TCP);
    assert.deepEqual({ auth, accounts }, { auth: 'password', accounts: [] });
  });

  test('drop accounts that nobody is asked for', () => {
    const table = tableNode({ accounts: [{ user: 'a', pass: '1' }] });
    assert.deepEqual(socks.inboundSettings(table, TCP).accounts, []);
  });

  test('know two kinds of authentication, in lower case', () => {
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

describe('the settings of a SOCKS outbound', () => {
  test('have no account without a user, whatever the password', () => {
    assert.deepEqual(socks.outboundSettings(tableNode({})), { account: undefined });
    assert.deepEqual(socks.outboundSettings(tableNode({ pass: 'p' })), { account: undefined });
  });

  test('have an empty password when only a user is written', () => {
    assert.deepEqual(socks.outboundSettings(tableNode({ user: 'u' })), {
      account: { user: 'u', pass: '' },
    });
  });

  test('are cut to the 255 bytes that fit, between characters', () => {
    const { account } = socks.outboundSettings(
      tableNode({ user: 'u'.repeat(300), pass: `${'p'.repeat(254)}é` }),
    );
    assert.deepEqual(account, { user: 'u'.repeat(255), pass: 'p'.repeat(254) });
    const exact = `${'p'.repeat(253)}é`;
    assert.equal(
      socks.outboundSettings(tableNode({ user: 'u', pass: exact })).account?.pass,
      exact,
    );
  });
});

describe('the settings of an HTTP inbound', () => {
  test('are an open proxy when nothing is written', () => {
    assert.deepEqual(http.inboundSettings(tableNode({})), {
      accounts: [],
      allowTransparent: false,
    });
  });

  test('take colons in passwords and none in users', () => {
    const accounts = [{ user: 'a', pass: 'p:q' }];
    const table = tableNode({ accounts, allow_transparent: true });
    assert.deepEqual(http.inboundSettings(table), { accounts, allowTransparent: true });
    assert.throws(
      () => http.inboundSettings(tableNode({ accounts: [{ user: 'a:b', pass: '' }] })),
      refusal('an account user may not contain `:`'),
    );
  });
});

describe('the settings of an HTTP outbound', () => {
  test('have an account only with a user', () => {
    assert.deepEqual(http.outboundSettings(tableNode({ pass: 'p' })), { account: undefined });
    assert.deepEqual(http.outboundSettings(tableNode({ user: 'u' })), {
      account: { user: 'u', pass: '' },
    });
    assert.deepEqual(http.outboundSettings(tableNode({ user: 'u', pass: 'p' })), {
      account: { user: 'u', pass: 'p' },
    });
  });
});

describe('the settings of a VMess inbound', () => {
  const ID = 'de305d54-75b4-431b-adb2-eb6b9e546014';
  const DIGITS = ID.replaceAll('-', '');

  test('let nobody in when nothing is written', () => {
    assert.deepEqual(vmess.inboundSettings(tableNode({})), { users: [] });
  });

  test('take an id in every form', () => {
    const forms = [ID, DIGITS, `{${ID}}`, `urn:uuid:${ID}`, ID.toUpperCase(), DIGITS.toUpperCase()];
    const users = forms.map((id) => ({ id }));
    assert.deepEqual(
      vmess.inboundSettings(tableNode({ users })).users,
      forms.map(() => ({ id: DIGITS })),
    );
  });

  test('refuse any other text, and quote it', () => {
    for (const id of ['', 'me', ` ${ID}`, `{${DIGITS}}`, `URN:UUID:${ID}`, `${ID}0`, 'a"b']) {
      assert.throws(
        () => vmess.inboundSettings(tableNode({ users: [{ id: ID }, { id }] })),
        (error: unknown) => {
          assert.ok(error instanceof PlainDecodeError);
          assert.equal(error.message, `invalid uuid ${JSON.stringify(id)}`);
          return true;
        },
      );
    }
  });

  test('know no other keys, and say so before they look at ids', () => {
    for (const key of ['alterId', 'email', 'level']) {
      assert.throws(
        () => vmess.inboundSettings(tableNode({ users: [{ id: 'me', [key]: 0 }] })),
        refusal(`unknown field \`${key}\`, expected \`id\``),
      );
    }
    assert.throws(
      () => vmess.inboundSettings(tableNode({ clients: [] })),
      refusal('unknown field `clients`, expected `users`'),
    );
    assert.throws(
      () => vmess.inboundSettings(tableNode({ users: [{}] })),
      refusal('missing field `id`'),
    );
    assert.throws(
      () => vmess.inboundSettings(tableNode({ users: [{ id: true }] })),
      refusal('invalid type: boolean, expected a string'),
    );
  });
});

describe('the settings of a VMess outbound', () => {
  const id = 'de305d5475b4431badb2eb6b9e546014';

  test('choose a cipher by its name, in any case', () => {
    for (const [written, security] of [
      [undefined, 'aes-128-gcm'],
      ['aes-128-gcm', 'aes-128-gcm'],
      ['AUTO', 'aes-128-gcm'],
      ['ChaCha20-Poly1305', 'chacha20-poly1305'],
    ] as const) {
      const table = written === undefined ? { id } : { id, security: written };
      assert.deepEqual(vmess.outboundSettings(tableNode(table)), { id, security });
    }
    for (const security of ['none', 'zero', 'aes-128-cfb', '', ' auto', 'chacha20-ietf-poly1305']) {
      assert.throws(
        () => vmess.outboundSettings(tableNode({ id, security })),
        refusal('unknown vmess security'),
      );
    }
  });

  test('need an id that is one', () => {
    assert.throws(() => vmess.outboundSettings(tableNode({})), refusal('missing field `id`'));
    assert.throws(
      () => vmess.outboundSettings(tableNode({ id: 'me' })),
      refusal('invalid uuid "me"'),
    );
    assert.throws(
      () => vmess.outboundSettings(tableNode({ id, alterId: 0 })),
      refusal('unknown field `alterId`, expected `id` or `security`'),
    );
  });
});
