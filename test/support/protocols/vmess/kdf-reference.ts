import { createHmac } from 'node:crypto';

/** SHA-256 works on blocks of 64 bytes, and so does every HMAC above it (RFC 2104 §2). */
const BLOCK = 64;

/**
 * The key derivation of VMess as its source states it (Xray-core proxy/vmess/aead/kdf.go), one HMAC
 * object for each hash: what the derivation in use is compared with.
 */
export function referenceKdf(message: Uint8Array, path: readonly Uint8Array[]): Buffer {
  const last = path.at(-1);
  if (!last) return createHmac('sha256', 'VMess AEAD KDF').update(message).digest();
  const below = path.slice(0, -1);
  const inner = referenceKdf(Buffer.concat([pad(last, 0x36), message]), below);
  return referenceKdf(Buffer.concat([pad(last, 0x5c), inner]), below);
}

function pad(key: Uint8Array, value: number): Uint8Array {
  const block = new Uint8Array(BLOCK).fill(value);
  key.forEach((byte, index) => (block[index] = byte ^ value));
  return block;
}
