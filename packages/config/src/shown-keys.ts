import { WeirError } from '@weir/base';
import { allProtocolsLoaded, findProtocol, protocolNames } from '@weir/proxy/protocols';
import { namesHere, DISCLOSURE, type Shape } from '@weir/proxy/schema';
import { suggestion } from '@weir/proxy/schema';
import { limitsFile } from './limits/limits-file.ts';
import { configFile, subscribeFile } from './sources/config-file.ts';

/**
 * Returns the shapes of all tables: those of every file and the settings of each protocol.
 * @throws {KeysUnknownError}
 */
export function tableShapes(): readonly Shape[] {
  if (!allProtocolsLoaded()) throw new KeysUnknownError();
  const settings = (['inbound', 'outbound'] as const).flatMap((side) =>
    protocolNames(side).map((name) => findProtocol(name)?.[side]?.table?.shape),
  );
  return [configFile.shape, subscribeFile.shape, ...settings, limitsFile.shape].filter(
    (shape) => shape !== undefined,
  );
}

/** Calls `visit` for every key below a shape, with the shape of its value. */
export function eachKey(shape: Shape, visit: (key: string, value: Shape) => void): void {
  for (const [key, value] of Object.entries(shape.properties ?? {})) {
    visit(key, value);
    eachKey(value, visit);
  }
  for (const choice of shape.anyOf ?? []) eachKey(choice, visit);
  if (shape.items) eachKey(shape.items, visit);
  if (typeof shape.additionalProperties === 'object') eachKey(shape.additionalProperties, visit);
}

/**
 * Whether errors may quote a value of this shape: numbers, booleans, words of a fixed list, text that the schema declares
 * public, and lists of these. Any other text is confidential.
 */
const isDisclosed = (shape: Shape): boolean =>
  shape[DISCLOSURE] === 'public' ||
  shape.type === 'integer' ||
  shape.type === 'boolean' ||
  shape.enum !== undefined ||
  (shape.type === 'array' && shape.items !== undefined && isDisclosed(shape.items));

/** Whether a value of this shape has keys of its own. */
const isTable = ({ type, items }: Shape): boolean =>
  type === 'object' || (type === 'array' && items?.type === 'object');

/** The keys of all tables. */
interface ShownKeys {
  /** Keys whose values errors may quote: they are not confidential in any table. */
  readonly disclosed: ReadonlySet<string>;
  /** Keys whose values are not tables, and confidential in some table. */
  readonly confidential: ReadonlySet<string>;
  /** Keys of tables. */
  readonly tables: ReadonlySet<string>;
}

/** The error of a disclosure that is unknown before all protocols are loaded: see `withShownKeys`. */
export class KeysUnknownError extends WeirError {
  constructor() {
    super('keys_unknown', 'not all protocols have been loaded');
  }
}

/** A key that has one of a few words at a SOCKS inbound, but the password in Hysteria's own programs. */
const OTHERS_PASSWORD = 'auth';

let keys: ShownKeys | undefined;

/** Returns the keys of all tables. @throws {KeysUnknownError} */
export const shownKeys = (): ShownKeys => (keys ??= collectKeys());

function collectKeys(): ShownKeys {
  const disclosed = new Set<string>();
  const confidential = new Set<string>();
  const tables = new Set<string>();
  for (const shape of tableShapes()) {
    eachKey(shape, (key, value) => {
      // `users` of a limits file are names, but tables with secrets in a configuration, whose shapes come first.
      if (isTable(value) || (shape === limitsFile.shape && tables.has(key))) tables.add(key);
      else (isDisclosed(value) && key !== OTHERS_PASSWORD ? disclosed : confidential).add(key);
    });
  }
  return {
    disclosed: disclosed.difference(confidential),
    confidential,
    tables: tables.difference(confidential),
  };
}

/**
 * Whether the values of a key are shown. `starred`: they may be secrets, like those of an unrecognised key. `table`:
 * they have keys, each with its own disclosure.
 */
export type KeyDisclosure = 'shown' | 'starred' | 'table';

/** Words of keys that hold secrets in other programs. */
const SECRET_WORDS = [
  'passwd', 'pwd', 'pw', 'psk', 'token', 'key', 'api_key', 'uuid', 'auth', 'auth_str', 'credential', 'private', 'username', 'login',
  'pin', 'otp', 'hash', 'sid', 'short_id', 'url', 'uri', 'link', 'email', 'mail', 'cookie', 'session',
]; // prettier-ignore
const SECRET_PART = /pass|pwd|secret|token|cred|uuid|psk|priv|auth|key|login|user|mail|cookie/;

/** Keys of other programs without a counterpart here, which hold no secrets. */
const PUBLIC_ELSEWHERE: ReadonlySet<string> = new Set([
  'alpn', 'detour', 'down_mbps', 'fingerprint', 'fp', 'interval', 'mode', 'packet_encoding', 'strict',
  'up_mbps', 'version',
]); // prettier-ignore

/** The properties of a key, which may be misspelt or another program's. */
export interface KeyView {
  readonly disclosure: KeyDisclosure;
  /** Whether the key is known, or similar to a known key. */
  readonly isRecognised: boolean;
  /** Whether the key is, or is meant to be, the name of a secret. */
  readonly isSecret: boolean;
}

/**
 * Returns the properties of a key. An unknown key that differs from the name of a secret by a typing error counts as
 * that name.
 * @throws {KeysUnknownError}
 */
export function viewKey(key: string): KeyView {
  const name = canonical(key);
  const exact = disclosureOf(name);
  if (exact !== undefined) {
    return { disclosure: exact, isRecognised: true, isSecret: exact === 'starred' };
  }
  const { disclosed, confidential, tables } = shownKeys();
  const isMisspelt = suggestion(name, [...confidential, ...SECRET_WORDS]) !== undefined;
  if (isMisspelt || SECRET_PART.test(name.replaceAll('_', ''))) {
    return { disclosure: 'starred', isRecognised: isMisspelt, isSecret: true };
  }
  const meant = suggestion(name, [...disclosed, ...tables]);
  const disclosure = (meant === undefined ? undefined : disclosureOf(meant)) ?? 'starred';
  return { disclosure, isRecognised: meant !== undefined, isSecret: false };
}

/** Returns the canonical form of a key: `Listen-Port` and `listenPort` are `listen_port`. */
const canonical = (key: string): string =>
  key
    .replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => `_${letter}`)
    .toLowerCase()
    .replaceAll('-', '_');

/** Returns the disclosure of a known key, or of one with another name here; `undefined` for any other. */
function disclosureOf(name: string): KeyDisclosure | undefined {
  const { disclosed, confidential, tables } = shownKeys();
  if (confidential.has(name)) return 'starred';
  if (disclosed.has(name)) return 'shown';
  if (tables.has(name)) return 'table';
  const [first, ...more] = namesHere(name).map((here) => disclosureOf(here));
  if (first === undefined) return PUBLIC_ELSEWHERE.has(name) ? 'shown' : undefined;
  return more.every((other) => other === first) ? first : 'starred';
}
