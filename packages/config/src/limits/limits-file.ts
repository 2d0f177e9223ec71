import { type AccountRule, type LimitsSpec, RESETS } from '@weir/proxy/limits';
import {
  array,
  converted,
  type Decoded,
  DecodeError,
  type Decoder,
  disclosed,
  fallback,
  located,
  narrowed,
  optional,
  shaped,
  spanned,
  str,
  struct,
  u16,
  variant,
  type Located,
} from '@weir/proxy/schema';
import { type AmountProblem, parseByteLimit, parseRateLimit, parseUntil } from './amounts.ts';

/** The name that stands for all accounts that no other entry names. */
export const OTHER_ACCOUNTS = '*';

/** The most accounts that one file names. */
const MOST_NAMES = 20_000;
/** The most sources of an account, each of which is remembered. */
const MOST_DEVICES = 1000;
/** UTF-16 units of the name of an account. */
const LONGEST_NAME = 512;

/** Decodes a text by `parse`, whose problem ends the error. */
const amount = (parse: (text: string) => number | AmountProblem, hint: string): Decoder<number> =>
  converted(disclosed(str), (text, reject) => {
    const parsed = parse(text);
    if (typeof parsed === 'number') return parsed;
    throw reject(`invalid value: ${JSON.stringify(text)} ${parsed.problem}`, hint);
  });

const BYTES_HINT = 'kB, MB, GB and TB are powers of 1000, KiB, MiB, GiB and TiB of 1024';
const RATE_HINT =
  'kbit/s, Mbit/s and Gbit/s (also kbps, Mbps, Gbps) are bits; kB/s, MB/s and GB/s are bytes';

const untilText = amount(parseUntil, 'an account works through the whole of a date, in UTC');

/** A date in quotes or as a date of TOML. */
const until = shaped<Decoder<number>>(
  (node) => untilText(node.kind === 'datetime' ? { ...node, kind: 'string' } : node),
  { ...untilText.shape, type: 'string' },
);

const accountName = converted(disclosed(str), (name, reject) => {
  if (name === '') throw reject('the name of an account is empty');
  if (name.length > LONGEST_NAME) {
    throw reject(`the name of an account has more than ${LONGEST_NAME} characters`);
  }
  return name;
});

const devices = converted(narrowed(u16, { minimum: 1, maximum: MOST_DEVICES }), (count, reject) => {
  if (count >= 1 && count <= MOST_DEVICES) return count;
  throw reject(
    `invalid value: integer \`${count}\`, expected 1 to ${MOST_DEVICES}`,
    'without the key there is no limit',
  );
});

/** The table `[[limit]]` as written. */
const limitTable = spanned(
  struct(
    {
      user: optional(located(accountName)),
      users: optional(array(located(accountName))),
      bytes: optional(amount(parseByteLimit, BYTES_HINT)),
      reset: fallback(variant(...RESETS), 'never'),
      until: optional(until),
      devices: optional(devices),
      up: optional(amount(parseRateLimit, RATE_HINT)),
      down: optional(amount(parseRateLimit, RATE_HINT)),
    },
    {
      user: 'The account, or "*" for each account that no other entry names',
      users: 'Several accounts with these limits, each for itself',
      bytes: 'Bytes of a period, up and down together: "100 GB"',
      reset: 'When the used bytes begin at 0 again, at 00:00 UTC; a week begins on Monday',
      until: 'The last day of the account, in UTC, or the time at which it ends',
      devices: 'Addresses with a flow in the last minute',
      up: 'The rate from the account, over all of its flows: "10 Mbit/s"',
      down: 'The rate to the account, over all of its flows: "50 Mbit/s"',
    },
  ),
);

/** The top level of a limits file. */
export const limitsFile = struct(
  { limit: fallback(array(limitTable), []) },
  { limit: 'The limits of one or several accounts' },
);

type LimitTable = Decoded<typeof limitTable>;

/**
 * Returns the limits that a decoded file describes.
 * @throws {DecodeError} for an entry without an account or a limit, and an account that two entries name
 */
export function lowerLimits({ limit }: Decoded<typeof limitsFile>): LimitsSpec {
  const accounts = new Map<string, AccountRule>();
  let others: AccountRule | undefined;
  for (const table of limit) {
    const names = namesOf(table);
    const rule = ruleOf(table);
    for (const { value: name, span } of names) {
      if (accounts.has(name) || (name === OTHER_ACCOUNTS && others !== undefined)) {
        const message = `the account ${JSON.stringify(name)} has an entry before`;
        throw new DecodeError(message, span, {
          hint: 'write all limits of an account in one entry',
        });
      }
      if (name === OTHER_ACCOUNTS) others = rule;
      else accounts.set(name, rule);
      if (accounts.size > MOST_NAMES) {
        throw new DecodeError(`more than ${MOST_NAMES} accounts have limits`, span);
      }
    }
  }
  return { accounts, others };
}

function namesOf({ user, users, span }: LimitTable): readonly Located<string>[] {
  if (user !== undefined && users !== undefined) {
    throw new DecodeError('a limit has `user` or `users`, not both', span);
  }
  const names = user === undefined ? (users ?? []) : [user];
  if (names.length > 0) return names;
  throw new DecodeError('a limit needs the name of an account in `user`', span, {
    hint: 'user = "*" stands for each account that no other entry names',
  });
}

function ruleOf({ bytes, reset, until, devices, up, down, span }: LimitTable): AccountRule {
  if ([bytes, until, devices, up, down].every((value) => value === undefined)) {
    throw new DecodeError('a limit needs `bytes`, `until`, `devices`, `up` or `down`', span);
  }
  if (bytes === undefined && reset !== 'never') {
    throw new DecodeError('`reset` goes with `bytes`', span);
  }
  return { bytes, reset, until, devices, up, down };
}
