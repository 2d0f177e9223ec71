import { atOnce } from '@weir/io/time';
import {
  SocksInbound,
  socksAccounts,
} from '../../../../packages/proxy/src/protocols/socks/inbound.ts';
import type {
  Ending,
  InboundClient,
  InboundHarness,
  Rejection,
  User,
} from '../../../../packages/proxy/test/conformance/inbound/harness.ts';
import { addressField, type Target } from './address.ts';
import { bytes } from './bytes.ts';

export const socksPasswords: Readonly<Record<User, string>> = {
  ann: 'sesame',
  bob: '',
  eve: 'guess',
};
const counted = (text: string): Buffer => Buffer.from([text.length, ...Buffer.from(text)]);
const login = (user: string, pass: string): Buffer =>
  Buffer.concat([Buffer.of(1), counted(user), counted(pass)]);

/** RFC 1928 §6. */
const reply = (code: number): Buffer => bytes(`05 0${code} 00 01 00000000 0000`);
const REPLIES: Readonly<Partial<Record<string, number>>> = {
  refused: 5,
  unreachable_host: 4,
  unreachable_network: 3,
  unresolved: 4,
  not_found: 4,
  timed_out: 6,
  blocked: 2,
  loop: 2,
  forbidden: 2,
  unsupported: 7,
};

/** A client that sends everything before it reads. */
const clientOf = (request: Buffer, replies: Buffer): InboundClient => ({
  first: (payload) => Buffer.concat([request, payload]),
  more: (payload) => payload,
  open: (received) => {
    const start = received.subarray(0, replies.length);
    if (!replies.subarray(0, start.length).equals(start)) throw new Error('another reply');
    return { payload: received.subarray(replies.length) };
  },
});

/** The request is valid, and is answered. */
const answered = (says: Buffer): Ending => ({ how: 'end', after: 0, says });
/** The client is none of SOCKS. */
const dropped = (says: string): Ending => ({ how: 'closed', after: 0, says: bytes(says) });

/** Replies to a request that has arrived up to there. */
const stoppedBy =
  (...said: readonly (readonly [at: number, says: Buffer])[]) =>
  (sent: number): Ending => ({
    how: 'reset',
    after: 10_000,
    says: Buffer.concat(said.filter(([at]) => at <= sent).map(([, says]) => says)),
  });

const rejections = (
  rows: readonly (readonly [name: string, sends: string, error: RegExp, ending: Ending])[],
): Rejection[] =>
  rows.map(([name, sends, error, ending]) => ({ name, sends: bytes(sends), error, ending }));

/** RFC 1928 and RFC 1929. */
export function socks5({ hasAccounts = false } = {}): InboundHarness {
  const method = hasAccounts ? '02' : '00';
  const chosen = bytes(`05 ${method}`);
  const opening = (user: User): Buffer =>
    Buffer.concat([
      bytes(`05 03 80 01 ${method}`),
      hasAccounts ? login(user, socksPasswords[user]) : Buffer.alloc(0),
    ]);
  const accepted = Buffer.concat([chosen, bytes(hasAccounts ? '01 00' : '')]);
  const answer = (code: number): Buffer => Buffer.concat([accepted, reply(code)]);
  const ann = opening('ann').toString('hex');
  const said = accepted.toString('hex');
  return {
    create: (users, context) => {
      const accounts = users.map((user) => ({ user: user as string, pass: socksPasswords[user] }));
      // Of entries with one name the last counts.
      const settings = {
        auth: hasAccounts ? ('password' as const) : ('none' as const),
        accounts: [{ user: 'ann', pass: 'old' }, ...accounts].slice(users.includes('ann') ? 0 : 1),
        udp: false,
        udpBind: undefined,
      };
      return new SocksInbound(atOnce(socksAccounts(settings)), context, settings);
    },
    ...(hasAccounts && { label: (user: User) => user }),
    client: (user, destination) =>
      clientOf(
        Buffer.concat([opening(user), bytes('05 01 00'), addressField(destination, 'socks')]),
        answer(0),
      ),
    rejected: answered(Buffer.concat([chosen, bytes('01 01')])),
    invalidName: answered(answer(1)),
    stopped: stoppedBy(
      [5, chosen],
      ...(hasAccounts ? [[opening('ann').length, bytes('01 00')] as const] : []),
    ),
    refusal: (code) => answer(REPLIES[code] ?? 1),
    rejections: [
      ...rejections([
        ['no client of SOCKS', `'GET / HTTP/1.1' 0d0a0d0a`, /not a SOCKS client/, dropped('')],
        ['an offer of nothing', '05 00', /authenticat/, answered(bytes('05 ff'))],
        ['BIND', `${ann} 05 02 00 01 c0000207 0050`, /command 2/, answered(answer(7))],
        [
          'an unknown command',
          `${ann} 05 09 00 01 c0000207 0050`,
          /command 9/,
          answered(answer(7)),
        ],
        ['UDP that is off', `${ann} 05 03 00 01 00000000 0000`, /udp is off/, answered(answer(7))],
        ['an unknown type of address', `${ann} 05 01 00 02`, /type 2/, answered(answer(8))],
        ['a request of another version', `${ann} 04 01 00`, /version 4/, dropped(said)],
      ]),
      ...(hasAccounts
        ? rejections([
            ['a client without a password', '05 01 00', /not offer/, answered(bytes('05 ff'))],
            ['SOCKS4', `04 01 0050 c0000207 00`, /not support/, answered(bytes(NO4))],
            [
              'another version of the password exchange',
              '05 01 02 05',
              /version 5/,
              dropped('0502'),
            ],
            ...(
              [
                ['an earlier password of the name', 'ann', 'old'],
                ['the password of another account', 'ann', ''],
                ['a name in other case', 'Ann', 'sesame'],
              ] as const
            ).map(
              ([name, user, pass]) =>
                [
                  name,
                  `05 01 02 ${login(user, pass).toString('hex')}`,
                  /wrong user name or password/,
                  answered(bytes('05 02 01 01')),
                ] as const,
            ),
          ])
        : rejections([
            ['a client that requires a password', '05 01 02', /requires/, answered(bytes('05 ff'))],
          ])),
    ],
  };
}

const OK4 = '00 5a 0000 00000000';
const NO4 = '00 5b 0000 00000000';

/** SOCKS4, and SOCKS4a for names. */
export const socks4: InboundHarness = {
  ...socks5(),
  client: (_user, { host, port }: Target) => {
    const field = addressField({ host, port }, 'socks');
    if (field[0] === 4) return undefined;
    const isName = field[0] === 3;
    const name = field.subarray(2, -2);
    if (isName && name.includes(0)) return undefined;
    const request = Buffer.concat([
      bytes('04 01'),
      field.subarray(-2),
      isName ? bytes('00000001') : field.subarray(1, 5),
      bytes(`'kim' 00`),
      ...(isName ? [name, Buffer.of(0)] : []),
    ]);
    return clientOf(request, bytes(OK4));
  },
  invalidName: answered(bytes(NO4)),
  stopped: stoppedBy(),
  refusal: () => bytes(NO4),
  rejections: rejections([
    [
      'a name that is too long',
      `04 01 0050 00000001 00 '${'x'.repeat(256)}' 00`,
      /255/,
      dropped(''),
    ],
    [
      'a user id that is too long',
      `04 01 0050 c0000207 '${'x'.repeat(2000)}' 00`,
      /./,
      dropped(''),
    ],
    ['BIND', '04 02 0050 c0000207 00', /command 2/, answered(bytes(NO4))],
  ]),
};
