import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { atOnce } from '@weir/io/time';
import {
  type Account,
  AccountTable,
  UsersByKey,
} from '../../../../src/protocols/users/account-table.ts';
import {
  Authenticator,
  type Hysteria2Credentials,
} from '../../../../src/protocols/hysteria2/authentication.ts';
import { InboundMemory } from '../../../../src/protocols/inbounds/inbound-memory.ts';
import { ShadowsocksInbound } from '../../../../src/protocols/shadowsocks/inbound.ts';
import type { ShadowsocksInboundSettings } from '../../../../src/protocols/shadowsocks/settings.ts';
import {
  scopeOf,
  ShadowsocksUsers,
  userIdOf,
} from '../../../../src/protocols/shadowsocks/shadowsocks-users.ts';
import {
  type AcceptedAccounts,
  Accounts,
  NO_ACCOUNTS,
  OPEN_TO_ALL,
} from '../../../../src/protocols/users/accounts.ts';
import { trojanKey } from '../../../../src/protocols/trojan/settings.ts';
import { vlessUsers } from '../../../../src/protocols/vless/inbound.ts';
import { uuidBytes } from '../../../../src/protocols/users/uuid.ts';
import { VmessUsers } from '../../../../src/protocols/vmess/inbound.ts';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';
import { inboundContext } from '../../../../../../test/support/protocols/inbound-context.ts';
import { FakeEngine } from '../../../../../../test/support/protocols/inbounds/engine.ts';

/** The accounts before a reload and after it, and whether the first of those before it is valid. */
interface Change {
  readonly title: string;
  readonly before: { readonly accepted: AcceptedAccounts; readonly credential: string };
  readonly after: AcceptedAccounts;
  readonly isValid: boolean;
}

const change = <T>(
  title: string,
  of: (settings: T) => Change['before'],
  before: T,
  after: T,
  isValid: boolean,
): Change => ({ title, before: of(before), after: of(after).accepted, isValid });

function ofAccounts(accounts: readonly Account[]): Change['before'] {
  const accepted = atOnce(AccountTable.of(accounts));
  const [first] = accounts.map(({ user, pass }) =>
    accepted.authenticate(Buffer.from(user), Buffer.from(pass)),
  );
  return { accepted, credential: first?.credential ?? '' };
}

function ofTrojan(users: readonly { readonly password: string; readonly email: string }[]) {
  const accepted = atOnce(UsersByKey.of(users, ({ password }) => trojanKey(password)));
  const first = accepted.find(trojanKey(users[0]?.password ?? ''));
  return { accepted, credential: first?.credential ?? '' };
}

function ofVless(ids: readonly string[]): Change['before'] {
  const accepted = atOnce(UsersByKey.of(ids, uuidBytes));
  return { accepted, credential: accepted.find(uuidBytes(ids[0] ?? ''))?.credential ?? '' };
}

function ofVmess(ids: readonly string[]): Change['before'] {
  const context = { clock: new ManualClock(), memory: new InboundMemory() };
  const accepted = atOnce(
    VmessUsers.of(
      ids.map((id) => ({ id })),
      context,
    ),
  );
  return { accepted, credential: ids[0] ?? '' };
}

function ofShadowsocks(settings: ShadowsocksInboundSettings): Change['before'] {
  const context = inboundContext('in', {
    dispatcher: new FakeEngine('echo'),
    clock: new ManualClock(),
  });
  const table = atOnce(ShadowsocksUsers.of(settings, context.memory));
  const [first] = table.all;
  assert.ok(first);
  const { accounts } = new ShadowsocksInbound(table, context);
  assert.ok(accounts);
  return { accepted: accounts, credential: scopeOf(table) + userIdOf(first) };
}

function ofHysteria2(credentials: Hysteria2Credentials): Change['before'] {
  const accepted = atOnce(Authenticator.of(credentials));
  const [first] = 'users' in credentials ? credentials.users : [];
  const sent = 'password' in credentials ? credentials.password : `${first?.user}:${first?.pass}`;
  return { accepted, credential: accepted.credentialOf(sent) };
}

const ann = { user: 'ann', pass: 'x' };
const bob = { user: 'bob', pass: 'x' };
const labelled = (label: string) => ({ users: [{ ...ann, label }] });
const [ID, OTHER] = ['b831381d63244d53ad4f8cda48b30811', '2f1c3a5e7d464c029b0e6a8d54e0f7c1'];
const key = (fill: string): string => Buffer.alloc(16, fill).toString('base64');
const single = { method: 'aes-128-gcm', key: key('a'), users: [] } as const;
const user = (fill: string, email = '') => ({ key: key(fill), email });
const several = { ...single, key: key('i'), users: [user('a', 'ann'), user('b')] } as const;
const modern = { ...several, method: '2022-blake3-aes-128-gcm' } as const;

const CHANGES: readonly Change[] = [
  change('accounts: another user is added', ofAccounts, [ann], [bob, ann], true),
  change('accounts: a user is removed', ofAccounts, [ann, bob], [bob], false),
  change('accounts: another password', ofAccounts, [ann], [{ ...ann, pass: 'y' }], false),
  change(
    'trojan: another label',
    ofTrojan,
    [{ password: 'p', email: 'a' }],
    [{ password: 'p', email: 'b' }],
    true,
  ),
  change(
    'trojan: another password',
    ofTrojan,
    [{ password: 'p', email: 'a' }],
    [{ password: 'q', email: 'a' }],
    false,
  ),
  change('vless: another user is added', ofVless, [ID], [OTHER, ID], true),
  change('vless: a user is removed', ofVless, [ID, OTHER], [OTHER], false),
  change('vmess: another user is added', ofVmess, [ID], [OTHER, ID], true),
  change('vmess: a user is removed', ofVmess, [ID, OTHER], [OTHER], false),
  change('shadowsocks: nothing changed', ofShadowsocks, single, { ...single }, true),
  change(
    'shadowsocks: another password',
    ofShadowsocks,
    single,
    { ...single, key: key('z') },
    false,
  ),
  change(
    'shadowsocks: another method',
    ofShadowsocks,
    single,
    { ...single, method: 'chacha20-ietf-poly1305' },
    false,
  ),
  change(
    'shadowsocks: the one password is now that of a user',
    ofShadowsocks,
    single,
    several,
    true,
  ),
  change(
    'shadowsocks: another label',
    ofShadowsocks,
    several,
    { ...several, users: [user('a', 'mia')] },
    true,
  ),
  change(
    'shadowsocks: a user is removed',
    ofShadowsocks,
    several,
    { ...several, users: [user('b')] },
    false,
  ),
  change(
    'shadowsocks 2022: another user is added',
    ofShadowsocks,
    modern,
    { ...modern, users: [user('c'), user('a')] },
    true,
  ),
  change(
    'shadowsocks 2022: a user is removed',
    ofShadowsocks,
    modern,
    { ...modern, users: [user('b')] },
    false,
  ),
  change(
    'shadowsocks 2022: another identity key',
    ofShadowsocks,
    modern,
    { ...modern, key: key('j') },
    false,
  ),
  change(
    'shadowsocks 2022: the one key is now that of a user',
    ofShadowsocks,
    { ...modern, key: key('a'), users: [] },
    modern,
    false,
  ),
  change<Hysteria2Credentials>(
    'hysteria2: another label',
    ofHysteria2,
    labelled('a'),
    labelled('b'),
    true,
  ),
  change<Hysteria2Credentials>(
    'hysteria2: the user in other letters',
    ofHysteria2,
    labelled('a'),
    { users: [{ ...ann, user: 'Ann', label: 'a' }] },
    true,
  ),
  change<Hysteria2Credentials>(
    'hysteria2: another password of the user',
    ofHysteria2,
    labelled('a'),
    { users: [{ ...ann, pass: 'y', label: 'a' }] },
    false,
  ),
  change<Hysteria2Credentials>(
    'hysteria2: another password',
    ofHysteria2,
    { password: 'a' },
    { password: 'b' },
    false,
  ),
  change<Hysteria2Credentials>(
    'hysteria2: users in place of a password',
    ofHysteria2,
    { password: 'ann:x' },
    labelled('a'),
    false,
  ),
  change<Hysteria2Credentials>(
    'hysteria2: a password in place of users',
    ofHysteria2,
    labelled('a'),
    { password: 'ann:x' },
    false,
  ),
  {
    title: 'a password is asked for from now on',
    before: { accepted: OPEN_TO_ALL, credential: OPEN_TO_ALL.credential },
    after: ofAccounts([ann]).accepted,
    isValid: false,
  },
  {
    title: 'no password is asked for any more',
    before: ofAccounts([ann]),
    after: OPEN_TO_ALL,
    isValid: false,
  },
  {
    title: 'an open inbound stays open',
    before: { accepted: OPEN_TO_ALL, credential: OPEN_TO_ALL.credential },
    after: OPEN_TO_ALL,
    isValid: true,
  },
  {
    title: 'the inbound is gone',
    before: { accepted: OPEN_TO_ALL, credential: OPEN_TO_ALL.credential },
    after: NO_ACCOUNTS,
    isValid: false,
  },
];

describe('the name of an account', () => {
  const id = 'b831381d63244d53ad4f8cda48b30811';
  const nameless = { label: undefined, credential: id, id };

  test('is the label of its user', () => {
    const accounts = new Accounts();
    accounts.names = new Map([['ann', 'other']]);
    assert.equal(accounts.validityOf({ label: 'ann', credential: '' }).name, 'ann');
    assert.equal(accounts.validityOf(OPEN_TO_ALL).name, undefined);
  });

  test('of a user without a label is that of the configuration, or the beginning of its UUID', () => {
    const accounts = new Accounts();
    const before = accounts.validityOf(nameless);
    assert.equal(before.name, 'b831381d');
    accounts.names = new Map([[id, 'ann']]);
    assert.equal(accounts.validityOf(nameless).name, 'ann');
    assert.equal(before.name, 'b831381d');
  });

  test('is known for users of VLESS, whose credential does not reveal the UUID', () => {
    const users = atOnce(vlessUsers({ users: [{ id }] }));
    const user = users.find(uuidBytes(id));
    assert.equal(user?.id, id);
    assert.doesNotMatch(user.credential, /b831381d/);
  });
});

describe('the account of a session', () => {
  for (const { title, before, after, isValid } of CHANGES) {
    test(`${isValid ? 'stands' : 'is removed'}: ${title}`, () => {
      const accounts = new Accounts();
      const account = accounts.validityOf({ label: undefined, ...before });
      assert.equal(account.isValid, true);
      accounts.replace(before.accepted);
      assert.equal(account.isValid, true);
      accounts.replace(after);
      assert.equal(account.isValid, isValid);
      accounts.replace(before.accepted);
      assert.equal(account.isValid, true);
    });
  }

  test('is reported to those that watch when it was removed, a few in each turn', async () => {
    const accounts = new Accounts();
    const { accepted, credential } = ofAccounts([ann]);
    accounts.replace(accepted);
    const ended: number[] = [];
    const ends = Array.from({ length: 1000 }, (_, i) =>
      accounts.validityOf({ label: undefined, credential }).watch(() => ended.push(i)),
    );
    accounts.validityOf({ label: undefined, ...ofAccounts([bob]) }).watch(() => ended.push(-1));
    ends[7]?.();
    const reports: number[] = [];
    const turns = { due: false, next: () => Promise.resolve(void reports.push(ended.length)) };
    await accounts.endIdle(turns, assert.ifError);
    assert.deepEqual([ended, reports], [[-1], []]);
    accounts.replace(ofAccounts([bob]).accepted);
    await accounts.endIdle(turns, assert.ifError);
    assert.equal(ended.length, 1 + 1000 - 1);
    assert.equal(ended.includes(7), false);
    assert.ok(reports.length >= 20);
    for (const [turn, reported] of reports.entries()) assert.ok(reported <= 1 + 50 * (turn + 1));
  });

  test('is reported to all that watch, although one of them fails', async () => {
    const accounts = new Accounts();
    const ended: string[] = [];
    const failures: unknown[] = [];
    const watch = (onRemoved: () => void): void => {
      accounts.validityOf(OPEN_TO_ALL).watch(onRemoved);
    };
    watch(() => ended.push('first'));
    watch(() => {
      throw new Error('injected');
    });
    watch(() => ended.push('last'));
    accounts.replace(NO_ACCOUNTS);
    const turns = { due: false, next: () => Promise.resolve() };
    await accounts.endIdle(turns, (error) => failures.push(error));
    assert.deepEqual(ended, ['first', 'last']);
    assert.match(String(failures), /injected/);
  });
});
