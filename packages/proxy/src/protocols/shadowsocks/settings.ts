import {
  array,
  converted,
  disclosed,
  located,
  secret,
  str,
  type Decoder,
  type Located,
} from '../../schema/decoder.ts';
import { DecodeError } from '../../schema/errors.ts';
import type { Span, TableNode } from '../../schema/node.ts';
import { alias, fallback, struct } from '../../schema/struct.ts';
import { keyOfPassword, parsePsk } from './keys.ts';
import { claims2022, findMethod, METHODS, type Method, type MethodName } from './methods.ts';

/** One of several users on a port. */
export interface ShadowsocksUser {
  /** The user's key in Base64, of the method's length. */
  readonly key: string;
  /** The label of the user's flows; empty for none. Never sent. */
  readonly email: string;
}

export interface ShadowsocksInboundSettings {
  readonly method: MethodName;
  /** The key in Base64. With users: the identity key of a 2022 method; a legacy one does not use it. */
  readonly key: string;
  readonly users: readonly ShadowsocksUser[];
}

export interface ShadowsocksOutboundSettings {
  readonly method: MethodName;
  /** The keys in Base64: identity keys first, the user's own key last. A legacy method has one. */
  readonly keys: readonly string[];
}

const method: Decoder<MethodName> = converted(disclosed(str), (text, reject) => {
  const name = findMethod(text);
  if (name !== undefined) return name;
  const is2022 = claims2022(text);
  const names = Object.keys(METHODS).filter((each) => !is2022 || claims2022(each));
  throw reject(
    is2022 ? 'unknown shadowsocks-2022 method' : 'unknown shadowsocks method',
    `the methods are ${names.join(', ')}`,
  );
});

export const inboundTable = struct(
  {
    method,
    password: located(secret),
    users: alias(
      fallback(array(located(struct({ password: located(secret), email: fallback(str, '') }))), []),
      'clients',
    ),
  },
  {
    method: 'Such as aes-128-gcm or 2022-blake3-aes-128-gcm',
    password: '2022: a key in base64',
    users: 'Several users on one port',
  },
);

/** Decodes the `settings` of a Shadowsocks inbound. @throws {DecodeError} */
export function inboundSettings(table: TableNode): ShadowsocksInboundSettings {
  const { method: name, password, users } = inboundTable(table);
  const { [name]: method } = METHODS;
  if (users.length > 0) requireIdentities(method, table.span);
  const key = keyOf(method, password, 'password');
  const seen = new Set<string>();
  return {
    method: name,
    key,
    users: users.map(({ value: user, span }, index) => {
      const key = keyOf(method, user.password, `the password of user ${index + 1}`);
      if (seen.has(key)) throw new DecodeError('two users have the same password', span);
      seen.add(key);
      return { key, email: user.email };
    }),
  };
}

export const outboundTable = struct(
  { method, password: located(secret) },
  {
    method: 'That of the server',
    password: '2022: keys in base64, the own one last',
  },
);

/** Decodes the `settings` of a Shadowsocks outbound. @throws {DecodeError} */
export function outboundSettings(table: TableNode): ShadowsocksOutboundSettings {
  const { method: name, password } = outboundTable(table);
  const { [name]: method } = METHODS;
  if (method.edition === 'legacy') {
    return { method: name, keys: [keyOf(method, password, 'password')] };
  }
  const parts = password.value.split(':');
  if (parts.length > 1) requireIdentities(method, password.span);
  const keys = parts.map((value, index) => {
    const which =
      parts.length === 1 ? 'password' : `part ${index + 1} of password, which ":" divides,`;
    return keyOf(method, { value, span: password.span }, which, 'copy it from the server');
  });
  return { method: name, keys };
}

function requireIdentities({ edition, identities }: Method, span: Span): void {
  if (edition === 'legacy' || identities) return;
  throw new DecodeError('shadowsocks-2022: multi-user requires an aes-gcm method', span);
}

/** @param which the name of the key, for the hint: the error text does not include it. */
function keyOf(
  { edition, keyLength }: Method,
  { value, span }: Located<string>,
  which: string,
  how = `openssl rand -base64 ${keyLength}`,
): string {
  if (edition === 'legacy') return keyOfPassword(value, keyLength).toString('base64');
  const key = parsePsk(value, keyLength);
  if (typeof key === 'string') {
    const hint = `${which} has to be ${keyLength} random bytes in base64: ${how}`;
    throw new DecodeError(`shadowsocks-2022: ${key}`, span, { hint });
  }
  return key.toString('base64');
}
