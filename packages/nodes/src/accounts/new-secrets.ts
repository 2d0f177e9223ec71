import type { RandomSource } from '@weir/base/random';
import { X25519_LENGTH, X25519PrivateKey } from '@weir/crypto/x25519';
import { findMethod, type MethodName, METHODS } from '@weir/proxy/protocols/shadowsocks/methods';
import type { UserForm } from '@weir/proxy/protocols/forms';
import { hyphenated } from '@weir/proxy/protocols';

/** Letters and digits: they need no escapes in URLs, TOML, JSON and shells, and a double click selects all of them. */
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** 142 bits of entropy. */
const PASSWORD_LENGTH = 24;

/** A random password of letters and digits. */
export const password = (random: RandomSource, length = PASSWORD_LENGTH): string =>
  Array.from({ length }, () => ALPHABET[random.below(ALPHABET.length)]).join('');

/** A random UUID (RFC 9562 §5.4), hyphenated. */
export function uuid(random: RandomSource): string {
  const bytes = random.bytes(16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40; // version 4
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80; // the variant of the RFC
  return hyphenated(bytes.toString('hex'));
}

/** A new `password` of a Shadowsocks method: a key in base64 for 2022, any text for older methods. */
export function presharedKey(random: RandomSource, name: MethodName): string {
  const { edition, keyLength } = METHODS[name];
  return edition === 'legacy' ? password(random) : random.bytes(keyLength).toString('base64');
}

/** A WireGuard key pair and preshared key, in base64. */
interface WireguardKeys {
  readonly privateKey: string;
  readonly publicKey: string;
  /** Preshared key for both peers, which need not use it. */
  readonly presharedKey: string;
}

export function wireguardKeys(random: RandomSource): WireguardKeys {
  const bytes = random.bytes(X25519_LENGTH);
  // Clamped as `wg genkey` does (RFC 7748 §5), so that every program shows the same text.
  bytes[0] = (bytes[0] ?? 0) & 0xf8;
  bytes[31] = ((bytes[31] ?? 0) & 0x7f) | 0x40;
  return {
    privateKey: bytes.toString('base64'),
    publicKey: Buffer.from(new X25519PrivateKey(bytes).publicKey).toString('base64'),
    presharedKey: random.bytes(X25519_LENGTH).toString('base64'),
  };
}

/** A new secret of a user. @param method the inbound's Shadowsocks method, if it has one */
export function userSecret(
  kind: UserForm,
  method: string | undefined,
  random: RandomSource,
): string {
  if (kind.secret === 'id') return uuid(random);
  const known = kind.secret === 'password' ? findMethod(method ?? '') : undefined;
  return known === undefined ? password(random) : presharedKey(random, known);
}
