import { AEAD_SHAPES, type AeadName } from '@weir/crypto/aead';

/** Canonical names of the methods. */
export type MethodName =
  | 'aes-128-gcm'
  | 'aes-256-gcm'
  | 'chacha20-ietf-poly1305'
  | 'xchacha20-ietf-poly1305'
  | '2022-blake3-aes-128-gcm'
  | '2022-blake3-aes-256-gcm'
  | '2022-blake3-chacha20-poly1305';

/** The properties of a method. Lengths in bytes. */
export interface Method {
  readonly name: MethodName;
  /** The edition of the protocol: `legacy` is SIP004, `2022` is SIP022. */
  readonly edition: 'legacy' | '2022';
  /** The AEAD of streams and of legacy datagrams. */
  readonly aead: AeadName;
  /** The length of keys and of salts. */
  readonly keyLength: number;
  /** The longest payload of one chunk. */
  readonly maxChunk: number;
  /** Whether the method has identity headers: SIP023 encrypts them with AES, so only methods with AES do. */
  readonly identities: boolean;
}

const LEGACY_CHUNK = 0x3fff;
const CHUNK_2022 = 0xffff;

function method(name: MethodName, aead: AeadName): Method {
  const modern = name.startsWith('2022-');
  return {
    name,
    edition: modern ? '2022' : 'legacy',
    aead,
    keyLength: AEAD_SHAPES[aead].keyLength,
    maxChunk: modern ? CHUNK_2022 : LEGACY_CHUNK,
    identities: modern && aead !== 'chacha20-poly1305',
  };
}

export const METHODS: Readonly<Record<MethodName, Method>> = {
  'aes-128-gcm': method('aes-128-gcm', 'aes-128-gcm'),
  'aes-256-gcm': method('aes-256-gcm', 'aes-256-gcm'),
  'chacha20-ietf-poly1305': method('chacha20-ietf-poly1305', 'chacha20-poly1305'),
  'xchacha20-ietf-poly1305': method('xchacha20-ietf-poly1305', 'xchacha20-poly1305'),
  '2022-blake3-aes-128-gcm': method('2022-blake3-aes-128-gcm', 'aes-128-gcm'),
  '2022-blake3-aes-256-gcm': method('2022-blake3-aes-256-gcm', 'aes-256-gcm'),
  '2022-blake3-chacha20-poly1305': method('2022-blake3-chacha20-poly1305', 'chacha20-poly1305'),
};

/** Names of the legacy methods, including those of other implementations. */
const LEGACY_NAMES: Readonly<Record<string, MethodName>> = {
  'aes-128-gcm': 'aes-128-gcm',
  aead_aes_128_gcm: 'aes-128-gcm',
  'aes-256-gcm': 'aes-256-gcm',
  aead_aes_256_gcm: 'aes-256-gcm',
  'chacha20-poly1305': 'chacha20-ietf-poly1305',
  'chacha20-ietf-poly1305': 'chacha20-ietf-poly1305',
  aead_chacha20_poly1305: 'chacha20-ietf-poly1305',
  'xchacha20-poly1305': 'xchacha20-ietf-poly1305',
  'xchacha20-ietf-poly1305': 'xchacha20-ietf-poly1305',
  aead_xchacha20_poly1305: 'xchacha20-ietf-poly1305',
};

/** Whether a name is one of the 2022 edition, whose names have only one spelling. */
export const claims2022 = (text: string): boolean => text.startsWith('2022-');

/** Returns the method with a name of the configuration; `undefined` for an unknown one. */
export function findMethod(text: string): MethodName | undefined {
  if (claims2022(text)) return Object.hasOwn(METHODS, text) ? (text as MethodName) : undefined;
  const name = text.toLowerCase();
  return Object.hasOwn(LEGACY_NAMES, name) ? LEGACY_NAMES[name] : undefined;
}
